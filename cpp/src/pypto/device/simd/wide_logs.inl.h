// Logarithms of FP32, computed on vectors of FP64 and rounded once. Errors below 0.51 ulp.
#pragma once

#include "pypto/device/simd/wide_exponents.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

#if defined(__AVX512F__)
// For each sixteenth of [0.734375, 1.46875), a number near the reciprocal of its middle, and the negative of its
// logarithm. They are those whose logarithms are nearest of an FP32: exact to 2^-39. Around 1 it is 1, so that small
// results keep their digits.
alignas(64) constexpr float kReciprocals[16] = {0x1.552324p+0F, 0x1.482292p+0F, 0x1.3b20d8p+0F, 0x1.2fd5fcp+0F,
                                                0x1.248eeep+0F, 0x1.1aa17ap+0F, 0x1.116d48p+0F, 0x1.07e3a0p+0F,
                                                0x1.000000p+0F, 0x1.e18514p-1F, 0x1.c75b5ap-1F, 0x1.af4bf8p-1F,
                                                0x1.99a968p-1F, 0x1.8624d2p-1F, 0x1.74d1eep-1F, 0x1.63e294p-1F};
alignas(64) constexpr float kTheirLogs[16] = {-0x1.25ff82p-2F, -0x1.fc6956p-3F, -0x1.a9944ep-3F,
                                              -0x1.5ed7e6p-3F, -0x1.11616ap-3F, -0x1.955b2ap-4F,
                                              -0x1.0dbfdap-4F, -0x1.f1485ap-6F, 0.0F,
                                              0x1.f6cd50p-5F,  0x1.e03a74p-4F,  0x1.5f4a34p-3F,
                                              0x1.c8b076p-3F,  0x1.165524p-2F,  0x1.44d7a0p-2F,
                                              0x1.74722cp-2F};
// ln(1 + x) = e ln 2 + log + ln(1 + r), where 1 + x as FP32 has it is 2^e of a sixteenth, `by` 8 × 2^-e of its
// reciprocal, and r what is left of 1 + x: its rounding does not matter. |r| < 0.0322.
PYPTO_SIMD_INLINE VecD Log1pFrom(VecD eighth_of_x, VecD by, VecD log, VecD e) {
  constexpr double kCoefficients[] = {0.1995105053836473, -0.2501984782331037, 0.33333369686839065,
                                      -0.4999999533386281};
  const VecD r = eighth_of_x * by + (by * 0.125 - 1.0);
  return Polynomial(r, kCoefficients) * (r * r) + r + log + e * 0.69314718055994531;
}
PYPTO_SIMD_INLINE VecF Log1pOf(VecF x) {
  const auto from_first = reinterpret_cast<VecI>(AsBits(x + 1.0F) - 0x3f3c0000u);
  const auto index = reinterpret_cast<__m512i>(from_first >> 19);  // its low four bits count
  const auto near = reinterpret_cast<VecF>(_mm512_maskz_permutexvar_ps(0xffff, index, _mm512_load_ps(kReciprocals)));
  const auto their = reinterpret_cast<VecF>(_mm512_maskz_permutexvar_ps(0xffff, index, _mm512_load_ps(kTheirLogs)));
  const VecU exponent = reinterpret_cast<VecU>(from_first) & 0xff800000u;
  const Halves v = Doubles(x * 0.125F);
  const Halves by = Doubles(AsFloat(AsBits(near) - exponent + (3u << 23)));  // no subnormal for e up to 128
  const Halves log = Doubles(their);
  const Halves e = Doubles(__builtin_convertvector(from_first >> 23, VecF));
  const VecF result = Floats(Log1pFrom(v.low, by.low, log.low, e.low), Log1pFrom(v.high, by.high, log.high, e.high));
  return Abs(x) < 0x1p-26F ? x : FromZero(x, -1.0F, result);
}
#else
PYPTO_SIMD_INLINE VecF Log1pOf(VecF x) {
  const VecF result = OnHalves(x, [](VecD v) __attribute__((always_inline)) {
    const VecD magnitude = v < 0.0 ? -v : v;
    return magnitude < 0x1p-20 ? v - v * v * 0.5 : LogOf(v + 1.0);
  });
  return x == 0.0F ? x : FromZero(x, -1.0F, result);
}
#endif
PYPTO_SIMD_INLINE VecF Log2Of(VecF x) {
  return FromZero(x, 0.0F, OnHalves(x, [](VecD v) __attribute__((always_inline)) {
                    return LogOfRatio(v, VecD{} + 1.0, 1.4426950408889634, 1.0);
                  }));
}
PYPTO_SIMD_INLINE VecF Log10Of(VecF x) {
  return FromZero(x, 0.0F, OnHalves(x, [](VecD v) __attribute__((always_inline)) {
                    return LogOfRatio(v, VecD{} + 1.0, 0.43429448190325183, 0.30102999566398120);
                  }));
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
