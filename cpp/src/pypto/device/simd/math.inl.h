// Elementary functions on vectors of FP32. Polynomials are minimax fits of the ranges stated; special values (NaN,
// infinities, zeros, subnormals) come out as IEEE 754 asks.
#pragma once

#include "pypto/device/simd/odd_tables.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr float kLn2High = 0.693359375F;  // 9 bits, so that n × kLn2High is exact
constexpr float kLn2Low = -2.12194440e-4F;

// e^r, |r| <= ln 2 / 2, × 2^n, which is applied in two halves, so that subnormal results are rounded once: n is added
// to `shifted`, 1.5 × 2^23.
constexpr float kExpMagic = 12582912.0F;  // adding it rounds to an integer
PYPTO_SIMD_INLINE VecF ScaledExp(VecF r, VecF shifted) {
  VecF p = r * 1.3813145e-3F + 8.3694188e-3F;
  p = p * r + 4.1668457e-2F;
  p = p * r + 1.6666515e-1F;
  p = p * r + 4.9999993e-1F;
  p = p * (r * r) + r + 1.0F;
#if defined(__AVX512F__)
  const VecF n = shifted - kExpMagic;
  return reinterpret_cast<VecF>(
      _mm512_maskz_scalef_ps(0xffff, reinterpret_cast<__m512>(p), reinterpret_cast<__m512>(n)));
#else
  const VecI exponent = AsInt(shifted) - 0x4b400000;
  const VecI half = exponent >> 1;
  return p * AsFloat((half + 127) << 23) * AsFloat((exponent - half + 127) << 23);
#endif
}

// x = n ln 2 + r. Error below 1 ulp.
PYPTO_SIMD_INLINE VecF Exp(VecF x) {
  const VecF clamped = Clamped(x, -104.0F, 89.0F);
  const VecF shifted = clamped * 1.44269504F + kExpMagic;
  const VecF n = shifted - kExpMagic;
  VecF r = clamped - n * kLn2High;
  r = r - n * kLn2Low;
  return ScaledExp(r, shifted);
}

// x = n + r / ln 2. Error below 1 ulp.
PYPTO_SIMD_INLINE VecF Exp2(VecF x) {
  const VecF clamped = Clamped(x, -151.0F, 129.0F);
  const VecF shifted = clamped + kExpMagic;
  return ScaledExp((clamped - (shifted - kExpMagic)) * 0.69314718F, shifted);
}

// ln x: x = 2^e (1 + f) with 1 + f in [√½, √2); ln(1 + f) = f - f²/2 + f³ P(f). Error below 1 ulp.
PYPTO_SIMD_INLINE VecF Log(VecF x) {
  const VecI tiny = x < 1.17549435e-38F;
  const VecF scaled = tiny ? x * 8388608.0F : x;
  const VecI bits = reinterpret_cast<VecI>(AsBits(scaled) - 0x3f3504f3U);
  VecI exponent = bits >> 23;
  const VecF f = AsFloat((bits & 0x007fffff) + 0x3f3504f3) - 1.0F;
  exponent = tiny ? exponent - 23 : exponent;
  const VecF e = __builtin_convertvector(exponent, VecF);
  VecF p = f * -7.6344940e-2F + 1.2761575e-1F;
  p = p * f - 1.3160182e-1F;
  p = p * f + 1.4201758e-1F;
  p = p * f - 1.6623357e-1F;
  p = p * f + 2.0001227e-1F;
  p = p * f - 2.5000821e-1F;
  p = p * f + 3.3333332e-1F;
  const VecF square = f * f;
  VecF y = p * (square * f) + e * kLn2Low;
  y = y - square * 0.5F;
  VecF result = (f + y) + e * kLn2High;
  constexpr float kInfinity = __builtin_inff();
  result = x == kInfinity ? x : result;
  result = x == 0.0F ? Splat(-kInfinity) : result;
  const VecF nan = Splat(__builtin_nanf(""));
  result = x < 0.0F ? nan : result;
  return x != x ? x : result;
}

#if defined(__AVX512F__)
// Errors below 1 ulp and below 1.4 ulp.
PYPTO_SIMD_INLINE VecF Tanh(VecF x) { return OddByTable(x, kTanhTable, kTanhScale, kTanhLimit, 2.0F); }
PYPTO_SIMD_INLINE VecF Erf(VecF x) { return OddByTable(x, kErfTable, kErfScale, kErfLimit, 1.0F); }
#else
// Below 0.65 x + x z P(z), z = x²; above 1 - 2 / (e^2x + 1). Error below 2 ulp.
PYPTO_SIMD_INLINE VecF Tanh(VecF x) {
  const VecF magnitude = Abs(x);
  const VecF z = x * x;
  VecF p = z * -5.5286386e-3F + 2.0483321e-2F;
  p = p * z - 5.3692970e-2F;
  p = p * z + 1.3330900e-1F;
  p = p * z - 3.3333263e-1F;
  const VecF small = p * z * x + x;
  const VecF large = 1.0F - 2.0F / (Exp(magnitude + magnitude) + 1.0F);
  return CopySign(magnitude < 0.65F ? small : large, x);
}

// Below 0.935 x + x P(x²); above 1 - e^Q(|x|) with Q a fit of ln erfc on [0.93, 4], where erf rounds to 1. Error
// below 2 ulp.
PYPTO_SIMD_INLINE VecF Erf(VecF x) {
  const VecF magnitude = Abs(x);
  const VecF z = x * x;
  VecF p = z * 8.2928296e-5F - 8.1248942e-4F;
  p = p * z + 5.1995180e-3F;
  p = p * z - 2.6858819e-2F;
  p = p * z + 1.1283686e-1F;
  p = p * z - 3.7612633e-1F;
  p = p * z + 1.2837917e-1F;
  const VecF small = p * x + x;
  const VecF t = magnitude > 4.0F ? Splat(4.0F) : magnitude;
  VecF q = t * -2.1217857e-5F + 4.3588400e-4F;
  q = q * t - 4.1779590e-3F;
  q = q * t + 2.5137613e-2F;
  q = q * t - 1.0830826e-1F;
  q = q * t - 6.3332126e-1F;
  q = q * t - 1.1295276F;
  q = q * t + 1.7733376e-4F;
  const VecF large = CopySign(1.0F - Exp(q), x);
  return magnitude < 0.935F ? small : large;
}
#endif

PYPTO_SIMD_INLINE VecF Sqrt(VecF x) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<VecF>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#else
  VecF result;
  for (int64_t i = 0; i < kLanes; ++i) result[i] = __builtin_sqrtf(x[i]);
  return result;
#endif
}

// b where neither is larger (smaller) or one is NaN.
PYPTO_SIMD_INLINE VecF Larger(VecF a, VecF b) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<VecF>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
  return a > b ? a : b;
#endif
}
PYPTO_SIMD_INLINE VecF Smaller(VecF a, VecF b) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<VecF>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
  return a < b ? a : b;
#endif
}

// NaN if either is NaN.
PYPTO_SIMD_INLINE VecF Maximum(VecF a, VecF b) { return a != a ? a : Larger(a, b); }
PYPTO_SIMD_INLINE VecF Minimum(VecF a, VecF b) { return a != a ? a : Smaller(a, b); }
PYPTO_SIMD_INLINE VecI Maximum(VecI a, VecI b) { return a > b ? a : b; }
PYPTO_SIMD_INLINE VecI Minimum(VecI a, VecI b) { return a < b ? a : b; }

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
