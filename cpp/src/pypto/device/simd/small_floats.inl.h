// Floating formats of 8 bits: values of all codes, and FP32 rounded to a code.
//
// E4M3, E5M2 and E8M0 are those of the OCP formats (8-bit floating point 1.0, microscaling 1.0), as torch has them.
// HF8 is HiFloat8 as published (arXiv 2409.16626): a sign, a prefix code ("dot") of 2 to 4 bits that says how many bits
// the exponent takes, the exponent as sign and magnitude without its leading 1, and what is left as significand.
#pragma once

#include "pypto/device/simd/vector.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

constexpr uint32_t kQuietNan = 0x7fc00000U;
constexpr uint32_t kInfinity = 0x7f800000U;

// 2^exponent * (1 + fraction / 2^bits), for exponents of normal FP32.
constexpr uint32_t NormalBits(int exponent, uint32_t fraction, int bits) {
  return static_cast<uint32_t>(exponent + 127) << 23 | fraction << (23 - bits);
}

// A sign, kExponent bits of exponent and kMantissa of significand, with subnormals, rounded half to even. Codes above
// kLargest are no finite values; what is too large becomes kOverflow, infinity or the largest value.
template <int kExponent, int kMantissa, uint32_t kLargest, uint32_t kOverflow>
struct SmallFloat {
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr int kMantissaBits = kMantissa;
  static constexpr uint32_t kLargestCode = kLargest;
  static constexpr uint32_t kOverflowCode = kOverflow;

  static constexpr uint32_t Bits(uint32_t code) {
    const uint32_t magnitude = code & 0x7fU;
    const uint32_t sign = (code & 0x80U) << 24;
    if (magnitude > kLargest) return sign | (magnitude == kOverflow ? kInfinity : kQuietNan);
    const uint32_t fraction = magnitude & ((1U << kMantissa) - 1);
    const uint32_t exponent = magnitude >> kMantissa;
    if (exponent != 0) return sign | NormalBits(static_cast<int>(exponent) - kBias, fraction, kMantissa);
    if (fraction == 0) return sign;
    int top = kMantissa - 1;
    while ((fraction >> top) == 0) --top;
    return sign | NormalBits(1 - kBias - kMantissa + top, fraction ^ (1U << top), top);
  }

  PYPTO_SIMD_INLINE uint32_t Encode(uint32_t bits) {
    constexpr int kShift = 23 - kMantissa;
    constexpr uint32_t kLeastNormal = NormalBits(1 - kBias, 0, 0);
    constexpr uint32_t kMagic = NormalBits(1 - kBias + kShift, 0, 0);  // its last place is the least subnormal
    const uint32_t sign = bits >> 24 & 0x80U;
    const uint32_t magnitude = bits & 0x7fffffffU;
    const uint32_t even = magnitude + ((1U << (kShift - 1)) - 1) + (magnitude >> kShift & 1U);
    const uint32_t normal = (even >> kShift) - (static_cast<uint32_t>(127 - kBias) << kMantissa);
    const float sum = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kMagic);
    uint32_t code = magnitude < kLeastNormal ? __builtin_bit_cast(uint32_t, sum) - kMagic : normal;
    code = code > kLargest ? kOverflow : code;
    return sign | (magnitude > kInfinity ? 0x7fU : code);
  }
};

using E4m3 = SmallFloat<4, 3, 0x7e, 0x7e>;
using E5m2 = SmallFloat<5, 2, 0x7b, 0x7c>;

// A power of two without sign. Signs are dropped; 0 and what is below the least power become that; half rounds up,
// except between an FP32 subnormal and the least power.
struct E8m0 {
  static constexpr uint32_t Bits(uint32_t code) {
    if (code == 0xffU) return kQuietNan;
    return code == 0 ? 0x00400000U : code << 23;
  }

  PYPTO_SIMD_INLINE uint32_t Encode(uint32_t bits) {
    const uint32_t exponent = bits >> 23 & 0xffU;
    const uint32_t fraction = bits & 0x007fffffU;
    const bool up = fraction > 0x00400000U || (fraction == 0x00400000U && exponent > 0);
    return exponent == 0xffU ? exponent : exponent + (up ? 1U : 0U);
  }
};

// Magnitudes of the exponent: 0 | 1 | 2-3 | 4-7 | 8-15 behind the dots 0001 | 001 | 01 | 10 | 11, with 3, 3, 3, 2, 1
// bits of significand; behind 0000 the powers 2^-22 to 2^-16. One zero, one NaN (the code of a negative zero),
// infinities in place of 1.5 * 2^15. Rounded half away from zero.
struct Hf8 {
  static constexpr uint32_t Bits(uint32_t code) {
    const uint32_t magnitude = code & 0x7fU;
    const uint32_t sign = (code & 0x80U) << 24;
    if (magnitude == 0) return sign != 0 ? kQuietNan : 0;
    if (magnitude == 0x6fU) return sign | kInfinity;
    if (magnitude < 0x08U) return sign | NormalBits(static_cast<int>(magnitude) - 23, 0, 0);
    if (magnitude < 0x10U) return sign | NormalBits(0, magnitude & 7U, 3);
    if (magnitude < 0x20U) return sign | NormalBits((magnitude & 8U) != 0 ? -1 : 1, magnitude & 7U, 3);
    const int width = static_cast<int>(magnitude >> 5);  // bits of the exponent's magnitude behind its leading 1
    const int bits = 4 - width;
    const int size = static_cast<int>(1U << width | (magnitude >> bits & ((1U << width) - 1)));
    return sign | NormalBits((magnitude & 0x10U) != 0 ? -size : size, magnitude & ((1U << bits) - 1), bits);
  }

  PYPTO_SIMD_INLINE uint32_t Encode(uint32_t bits) {
    const uint32_t sign = bits >> 24 & 0x80U;
    const uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > kInfinity) return 0x80U;
    if (magnitude < NormalBits(-23, 0, 0)) return 0;
    if (magnitude < NormalBits(-22, 0, 0)) return sign | 1U;
    const uint32_t rounded = magnitude + (1U << (22 - WidthAt(ExponentOf(magnitude))));
    const int exponent = ExponentOf(rounded);
    if (exponent < -15) return sign | static_cast<uint32_t>(exponent + 23);
    const int width = WidthAt(exponent);
    const uint32_t fraction = (rounded & 0x007fffffU) >> (23 - width);
    if (exponent > 15 || (exponent == 15 && fraction == 1)) return sign | 0x6fU;
    return sign | Place(exponent, fraction);
  }

 private:
  PYPTO_SIMD_INLINE int ExponentOf(uint32_t magnitude) { return static_cast<int>(magnitude >> 23) - 127; }
  PYPTO_SIMD_INLINE int WidthAt(int exponent) {
    const int size = exponent < 0 ? -exponent : exponent;
    if (exponent < -15) return 0;
    return size < 4 ? 3 : (size < 8 ? 2 : 1);
  }
  PYPTO_SIMD_INLINE uint32_t Place(int exponent, uint32_t fraction) {
    const auto size = static_cast<uint32_t>(exponent < 0 ? -exponent : exponent);
    const uint32_t negative = exponent < 0 ? 1U : 0U;
    if (size == 0) return 0x08U | fraction;
    if (size == 1) return 0x10U | negative << 3 | fraction;
    if (size < 4) return 0x20U | negative << 4 | (size & 1U) << 3 | fraction;
    if (size < 8) return 0x40U | negative << 4 | (size & 3U) << 2 | fraction;
    return 0x60U | negative << 4 | (size & 7U) << 1 | fraction;
  }
};

struct CodeValues {
  float values[256];
};
template <typename Small>
constexpr CodeValues ValuesOf() {
  CodeValues table{};
  for (uint32_t code = 0; code < 256; ++code) table.values[code] = __builtin_bit_cast(float, Small::Bits(code));
  return table;
}
template <typename Small>
constexpr CodeValues kCodeValues = ValuesOf<Small>();

template <typename Small>
void LoadSmall(void* out, const void* source, int64_t step, int64_t n) {
  auto* to = static_cast<float*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  for (int64_t i = 0; i < n; ++i) to[i] = kCodeValues<Small>.values[from[i * step]];
}

template <typename Small>
void StoreSmall(void* out, int64_t step, const void* source, int64_t n) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const float*>(source);
  for (int64_t i = 0; i < n; ++i) {
    to[i * step] = static_cast<uint8_t>(Small::Encode(__builtin_bit_cast(uint32_t, from[i])));
  }
}

template <typename Small>
void FitSmall(void* data, int64_t n) {
  auto* x = static_cast<float*>(data);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = kCodeValues<Small>.values[Small::Encode(__builtin_bit_cast(uint32_t, x[i]))];
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
