// Single FP16 and BF16 elements; the tables of kernels convert rows of them, to the same values.
#pragma once

#include <bit>
#include <cstdint>

namespace pypto::device {

inline float FromBf16(uint16_t half) { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }

// Half to even; a NaN stays one.
inline uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = value != value ? bits | 0x00400000U : bits + 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<uint16_t>(rounded >> 16);
}

// The exponent is moved by a product, which is exact for subnormal numbers too.
inline float FromFp16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t moved = static_cast<uint32_t>(half & 0x7fffU) << 13;
  const bool finite = (half & 0x7c00U) != 0x7c00U;
  const uint32_t magnitude =
      finite ? std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * 0x1p112F) : moved | 0x7f800000U;
  return std::bit_cast<float>(magnitude | sign);
}

inline uint16_t ToFp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;  // leaves steps of 2^-24
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  return static_cast<uint16_t>(sign | ((magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13));
}

}  // namespace pypto::device
