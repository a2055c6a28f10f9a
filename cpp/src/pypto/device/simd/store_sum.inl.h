// Where sums of a matrix product go.
#pragma once

#include "pypto/device/simd/pack.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

template <typename Half>
constexpr bool kIsBf16 = false;
template <>
constexpr bool kIsBf16<Bf16> = true;

template <typename Half>
PYPTO_SIMD_INLINE VecH NarrowSum(VecF sum) {
#if defined(__AVX512BF16__)
  if constexpr (kIsBf16<Half>) {
    if (!Bf16::HasSubnormal(sum, sum, sum, sum)) [[likely]]
      return Bf16::NarrowNormal(sum);
  }
#endif
  return Half::Narrow(sum);
}

template <typename Half>
PYPTO_SIMD_INLINE void StoreNarrow(uint16_t* to, VecF sum, int64_t lanes) {
  const VecH x = NarrowSum<Half>(sum);
  lanes == kLanes ? StoreHalves(to, x) : ScatterHalves(to, 1, x, lanes);
}

template <typename V>
PYPTO_SIMD_INLINE V Scaled(const GemmOutput& out, V sum) {
  if constexpr (decltype(+V{}[0])(0.5) != 0) {
    if (out.scale != 1) [[unlikely]]
      return sum * out.scale;
  }
  return sum;
}

// The same from another cell on.
PYPTO_SIMD_INLINE GemmOutput OutputAt(GemmOutput out, int64_t row, int64_t column) {
  const bool half = out.format == kF16 || out.format == kBf16;
  if (out.from != nullptr) out.from = static_cast<const char*>(out.from) + (row * out.from_stride + column) * 4;
  out.to = static_cast<char*>(out.to) + (row * out.to_stride + column) * (half ? 2 : 4);
  return out;
}

// Sums of neighbouring columns to where the product goes, `lanes` of them.
template <typename Sum>
PYPTO_SIMD_INLINE void StoreSum(const GemmOutput& out, int64_t row, int64_t column, Sum sum, int64_t lanes) {
  using Element = typename ElementOf<Sum>::Type;
  if (out.from != nullptr) {
    const Element* from = static_cast<const Element*>(out.from) + row * out.from_stride + column;
    sum += lanes == kLanes ? Load(from) : LoadPart(from, lanes);
  }
  const int64_t at = row * out.to_stride + column;
  if constexpr (Element(0.5) != 0) {
    if (out.format == kF16) return StoreNarrow<Fp16>(static_cast<uint16_t*>(out.to) + at, sum, lanes);
    if (out.format == kBf16) return StoreNarrow<Bf16>(static_cast<uint16_t*>(out.to) + at, sum, lanes);
  }
  Element* to = static_cast<Element*>(out.to) + at;
  sum = Scaled(out, sum);
  lanes == kLanes ? Store(to, sum) : StorePart(to, sum, lanes);
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
