// Sine, cosine and powers of FP32, computed on vectors of FP64 and rounded once. Errors below 0.51 ulp. What is rare
// (arguments of at least 2^22 of a sine, zeros and infinities of a power) goes to the C library, lane by lane.
#pragma once

#include "pypto/device/simd/convert.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

typedef double VecD __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef uint64_t VecDBits __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef float VecHalfF __attribute__((vector_size(PYPTO_SIMD_BYTES / 2)));

PYPTO_SIMD_INLINE VecDBits BitsOf(VecD x) { return reinterpret_cast<VecDBits>(x); }
PYPTO_SIMD_INLINE VecD DoubleOf(VecDBits x) { return reinterpret_cast<VecD>(x); }

struct Halves {
  VecD low;
  VecD high;
};
#if defined(__AVX512F__)
PYPTO_SIMD_INLINE Halves Doubles(VecF x) {
  __m256 parts[2];
  __builtin_memcpy(parts, &x, sizeof(x));
  return {reinterpret_cast<VecD>(_mm512_maskz_cvtps_pd(0xff, parts[0])),
          reinterpret_cast<VecD>(_mm512_maskz_cvtps_pd(0xff, parts[1]))};
}
PYPTO_SIMD_INLINE VecF Floats(VecD low, VecD high) {
  const __m256 first = _mm512_maskz_cvtpd_ps(0xff, reinterpret_cast<__m512d>(low));
  const __m256 last = _mm512_maskz_cvtpd_ps(0xff, reinterpret_cast<__m512d>(high));
  return reinterpret_cast<VecF>(_mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(first), last, 1));
}
#elif defined(__AVX2__)
PYPTO_SIMD_INLINE Halves Doubles(VecF x) {
  const auto all = reinterpret_cast<__m256>(x);
  return {reinterpret_cast<VecD>(_mm256_cvtps_pd(_mm256_castps256_ps128(all))),
          reinterpret_cast<VecD>(_mm256_cvtps_pd(_mm256_extractf128_ps(all, 1)))};
}
PYPTO_SIMD_INLINE VecF Floats(VecD low, VecD high) {
  const __m128 first = _mm256_cvtpd_ps(reinterpret_cast<__m256d>(low));
  const __m128 last = _mm256_cvtpd_ps(reinterpret_cast<__m256d>(high));
  return reinterpret_cast<VecF>(_mm256_insertf128_ps(_mm256_castps128_ps256(first), last, 1));
}
#else
PYPTO_SIMD_INLINE Halves Doubles(VecF x) {
  VecHalfF parts[2];
  __builtin_memcpy(parts, &x, sizeof(x));
  return {__builtin_convertvector(parts[0], VecD), __builtin_convertvector(parts[1], VecD)};
}
PYPTO_SIMD_INLINE VecF Floats(VecD low, VecD high) {
  const VecHalfF parts[2] = {__builtin_convertvector(low, VecHalfF), __builtin_convertvector(high, VecHalfF)};
  VecF x;
  __builtin_memcpy(&x, parts, sizeof(x));
  return x;
}
#endif

constexpr double kWideMagic = 6755399441055744.0;  // 1.5 × 2^52: adding it rounds to an integer, in the low bits

// x = n π/2 + r, |r| <= π/4, in three steps that are exact for |n| < 2^22; then polynomials of r².
template <bool kCosine>
PYPTO_SIMD_INLINE VecD Wave(VecD x) {
  const VecD shifted = x * 0.63661977236758134 + kWideMagic;
  const VecD n = shifted - kWideMagic;
  VecD r = x - n * 1.5707963267341256;
  r = r - n * 6.0771005063039660e-11;
  r = r - n * 2.0222662487959506e-21;
  const VecD z = r * r;
  VecD s = z * -2.5052108385441720e-8 + 2.7557319223985893e-6;
  s = s * z - 1.9841269841269841e-4;
  s = s * z + 8.3333333333333332e-3;
  s = s * z - 1.6666666666666666e-1;
  s = s * z * r + r;
  VecD c = z * -2.7557319223985888e-7 + 2.4801587301587302e-5;
  c = c * z - 1.3888888888888889e-3;
  c = c * z + 4.1666666666666664e-2;
  c = c * z - 0.5;
  c = c * z + 1.0;
  const VecDBits quarter = BitsOf(shifted) + (kCosine ? 1U : 0U);
  const VecD chosen = (quarter & 1U) == 0U ? s : c;
  return DoubleOf(BitsOf(chosen) ^ ((quarter & 2U) << 62));
}

template <bool kCosine>
__attribute__((noinline)) VecF WaveOfFar(VecF x, VecF near) {
  for (int64_t i = 0; i < kLanes; ++i) {
    const double value = static_cast<double>(x[i]);
    if (!(__builtin_fabs(value) < 0x1p22)) {
      near[i] = static_cast<float>(kCosine ? __builtin_cos(value) : __builtin_sin(value));
    }
  }
  return near;
}

template <bool kCosine>
PYPTO_SIMD_INLINE VecF WaveOf(VecF x) {
  const Halves halves = Doubles(x);
  VecF result = Floats(Wave<kCosine>(halves.low), Wave<kCosine>(halves.high));
  if constexpr (!kCosine) result = x == 0.0F ? x : result;  // -0 stays
  const VecI far = ~(Abs(x) < 0x1p22F);
  return AnyLane(far) ? WaveOfFar<kCosine>(x, result) : result;
}

struct OpSin {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return WaveOf<false>(x); }
};
struct OpCos {
  PYPTO_SIMD_INLINE VecF Apply(VecF x) { return WaveOf<true>(x); }
};

// 2^(y log2 x), x > 0: x = 2^e m with m in [√½, √2); log2 m is the series of the inverse hyperbolic tangent of
// (m - 1) / (m + 1).
PYPTO_SIMD_INLINE VecD Power(VecD x, VecD y) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const VecDBits exponent = ((BitsOf(x) - kRootHalf + 0x3ff0000000000000U) >> 52) - 1023U;
  const VecD m = DoubleOf(BitsOf(x) - (exponent << 52));
  const VecD e = DoubleOf(exponent + 0x4338000000000000U) - kWideMagic;
  const VecD s = (m - 1.0) / (m + 1.0);
  const VecD z = s * s;
  VecD p = z * (1.0 / 15) + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  VecD power = y * (s * p * 2.8853900817779268 + e);
  power = power > 300.0 ? VecD{} + 300.0 : power;
  power = power < -300.0 ? VecD{} - 300.0 : power;
  const VecD shifted = power + kWideMagic;
  const VecD g = (power - (shifted - kWideMagic)) * 0.69314718055994531;
  VecD q = g * 2.7557319223985893e-6 + 2.4801587301587302e-5;
  q = q * g + 1.9841269841269841e-4;
  q = q * g + 1.3888888888888889e-3;
  q = q * g + 8.3333333333333332e-3;
  q = q * g + 4.1666666666666664e-2;
  q = q * g + 1.6666666666666666e-1;
  q = q * g + 0.5;
  q = q * g + 1.0;
  q = q * g + 1.0;
  return DoubleOf(BitsOf(q) + (BitsOf(shifted) << 52));
}

// Lanes of a power that the formula does not serve.
PYPTO_SIMD_INLINE VecI OddCases(VecF x, VecF y) {
  constexpr float kInfinity = __builtin_inff();
  return ~(Abs(x) < kInfinity) | (x == 0.0F) | ~(Abs(y) < kInfinity);
}

__attribute__((noinline)) VecF PowerOfOddCases(VecF x, VecF y, VecF others) {
  const VecI odd = OddCases(x, y);
  for (int64_t i = 0; i < kLanes; ++i) {
    if (odd[i] != 0) {
      others[i] = static_cast<float>(__builtin_pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
    }
  }
  return others;
}

PYPTO_SIMD_INLINE VecF PowerOf(VecF x, VecF y) {
  const Halves base = Doubles(Abs(x));
  const Halves exponent = Doubles(y);
  VecF result = Floats(Power(base.low, exponent.low), Power(base.high, exponent.high));
  const VecF half = y * 0.5F;
  const VecI whole = ToTrunc::Apply(y) == y;
  const VecI odd = whole & (ToTrunc::Apply(half) != half);
  const VecF of_negative = whole ? (odd ? AsFloat(AsBits(result) ^ 0x80000000U) : result) : Splat(__builtin_nanf(""));
  result = x < 0.0F ? of_negative : result;
  return AnyLane(OddCases(x, y)) ? PowerOfOddCases(x, y, result) : result;
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
