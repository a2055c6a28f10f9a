// The dtype table.
#include "pypto/program/dtype.h"

#include <array>

namespace pypto::program {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kInfos = {{
    {DType::kFp32, "FP32", "float32", 4, DTypeKind::kFloat},
    {DType::kFp16, "FP16", "float16", 2, DTypeKind::kFloat},
    {DType::kBf16, "BF16", "bfloat16", 2, DTypeKind::kFloat},
    {DType::kInt32, "INT32", "int32", 4, DTypeKind::kSigned},
    {DType::kInt8, "INT8", "int8", 1, DTypeKind::kSigned},
    {DType::kBool, "BOOL", "bool", 1, DTypeKind::kBool},
    {DType::kInt16, "INT16", "int16", 2, DTypeKind::kSigned},
    {DType::kInt64, "INT64", "int64", 8, DTypeKind::kSigned},
    {DType::kUint8, "UINT8", "uint8", 1, DTypeKind::kUnsigned},
    {DType::kUint16, "UINT16", "uint16", 2, DTypeKind::kUnsigned},
    {DType::kUint32, "UINT32", "uint32", 4, DTypeKind::kUnsigned},
    {DType::kUint64, "UINT64", "uint64", 8, DTypeKind::kUnsigned},
    {DType::kFp8E4M3, "FP8E4M3", "float8_e4m3fn", 1, DTypeKind::kFloat},
    {DType::kFp8E5M2, "FP8E5M2", "float8_e5m2", 1, DTypeKind::kFloat},
    {DType::kFp8E8M0, "FP8E8M0", "float8_e8m0fnu", 1, DTypeKind::kFloat},
    {DType::kHf8, "HF8", "uint8", 1, DTypeKind::kFloat},
    {DType::kFp4E2M1X2, "FP4_E2M1X2", "uint8", 1, DTypeKind::kFloat},
    {DType::kFp4E1M2X2, "FP4_E1M2X2", "uint8", 1, DTypeKind::kFloat},
    {DType::kInt4, "INT4", "uint8", 1, DTypeKind::kSigned},
}};

constexpr bool InOrder() {
  for (size_t i = 0; i < kInfos.size(); ++i) {
    if (static_cast<size_t>(kInfos[i].dtype) != i) return false;
  }
  return true;
}
static_assert(InOrder(), "the table is indexed by dtype");

}  // namespace

const DTypeInfo& InfoOf(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

std::pair<int64_t, int64_t> IntegerRange(DType dtype) {
  const DTypeInfo& info = InfoOf(dtype);
  const uint32_t bits = dtype == DType::kInt4 ? 4 : info.bytes * 8;
  if (info.kind == DTypeKind::kUnsigned) return {0, bits == 64 ? INT64_MAX : (int64_t{1} << bits) - 1};
  const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  return {-high - 1, high};
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const DTypeInfo& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

}  // namespace pypto::program
