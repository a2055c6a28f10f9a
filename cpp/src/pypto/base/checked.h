// Checked size arithmetic: sums and products that say when they overflow, and rounding up to a power of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace pypto::base {

template <typename T>
constexpr std::optional<T> CheckedAdd(T a, T b) noexcept {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <typename T>
constexpr std::optional<T> CheckedMul(T a, T b) noexcept {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Rounds up to a multiple of `alignment` (a power of two).
template <typename T>
constexpr std::optional<T> CheckedAlignUp(T value, T alignment) noexcept {
  const auto padded = CheckedAdd<T>(value, alignment - 1);
  if (!padded) return std::nullopt;
  return static_cast<T>(*padded & ~(alignment - 1));
}

// For values known to be far from the limit.
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace pypto::base
