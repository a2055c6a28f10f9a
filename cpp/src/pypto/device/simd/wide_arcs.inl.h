// Tangents, arcs, lengths and the complementary error function of FP32, computed on vectors of FP64 and rounded once.
// Errors below 0.51 ulp. Tangents of arguments of at least 2^22 go to the C library, lane by lane.
#pragma once

#include "pypto/device/simd/wide_exponents.inl.h"

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
PYPTO_SIMD_ONCE VecF TanOf(VecF x) {
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
PYPTO_SIMD_ONCE VecF AsinOf(VecF x) {
  const VecF result = OnHalves(Abs(x), [](VecD v) __attribute__((always_inline)) {
    const Arcsine arc = FoldedAsin(v);
    return arc.large != 0U ? kPi / 2 - (arc.folded + arc.folded) : arc.folded;
  });
  return CopySign(result, x);
}
PYPTO_SIMD_ONCE VecF AcosOf(VecF x) {
  return OnHalves(x, [](VecD v) __attribute__((always_inline)) {
    const VecD magnitude = v < 0.0 ? -v : v;
    const Arcsine arc = FoldedAsin(magnitude);
    const VecD twice = arc.folded + arc.folded;
    const VecD large = v < 0.0 ? kPi - twice : twice;
    const VecD small = kPi / 2 - (v < 0.0 ? -arc.folded : arc.folded);
    return arc.large != 0U ? large : small;
  });
}

// The angle of the point (x, y), both at least zero, not both zero or infinite: q + q z P(z), z = q², from what lies
// nearest of 0, π/4 and π/2.
PYPTO_SIMD_INLINE VecD Angle(VecD y, VecD x) {
  constexpr double kCoefficients[] = {-3.79560693231874302e-02, 6.99311045627592220e-02,  -8.99728132781665996e-02,
                                      1.11040544473264932e-01,  -1.42854265528218588e-01, 1.99999944044275652e-01,
                                      -3.33333332964191098e-01};
  const VecDBits middle = reinterpret_cast<VecDBits>(y > x * 0.41421356237309503);
  const VecDBits steep = reinterpret_cast<VecDBits>(y > x * 2.4142135623730949);
  VecD above = middle != 0U ? y - x : y;
  VecD below = middle != 0U ? y + x : x;
  VecD from = middle != 0U ? VecD{} + kPi / 4 : VecD{};
  above = steep != 0U ? -x : above;
  below = steep != 0U ? y : below;
  from = steep != 0U ? VecD{} + kPi / 2 : from;
  const VecD q = above / below;
  const VecD z = q * q;
  return from + (Polynomial(z, kCoefficients) * (z * q) + q);
}
PYPTO_SIMD_ONCE VecF AtanOf(VecF x) {
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
PYPTO_SIMD_ONCE VecF HypotOf(VecF x, VecF y) {
  const Halves a = Doubles(x);
  const Halves b = Doubles(y);
  const VecF result = Floats(Sqrt(a.low * a.low + b.low * b.low), Sqrt(a.high * a.high + b.high * b.high));
  const VecI infinite = (Abs(x) == __builtin_inff()) | (Abs(y) == __builtin_inff());
  return infinite ? Splat(__builtin_inff()) : result;
}

// Of a magnitude: e^-x² P(t) / (x + 4), t = (x - 4) / (x + 4); beyond 10.5 nothing is left.
PYPTO_SIMD_INLINE VecD ErfcOfMagnitude(VecD x) {
  constexpr double kCoefficients[] = {-1.49161518085795545e-05, 1.25190410361920682e-05,  1.85863725032630510e-04,
                                      -4.60717370050390748e-04, -2.86927957294650965e-04, 6.11231289143843518e-03,
                                      -2.63687104377816998e-02, 7.63816295665542128e-02,  -1.74011073357801638e-01,
                                      3.30851573516307285e-01,  -5.40853825328090343e-01, 7.73208702703467310e-01,
                                      -9.76548729159727902e-01, 1.09599566099878665e+00};
  const VecD within = x > 10.5 ? VecD{} + 10.5 : x;
  const VecD inverse = 1.0 / (within + 4.0);
  const VecD t = 1.0 - inverse * 8.0;
  return Exp(0.0 - within * within) * (Polynomial(t, kCoefficients) * inverse);
}
PYPTO_SIMD_ONCE VecF ErfcOf(VecF x) {
  return OnHalves(x, [](VecD v) __attribute__((always_inline)) {
    const VecD of_magnitude = ErfcOfMagnitude(v < 0.0 ? -v : v);
    return v < 0.0 ? 2.0 - of_magnitude : of_magnitude;
  });
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
