// From dtypes of the program to element formats of the kernels.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "pypto/device/simd/kernel_table.h"
#include "pypto/program/dtype.h"

namespace pypto::device {

// Nothing for dtypes wider than a kernel's 4-byte element.
constexpr std::optional<simd::Format> FormatOf(program::DType dtype) {
  switch (dtype) {
    case program::DType::kFp32: return simd::kF32;
    case program::DType::kFp16: return simd::kF16;
    case program::DType::kBf16: return simd::kBf16;
    case program::DType::kInt32: return simd::kI32;
    case program::DType::kInt8: return simd::kI8;
    case program::DType::kBool: return simd::kBool;
    case program::DType::kInt16: return simd::kI16;
    case program::DType::kUint8: return simd::kU8;
    case program::DType::kUint16: return simd::kU16;
    default: return std::nullopt;
  }
}

constexpr bool IsFloat(simd::Format format) { return format <= simd::kBf16; }

// The format in which values of `format` are computed.
constexpr simd::Format ComputeFormat(simd::Format format) { return IsFloat(format) ? simd::kF32 : simd::kI32; }

constexpr int64_t ElementBytes(simd::Format format) {
  switch (format) {
    case simd::kF32:
    case simd::kI32: return 4;
    case simd::kI8:
    case simd::kBool:
    case simd::kU8: return 1;
    default: return 2;
  }
}

// Lowest and highest value of an integer format.
struct IntegerRange {
  int32_t low;
  int32_t high;
};
constexpr IntegerRange RangeOf(simd::Format format) {
  switch (format) {
    case simd::kI8: return {-128, 127};
    case simd::kBool: return {0, 1};
    case simd::kI16: return {-32768, 32767};
    case simd::kU8: return {0, 255};
    case simd::kU16: return {0, 65535};
    default: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

// Largest finite value of a floating format.
constexpr float LargestFinite(simd::Format format) {
  switch (format) {
    case simd::kF16: return 65504.0F;
    case simd::kBf16: return 0x1.fep127F;
    default: return std::numeric_limits<float>::max();
  }
}

}  // namespace pypto::device
