// The operation table, expanded from operations.inc.
#include "pypto/program/op_table.h"

#include <array>

namespace pypto::program {
namespace {

constexpr DTypeMask kFloats = MaskOf(DType::kFp32) | MaskOf(DType::kFp16) | MaskOf(DType::kBf16);
constexpr DTypeMask kArithmetic = kFloats | MaskOf(DType::kInt32);
// Sums keep the dtype of the input, and FP16 is too narrow to hold most of them.
constexpr DTypeMask kSummable = MaskOf(DType::kFp32) | MaskOf(DType::kBf16) | MaskOf(DType::kInt32);
constexpr DTypeMask kMatmulInputs = kFloats | MaskOf(DType::kInt8);
constexpr DTypeMask kAny = kArithmetic | MaskOf(DType::kInt8) | MaskOf(DType::kBool);

namespace result {
constexpr ResultDType Same = ResultDType::kSame;
constexpr ResultDType IntegerToFp32 = ResultDType::kIntegerToFp32;
constexpr ResultDType Attribute = ResultDType::kAttribute;
}  // namespace result

constexpr auto kOperations = std::to_array<OpInfo>({
#define PYPTO_OPERATION(code, enumerator, name, family, min_inputs, max_inputs, dtypes, result_rule, doc) \
  {OpCode::enumerator, name, OpFamily::k##family, min_inputs, max_inputs, dtypes, result::result_rule, doc},
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
});

}  // namespace

std::span<const OpInfo> AllOperations() { return kOperations; }

const OpInfo* FindOperation(std::string_view name) {
  for (const OpInfo& info : kOperations) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const OpInfo* FindOperation(OpCode code) {
  for (const OpInfo& info : kOperations) {
    if (info.code == code) return &info;
  }
  return nullptr;
}

}  // namespace pypto::program
