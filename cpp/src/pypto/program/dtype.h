// Data types of tensor elements. The numbers are part of the program file format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "pypto/base/export.h"

namespace pypto::program {

enum class DType : uint8_t {
  kFp32 = 0,
  kFp16 = 1,
  kBf16 = 2,
  kInt32 = 3,
  kInt8 = 4,
  kBool = 5,
  kInt16 = 6,
  kInt64 = 7,
  kUint8 = 8,
  kUint16 = 9,
  kUint32 = 10,
  kUint64 = 11,
  kFp8E4M3 = 12,
  kFp8E5M2 = 13,
  kFp8E8M0 = 14,
  kHf8 = 15,
  kFp4E2M1X2 = 16,  // two elements in a byte; what the core calls an element is such a byte
  kFp4E1M2X2 = 17,
  kInt4 = 18,  // two in a byte too
};

inline constexpr int kDTypeCount = 19;

enum class DTypeKind : uint8_t { kFloat, kSigned, kUnsigned, kBool };

struct DTypeInfo {
  DType dtype;
  std::string_view name;        // "FP32", shown to users as DT_FP32
  std::string_view torch_name;  // "float32"
  uint32_t bytes;               // of one element
  DTypeKind kind;
};

PYPTO_API const DTypeInfo& InfoOf(DType dtype);
PYPTO_API std::optional<DType> DTypeFromName(std::string_view name);  // "FP32"
inline bool IsFloat(DType dtype) { return InfoOf(dtype).kind == DTypeKind::kFloat; }
inline bool IsInteger(DType dtype) {
  return InfoOf(dtype).kind == DTypeKind::kSigned || InfoOf(dtype).kind == DTypeKind::kUnsigned;
}
// Least and greatest value of an integer dtype, as far as 63 bits hold them.
PYPTO_API std::pair<int64_t, int64_t> IntegerRange(DType dtype);
inline uint32_t BytesOf(DType dtype) { return InfoOf(dtype).bytes; }

// Whether memory of a host dtype serves where `expected` is asked for: its own, or UINT8 where hosts know no such
// dtype.
constexpr bool Serves(DType host, DType expected) {
  return host == expected || (host == DType::kUint8 && expected >= DType::kHf8);
}

// A set of dtypes as one bit each.
using DTypeMask = uint32_t;
constexpr DTypeMask MaskOf(DType dtype) { return DTypeMask{1} << static_cast<uint32_t>(dtype); }

}  // namespace pypto::program
