// Exponentials, hyperbolic functions and their inverses of FP32, computed on vectors of FP64 and rounded once. Errors
// below 0.51 ulp.
#pragma once

#include "pypto/device/simd/math.inl.h"
#include "pypto/device/simd/wide_functions.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Coefficients from the highest power on.
template <size_t kCount>
PYPTO_SIMD_INLINE VecD Polynomial(VecD x, const double (&coefficients)[kCount]) {
  VecD value = VecD{} + coefficients[0];
  for (size_t i = 1; i < kCount; ++i) value = value * x + coefficients[i];
  return value;
}
PYPTO_SIMD_INLINE VecD Sqrt(VecD x) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecD>(_mm512_maskz_sqrt_pd(0xff, reinterpret_cast<__m512d>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<VecD>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(x)));
#else
  VecD result;
  for (int64_t i = 0; i < kLanes / 2; ++i) result[i] = __builtin_sqrt(x[i]);
  return result;
#endif
}
// FP32 from both halves of the lanes.
template <typename Function>
PYPTO_SIMD_INLINE VecF OnHalves(VecF x, const Function& function) {
  const Halves halves = Doubles(x);
  return Floats(function(halves.low), function(halves.high));
}

// x = n ln 2 + r, |r| <= ln 2 / 2, of arguments that are cut to where FP32 overflows and vanishes; n in the low bits of
// `shifted`.
struct Exponent {
  VecD shifted;
  VecD r;
};
PYPTO_SIMD_INLINE VecD Within200(VecD x) {
  const VecD below = x > 200.0 ? VecD{} + 200.0 : x;
  return below < -200.0 ? VecD{} - 200.0 : below;
}
PYPTO_SIMD_INLINE Exponent Reduced(VecD x) {
  const VecD within = Within200(x);
  const VecD shifted = within * 1.4426950408889634 + kWideMagic;
  return {shifted, within - (shifted - kWideMagic) * 0.69314718055994531};
}
PYPTO_SIMD_INLINE VecD TwoTo(VecDBits shifted) { return DoubleOf((shifted << 52) + 0x3ff0000000000000U); }
// e^r - 1.
PYPTO_SIMD_INLINE VecD SmallExpm1(VecD r) {
  constexpr double kCoefficients[] = {
      2.7557319223985893e-6, 2.4801587301587302e-5, 1.9841269841269841e-4, 1.3888888888888889e-3,
      8.3333333333333332e-3, 4.1666666666666664e-2, 1.6666666666666666e-1, 0.5};
  return Polynomial(r, kCoefficients) * (r * r) + r;
}
PYPTO_SIMD_INLINE VecD Expm1(VecD x) {
  const Exponent exponent = Reduced(x);
  const VecD scale = TwoTo(BitsOf(exponent.shifted));
  return scale * SmallExpm1(exponent.r) + (scale - 1.0);
}
PYPTO_SIMD_INLINE VecD Exp(VecD x) {
  const Exponent exponent = Reduced(x);
  return TwoTo(BitsOf(exponent.shifted)) * (SmallExpm1(exponent.r) + 1.0);
}
// From 2^n and 2^-n and the even and the odd part of e^r.
template <bool kCosine>
PYPTO_SIMD_INLINE VecD Hyperbolic(VecD x) {
  constexpr double kEven[] = {2.4801587301587302e-5, 1.3888888888888889e-3, 4.1666666666666664e-2, 0.5, 1.0};
  constexpr double kOdd[] = {2.7557319223985893e-6, 1.9841269841269841e-4, 8.3333333333333332e-3, 1.6666666666666666e-1,
                             1.0};
  const Exponent exponent = Reduced(x);
  const VecD z = exponent.r * exponent.r;
  const VecD even = Polynomial(z, kEven);
  const VecD odd = Polynomial(z, kOdd) * exponent.r;
  const VecD up = TwoTo(BitsOf(exponent.shifted)) * 0.5;
  const VecD down = TwoTo(0U - BitsOf(exponent.shifted)) * 0.5;
  return kCosine ? (up + down) * even + (up - down) * odd : (up - down) * even + (up + down) * odd;
}

// ln(x / y) × scale, for positive finite ones: x / y = 2^e m with m about 1; the series of the inverse hyperbolic
// tangent of (m - 1) / (m + 1). `two`: ln 2 × scale.
PYPTO_SIMD_INLINE VecD LogOfRatio(VecD x, VecD y, double scale, double two) {
  constexpr double kCoefficients[] = {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};
  const VecDBits exponent = ((BitsOf(x) - BitsOf(y) + 0x3ff8000000000000U) >> 52) - 1023U;
  const VecD near = DoubleOf(BitsOf(y) + (exponent << 52));
  const VecD s = (x - near) / (x + near);
  const VecD e = DoubleOf(exponent + 0x4338000000000000U) - kWideMagic;
  return Polynomial(s * s, kCoefficients) * s * (2 * scale) + e * two;
}
PYPTO_SIMD_INLINE VecD LogOf(VecD x) { return LogOfRatio(x, VecD{} + 1.0, 1.0, 0.69314718055994531); }

// Of a function that is a logarithm's: minus infinity at `zero`, nothing below, infinity at infinity.
PYPTO_SIMD_INLINE VecF FromZero(VecF x, float zero, VecF result) {
  const VecF below = x == zero ? Splat(-__builtin_inff()) : Splat(__builtin_nanf(""));
  result = x > zero ? result : below;
  return x == __builtin_inff() ? x : result;
}

PYPTO_SIMD_INLINE VecF Expm1Of(VecF x) {
  const VecF result = OnHalves(x, [](VecD v) __attribute__((always_inline)) { return Expm1(v); });
  return x == 0.0F ? x : result;
}
PYPTO_SIMD_INLINE VecF SinhOf(VecF x) {
  const VecF result = OnHalves(x, [](VecD v) __attribute__((always_inline)) { return Hyperbolic<false>(v); });
  return x == 0.0F ? x : result;
}
PYPTO_SIMD_INLINE VecF CoshOf(VecF x) {
  return OnHalves(x, [](VecD v) __attribute__((always_inline)) { return Hyperbolic<true>(v); });
}
PYPTO_SIMD_INLINE VecF AsinhOf(VecF x) {
  const VecF result = OnHalves(Abs(x), [](VecD v) __attribute__((always_inline)) {
    return v < 0x1p-10 ? v - v * v * v * (1.0 / 6) : LogOf(v + Sqrt(v * v + 1.0));
  });
  return Abs(x) < __builtin_inff() ? CopySign(result, x) : x;
}
PYPTO_SIMD_INLINE VecF AcoshOf(VecF x) {
  const VecF result = OnHalves(x, [](VecD v) __attribute__((always_inline)) { return LogOf(v + Sqrt(v * v - 1.0)); });
  return x == 1.0F ? VecF{} : FromZero(x, 1.0F, result);
}
PYPTO_SIMD_INLINE VecF AtanhOf(VecF x) {
  const VecF magnitude = Abs(x);
  VecF result = OnHalves(magnitude, [](VecD v) __attribute__((always_inline)) {
    const VecD half_log = LogOfRatio(v + 1.0, 1.0 - v, 0.5, 0.34657359027997264);
    return v < 0x1p-10 ? v + v * v * v * (1.0 / 3) : half_log;
  });
  const VecF edge = magnitude == 1.0F ? Splat(__builtin_inff()) : Splat(__builtin_nanf(""));
  result = magnitude < 1.0F ? result : edge;
  return CopySign(result, x);
}
PYPTO_SIMD_INLINE VecF CbrtOf(VecF x) {
  const VecF result =
      OnHalves(Abs(x), [](VecD v) __attribute__((always_inline)) { return Power(v, VecD{} + 1.0 / 3); });
  return (Abs(x) < __builtin_inff()) & (x != 0.0F) ? CopySign(result, x) : x;
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
