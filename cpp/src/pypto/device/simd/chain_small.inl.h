// How floats of 8 bits with exponent and significand at fixed places lie in the memory of a chain.
#pragma once

#include "pypto/device/simd/chain.inl.h"
#include "pypto/device/simd/small_floats.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

template <typename Small>
struct SmallCells {
  using Bytes = NarrowCells<uint8_t>;
  static constexpr int64_t kBytes = 1;
  PYPTO_SIMD_INLINE VecF Load(const uint8_t* p) { return Widen(Bytes::Load(p)); }
  PYPTO_SIMD_INLINE VecF LoadPart(const uint8_t* p, int64_t n) { return Widen(Bytes::LoadPart(p, n)); }
  PYPTO_SIMD_INLINE VecF Spread(const uint8_t* p) { return Splat(kCodeValues<Small>.values[*p]); }
  PYPTO_SIMD_INLINE void Store(uint8_t* p, VecF x) { Bytes::Store(p, Codes(x)); }
  PYPTO_SIMD_INLINE void StorePart(uint8_t* p, VecF x, int64_t n) { Bytes::StorePart(p, Codes(x), n); }
  PYPTO_SIMD_INLINE VecF Fit(VecF x) { return Widen(Codes(x)); }

 private:
  // The code's exponent and significand are those of an FP32, subnormals included, but for a factor.
  PYPTO_SIMD_INLINE VecF Widen(VecF codes) {
    constexpr float kFactor = __builtin_bit_cast(float, NormalBits(127 - Small::kBias, 0, 0));
    const VecU bits = AsBits(codes);
    const VecU magnitude = bits & 0x7fU;
    const VecU finite = AsBits(AsFloat(magnitude << (23 - Small::kMantissaBits)) * kFactor);
    const VecU other = (magnitude == Small::kOverflowCode ? VecU{} + kInfinity : VecU{} + kQuietNan);
    return AsFloat((magnitude > Small::kLargestCode ? other : finite) | ((bits & 0x80U) << 24));
  }

  // As Small::Encode.
  PYPTO_SIMD_INLINE VecF Codes(VecF x) {
    constexpr int kShift = 23 - Small::kMantissaBits;
    constexpr uint32_t kLeastNormal = NormalBits(1 - Small::kBias, 0, 0);
    constexpr uint32_t kMagic = NormalBits(1 - Small::kBias + kShift, 0, 0);
    const VecU bits = AsBits(x);
    const VecU magnitude = bits & 0x7fffffffU;
    const VecU even = magnitude + ((1U << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1U);
    const VecU normal = (even >> kShift) - (static_cast<uint32_t>(127 - Small::kBias) << Small::kMantissaBits);
    const VecU subnormal = AsBits(AsFloat(magnitude) + __builtin_bit_cast(float, kMagic)) - kMagic;
    VecU code = magnitude < kLeastNormal ? subnormal : normal;
    code = code > Small::kLargestCode ? VecU{} + Small::kOverflowCode : code;
    code = magnitude > kInfinity ? VecU{} + 0x7fU : code;
    return AsFloat(code | ((bits >> 24) & 0x80U));
  }
};

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
