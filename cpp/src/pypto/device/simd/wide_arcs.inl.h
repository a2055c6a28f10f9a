// Tangents, arcs, lengths and the complementary error function of FP32, computed on vectors of FP64 and rounded once.
// Errors below 0.51 ulp. Tangents of arguments of at least 2^22 go to the C library, lane by lane.
#pragma once

#include "pypto/device/simd/wide_exponents.inl.h"

// A function of two is compiled once for all loops and chains that call it.
#define PYPTO_SIMD_ONCE static __attribute__((noinline))

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr double kPi = 3.1415926535897931;

// x = n π/2 + r as Wave has it; sine by cosine of r, or the negative of its reciprocal.
PYPTO_SIMD_INLINE VecD Tangent(VecD x) {
  constexpr double kSine[] = {-2.5052108385441720e-8, 2.7557319223985893e-6,  -1.9841269841269841e-4,
                              8.3333333333333332e-3,  -1.6666666666666666e-1, 1.0};
  constexpr double kCosine[] = {
      -2.7557319223985888e-7, 2.4801587301587302e-5, -1.3888888888888889e-3, 4.1666666666666664e-2, -0.5, 1.0};
  const VecD shifted = x * 0.63661977236758134 + kWideMagic;
  const VecD n = shifted - kWideMagic;
  VecD r = x - n * 1.5707963267341256;
  r = r - n * 6.0771005063039660e-11;
  r = r - n * 2.0222662487959506e-21;
  const VecD z = r * r;
  const VecD s = Polynomial(z, kSine) * r;
  const VecD c = Polynomial(z, kCosine);
  const VecDBits odd = BitsOf(shifted) & 1U;
  const VecD above = odd == 0U ? s : c;
  const VecD below = odd == 0U ? c : s;
  return DoubleOf(BitsOf(above / below) ^ (odd << 63));
}
__attribute__((noinline)) VecF TanOfFar(VecF x, VecF near) {
  for (int64_t i = 0; i < kLanes; ++i) {
    const double value = static_cast<double>(x[i]);
    if (!(__builtin_fabs(value) < 0x1p22)) near[i] = static_cast<float>(__builtin_tan(value));
  }
  return near;
}
PYPTO_SIMD_INLINE VecF TanOf(VecF x) {
  VecF result = OnHalves(x, [](VecD v) __attribute__((always_inline)) { return Tangent(v); });
  result = x == 0.0F ? x : result;
  const VecI far = ~(Abs(x) < 0x1p22F);
  return AnyLane(far) ? TanOfFar(x, result) : result;
}

// The arcsine of a magnitude: root + root z P(z) with z = root². Above ½ it is π/2 - 2 × that of √((1 - x) / 2).
struct Arcsine {
  VecD folded;  // of x or of the root
  VecDBits large;
};
PYPTO_SIMD_INLINE Arcsine FoldedAsin(VecD x) {
  constexpr double kCoefficients[] = {3.29417417437756141e-02, 1.94845908651815856e-03, 2.06590404303086464e-02,
                                      2.18630070856259372e-02, 3.04268421707646307e-02, 4.46406877305607144e-02,
                                      7.50000504204504370e-02, 1.66666666267242969e-01};
  const VecDBits large = reinterpret_cast<VecDBits>(x > 0.5);
  const VecD z = large != 0U ? (1.0 - x) * 0.5 : x * x;
  const VecD root = large != 0U ? Sqrt(z) : x;
  return {Polynomial(z, kCoefficients) * (z * root) + root, large};
}
PYPTO_SIMD_INLINE VecF AsinOf(VecF x) {
  const VecF result = OnHalves(Abs(x), [](VecD v) __attribute__((always_inline)) {
    const Arcsine arc = FoldedAsin(v);
    return arc.large != 0U ? kPi / 2 - (arc.folded + arc.folded) : arc.folded;
  });
  return CopySign(result, x);
}
PYPTO_SIMD_INLINE VecF AcosOf(VecF x) {
  return OnHalves(x, [](VecD v) __attribute__((always_inline)) {
    const VecD magnitude = v < 0.0 ? -v : v;
    const Arcsine arc = FoldedAsin(magnitude);
    const VecD twice = arc.folded + arc.folded;
    const VecD large = v < 0.0 ? kPi - twice : twice;
    const VecD small = kPi / 2 - (v < 0.0 ? -arc.folded : arc.folded);
    return arc.large != 0U ? large : small;
  });
}

// The arctangent of q, |q| below √2 - 1: q + q z P(z), z = q².
PYPTO_SIMD_INLINE VecD Arctangent(VecD q) {
  constexpr double kCoefficients[] = {-3.79560693231874302e-02, 6.99311045627592220e-02,  -8.99728132781665996e-02,
                                      1.11040544473264932e-01,  -1.42854265528218588e-01, 1.99999944044275652e-01,
                                      -3.33333332964191098e-01};
  const VecD z = q * q;
  return Polynomial(z, kCoefficients) * (z * q) + q;
}
#if defined(__AVX512F__)
// What an angle is from: 1 of a steep one, 2 of one to the left, 4 of one near a diagonal.
alignas(64) constexpr double kAngleFrom[8] = {0.0,     -kPi / 2, -kPi,         kPi / 2,
                                              kPi / 4, -kPi / 4, -kPi * 3 / 4, kPi * 3 / 4};
// The angle of the point (x, y), y at least zero, not both zero or infinite, or its negative. With the smaller one of
// |x| and y over the larger one, or their difference over their sum, from the nearest multiple of π/4.
PYPTO_SIMD_INLINE VecF Angle(VecF y, VecF x) {
  const VecF beside = Abs(x);
  const auto small = reinterpret_cast<__m512>(Smaller(beside, y));  // NaN of y stays
  const auto large = reinterpret_cast<__m512>(Larger(beside, y));
  const __mmask16 steep = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(beside), _CMP_GT_OQ);
  const __mmask16 left = _mm512_movepi32_mask(reinterpret_cast<__m512i>(x));
  const __mmask16 middle =
      _mm512_cmp_ps_mask(small, reinterpret_cast<__m512>(reinterpret_cast<VecF>(large) * 0.41421356F), _CMP_GT_OQ);
  const VecI index = AsInt(reinterpret_cast<VecF>(_mm512_maskz_set1_epi32(steep, 1))) |
                     AsInt(reinterpret_cast<VecF>(_mm512_maskz_set1_epi32(left, 2))) |
                     AsInt(reinterpret_cast<VecF>(_mm512_maskz_set1_epi32(middle, 4)));
  const Halves a = Doubles(reinterpret_cast<VecF>(small));
  const Halves b = Doubles(reinterpret_cast<VecF>(large));
  const auto half = [](VecD above, VecD below, __mmask8 differ, __m256i from) __attribute__((always_inline)) {
    const auto x0 = reinterpret_cast<__m512d>(above);
    const auto x1 = reinterpret_cast<__m512d>(below);
    const auto q = reinterpret_cast<VecD>(_mm512_mask_sub_pd(x0, differ, x0, x1)) /
                   reinterpret_cast<VecD>(_mm512_mask_add_pd(x1, differ, x1, x0));
    const __m512d start =
        _mm512_maskz_permutexvar_pd(0xff, _mm512_maskz_cvtepu32_epi64(0xff, from), _mm512_load_pd(kAngleFrom));
    return reinterpret_cast<VecD>(start) + Arctangent(q);
  };
  __m256i parts[2];
  __builtin_memcpy(parts, &index, sizeof(index));
  return Floats(half(a.low, b.low, static_cast<__mmask8>(middle), parts[0]),
                half(a.high, b.high, static_cast<__mmask8>(middle >> 8), parts[1]));
}
PYPTO_SIMD_INLINE VecF AtanOf(VecF x) { return CopySign(Angle(Abs(x), Splat(1.0F)), x); }
PYPTO_SIMD_ONCE VecF Atan2Of(VecF y, VecF x) {
  const VecI infinite = (Abs(x) == __builtin_inff()) & (Abs(y) == __builtin_inff());
  const VecF one = Splat(1.0F);
  const VecF beside = infinite | (y == 0.0F) ? CopySign(one, x) : x;
  const VecF result = CopySign(Angle(infinite ? one : Abs(y), beside), y);
  return x != x ? x : result;
}
#else
// The angle of the point (x, y), both at least zero, not both zero or infinite, from what lies nearest of 0, π/4 and
// π/2.
PYPTO_SIMD_INLINE VecD Angle(VecD y, VecD x) {
  const VecDBits middle = reinterpret_cast<VecDBits>(y > x * 0.41421356237309503);
  const VecDBits steep = reinterpret_cast<VecDBits>(y > x * 2.4142135623730949);
  VecD above = middle != 0U ? y - x : y;
  VecD below = middle != 0U ? y + x : x;
  VecD from = middle != 0U ? VecD{} + kPi / 4 : VecD{};
  above = steep != 0U ? -x : above;
  below = steep != 0U ? y : below;
  from = steep != 0U ? VecD{} + kPi / 2 : from;
  return from + Arctangent(above / below);
}
PYPTO_SIMD_INLINE VecF AtanOf(VecF x) {
  const VecF result = OnHalves(Abs(x), [](VecD v) __attribute__((always_inline)) { return Angle(v, VecD{} + 1.0); });
  return CopySign(result, x);
}
PYPTO_SIMD_ONCE VecF Atan2Of(VecF y, VecF x) {
  const VecI infinite = (Abs(x) == __builtin_inff()) & (Abs(y) == __builtin_inff());
  const VecF one = Splat(1.0F);
  const VecF beside = infinite | (y == 0.0F) ? one : Abs(x);
  const Halves b = Doubles(beside);
  const Halves a = Doubles(infinite ? one : Abs(y));
  const VecD low = Angle(a.low, b.low);
  const VecD high = Angle(a.high, b.high);
  const VecF right = Floats(low, high);
  const VecF left = Floats(kPi - low, kPi - high);
  const VecF result = CopySign(AsInt(x) < 0 ? left : right, y);
  return x != x ? x : result;
}
#endif
PYPTO_SIMD_ONCE VecF HypotOf(VecF x, VecF y) {
  const Halves a = Doubles(x);
  const Halves b = Doubles(y);
  const VecF result = Floats(Sqrt(a.low * a.low + b.low * b.low), Sqrt(a.high * a.high + b.high * b.high));
  const VecI infinite = (Abs(x) == __builtin_inff()) | (Abs(y) == __builtin_inff());
  return infinite ? Splat(__builtin_inff()) : result;
}

#if defined(__AVX512F__)
// e^x, |x| < 700: x = n ln 2 / 8 + r.
PYPTO_SIMD_INLINE VecD ExpByEighths(VecD x) {
  alignas(64) constexpr double kEighths[8] = {1.0,
                                              1.0905077326652577,
                                              1.1892071150027210,
                                              1.2968395546510096,
                                              1.4142135623730951,
                                              1.5422108254079409,
                                              1.6817928305074290,
                                              1.8340080864093424};
  constexpr double kCoefficients[] = {8.3333333333333332e-3, 4.1666666666666664e-2, 1.6666666666666666e-1, 0.5};
  const VecD shifted = x * 11.541560327111707 + kWideMagic;
  const VecD r = x - (shifted - kWideMagic) * 0.086643397569993164;
  const VecDBits eighth = reinterpret_cast<VecDBits>(
      _mm512_maskz_permutexvar_pd(0xff, reinterpret_cast<__m512i>(shifted), _mm512_load_pd(kEighths)));
  const VecD scale = DoubleOf(eighth + (BitsOf(shifted) >> 3 << 52));
  return scale * (Polynomial(r, kCoefficients) * (r * r) + r) + scale;
}
#endif

// Of a magnitude up to 10.5: e^-x² P(t) / (x + 4), t = (x - 4) / (x + 4). `estimate`: of 1 / (x + 4).
PYPTO_SIMD_INLINE VecD ErfcOfMagnitude(VecD x, VecD estimate) {
  constexpr double kCoefficients[] = {-1.49161518085795545e-05, 1.25190410361920682e-05,  1.85863725032630510e-04,
                                      -4.60717370050390748e-04, -2.86927957294650965e-04, 6.11231289143843518e-03,
                                      -2.63687104377816998e-02, 7.63816295665542128e-02,  -1.74011073357801638e-01,
                                      3.30851573516307285e-01,  -5.40853825328090343e-01, 7.73208702703467310e-01,
                                      -9.76548729159727902e-01, 1.09599566099878665e+00};
#if defined(__AVX512F__)
  const VecD rest = 1.0 - (x + 4.0) * estimate;  // up to 2^-13
  const VecD inverse = (rest * rest + rest) * estimate + estimate;
  const VecD exponential = ExpByEighths(0.0 - x * x);
#else
  const VecD inverse = estimate / (x + 4.0);
  const VecD exponential = Exp(0.0 - x * x);
#endif
  return exponential * (Polynomial(1.0 - inverse * 8.0, kCoefficients) * inverse);
}
PYPTO_SIMD_INLINE VecF ErfcOf(VecF x) {
  const VecF within = Smaller(Splat(10.5F), Abs(x));  // beyond 10.5 nothing is left; NaN stays
#if defined(__AVX512F__)
  const auto inverse = reinterpret_cast<VecF>(_mm512_maskz_rcp14_ps(0xffff, reinterpret_cast<__m512>(within + 4.0F)));
#else
  const VecF inverse = Splat(1.0F);
#endif
  const auto signs = [](VecD v, VecD estimate, VecD sign) __attribute__((always_inline)) {
    const VecD of_magnitude = ErfcOfMagnitude(v, estimate);
    return sign < 0.0 ? 2.0 - of_magnitude : of_magnitude;
  };
  const Halves v = Doubles(within);
  const Halves estimate = Doubles(inverse);
  const Halves sign = Doubles(x);
  return Floats(signs(v.low, estimate.low, sign.low), signs(v.high, estimate.high, sign.high));
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
