// From dtypes of the program to element formats of the kernels.
#pragma once

#include <cstdint>
#include <limits>

#include "pypto/device/simd/kernel_table.h"
#include "pypto/program/dtype.h"

namespace pypto::device {

constexpr simd::Format FormatOf(program::DType dtype) {
  switch (dtype) {
    case program::DType::kFp32: return simd::kF32;
    case program::DType::kFp16: return simd::kF16;
    case program::DType::kBf16: return simd::kBf16;
    case program::DType::kInt32: return simd::kI32;
    case program::DType::kInt8: return simd::kI8;
    case program::DType::kBool: return simd::kBool;
    case program::DType::kInt16: return simd::kI16;
    case program::DType::kInt4:  // its bytes are moved only
    case program::DType::kUint8: return simd::kU8;
    case program::DType::kUint16: return simd::kU16;
    case program::DType::kInt64: return simd::kI64;
    case program::DType::kUint32: return simd::kU32;
    case program::DType::kUint64: return simd::kU64;
    case program::DType::kFp8E4M3: return simd::kE4m3;
    case program::DType::kFp8E5M2: return simd::kE5m2;
    case program::DType::kFp8E8M0: return simd::kE8m0;
    case program::DType::kHf8: return simd::kHf8;
    case program::DType::kFp4E2M1X2:
    case program::DType::kFp4E1M2X2: return simd::kPairs;
  }
  return simd::kF32;
}

constexpr bool IsFloat(simd::Format format) { return format <= simd::kPairs; }
constexpr bool IsSmallFloat(simd::Format format) { return format >= simd::kE4m3 && format <= simd::kHf8; }

// What elements of the format are computed with.
constexpr simd::Kind KindOf(simd::Format format) {
  if (IsFloat(format)) return simd::kKindF32;
  return format >= simd::kI64 ? simd::kKindI64 : simd::kKindI32;
}
constexpr simd::Format FormatOfKind(simd::Kind kind) {
  constexpr simd::Format kFormats[] = {simd::kF32, simd::kI32, simd::kI64};
  return kFormats[kind];
}
// The format in which values of `format` are computed.
constexpr simd::Format ComputeFormat(simd::Format format) { return FormatOfKind(KindOf(format)); }

constexpr int64_t ElementBytes(simd::Format format) {
  switch (format) {
    case simd::kI64:
    case simd::kU64: return 8;
    case simd::kF32:
    case simd::kU32:
    case simd::kI32: return 4;
    case simd::kE4m3:
    case simd::kE5m2:
    case simd::kE8m0:
    case simd::kHf8:
    case simd::kPairs:
    case simd::kI8:
    case simd::kBool:
    case simd::kU8: return 1;
    default: return 2;
  }
}

// Lowest and highest value of an integer format; UINT64 up to what INT64 holds.
struct IntegerRange {
  int64_t low;
  int64_t high;
};
constexpr IntegerRange RangeOf(simd::Format format) {
  switch (format) {
    case simd::kI8: return {-128, 127};
    case simd::kBool: return {0, 1};
    case simd::kI16: return {-32768, 32767};
    case simd::kU8: return {0, 255};
    case simd::kU16: return {0, 65535};
    case simd::kU32: return {0, std::numeric_limits<uint32_t>::max()};
    case simd::kI64: return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    case simd::kU64: return {0, std::numeric_limits<int64_t>::max()};
    default: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

// An integer as the format holds it.
constexpr int64_t Wrapped(simd::Format format, int64_t value) {
  switch (format) {
    case simd::kI8: return static_cast<int8_t>(value);
    case simd::kBool: return value != 0 ? 1 : 0;
    case simd::kI16: return static_cast<int16_t>(value);
    case simd::kU8: return static_cast<uint8_t>(value);
    case simd::kU16: return static_cast<uint16_t>(value);
    case simd::kI32: return static_cast<int32_t>(value);
    case simd::kU32: return static_cast<uint32_t>(value);
    default: return value;
  }
}

// Largest finite value of a floating format.
constexpr float LargestFinite(simd::Format format) {
  switch (format) {
    case simd::kF16: return 65504.0F;
    case simd::kBf16: return 0x1.fep127F;
    case simd::kE4m3: return 448.0F;
    case simd::kE5m2: return 57344.0F;
    case simd::kE8m0: return 0x1p127F;
    case simd::kHf8: return 32768.0F;
    default: return std::numeric_limits<float>::max();
  }
}

}  // namespace pypto::device
