// The operation table, expanded from operations.inc.
#include "pypto/program/op_table.h"

#include <array>

namespace pypto::program {
namespace {

namespace masks {
constexpr DTypeMask F32 = MaskOf(DType::kFp32);
constexpr DTypeMask F16 = MaskOf(DType::kFp16);
constexpr DTypeMask BF16 = MaskOf(DType::kBf16);
constexpr DTypeMask I8 = MaskOf(DType::kInt8);
constexpr DTypeMask U8 = MaskOf(DType::kUint8);
constexpr DTypeMask I16 = MaskOf(DType::kInt16);
constexpr DTypeMask U16 = MaskOf(DType::kUint16);
constexpr DTypeMask I32 = MaskOf(DType::kInt32);
constexpr DTypeMask U32 = MaskOf(DType::kUint32);
constexpr DTypeMask I64 = MaskOf(DType::kInt64);
constexpr DTypeMask BOOL = MaskOf(DType::kBool);
constexpr DTypeMask Floats = F32 | F16 | BF16;
constexpr DTypeMask Integers = I8 | U8 | I16 | U16 | I32 | U32;
constexpr DTypeMask Wide = I64 | MaskOf(DType::kUint64);
// What sums and comparisons of the a5 platforms take.
constexpr DTypeMask Arithmetic = Floats | I32 | I16 | I8 | U8;
constexpr DTypeMask Movable = Floats | Integers;
constexpr DTypeMask CastTypes = Floats | I8 | U8 | I16 | I32 | I64 | BOOL;
constexpr DTypeMask FP8 = MaskOf(DType::kFp8E4M3) | MaskOf(DType::kFp8E5M2);
constexpr DTypeMask E8M0 = MaskOf(DType::kFp8E8M0);
constexpr DTypeMask HF8 = MaskOf(DType::kHf8);
constexpr DTypeMask Small = FP8 | E8M0 | HF8;
constexpr DTypeMask E2M1 = MaskOf(DType::kFp4E2M1X2);
constexpr DTypeMask FP4 = E2M1 | MaskOf(DType::kFp4E1M2X2);
constexpr DTypeMask I4 = MaskOf(DType::kInt4);
constexpr DTypeMask Any = Floats | Integers | Wide | BOOL;
constexpr DTypeMask Everything = Any | Small | FP4 | I4;
}  // namespace masks

constexpr OpInfo Row(OpCode code, std::string_view name, OpFamily family, std::string_view operands, DTypeMask a2a3,
                     DTypeMask a5, ResultDType result, std::string_view ranks, std::string_view parameters,
                     std::string_view doc) {
  const size_t mark = operands.find('?');
  const bool all = mark == std::string_view::npos;
  const auto least = static_cast<uint8_t>(all ? operands.size() : mark);
  const auto most = static_cast<uint8_t>(operands.size() - (all ? 0 : 1));
  return {code, name,      family, operands.substr(0, least), least,      most, a2a3,
          a5,   a2a3 | a5, result, RankRange(ranks),          parameters, doc};
}

constexpr auto MakeTable() {
  using namespace masks;
  return std::to_array<OpInfo>({
#define PYPTO_OPERATION(code, id, name, family, operands, a2a3, a5, result, ranks, parameters, doc) \
  Row(OpCode::k##id, name, OpFamily::k##family, operands, a2a3, a5, ResultDType::k##result, ranks, parameters, doc),
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
  });
}

constexpr auto kOperations = MakeTable();

constexpr auto MakeComposed() {
  using namespace masks;
  return std::to_array<ComposedInfo>({
#define PYPTO_OPERATION(...)
#define PYPTO_COMPOSED(name, dtypes, ranks, parameters) {name, dtypes, RankRange(ranks), parameters},
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
  });
}

constexpr auto kComposed = MakeComposed();

}  // namespace

std::span<const OpInfo> AllOperations() { return kOperations; }
std::span<const ComposedInfo> ComposedOperations() { return kComposed; }

const OpInfo* FindOperation(std::string_view name) {
  for (const OpInfo& info : kOperations) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const OpInfo* FindOperation(OpCode code) {
  enum : size_t {
#define PYPTO_OPERATION(number, id, ...) kIndexOf##id,
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
  };
  switch (code) {
#define PYPTO_OPERATION(number, id, ...) \
  case OpCode::k##id: return &kOperations[kIndexOf##id];
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
  }
  return nullptr;
}

DTypeMask MatmulResults(DType input) {
  switch (input) {
    case DType::kFp16: return MaskOf(DType::kFp16) | MaskOf(DType::kFp32);
    case DType::kBf16: return MaskOf(DType::kBf16) | MaskOf(DType::kFp32);
    case DType::kInt8: return MaskOf(DType::kInt32);
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kHf8: return MaskOf(DType::kFp32) | MaskOf(DType::kFp16) | MaskOf(DType::kBf16);
    default: return MaskOf(DType::kFp32);
  }
}

DType ResultOf(const OpInfo& info, DType input, DType attribute) {
  switch (info.result) {
    case ResultDType::kSame: return input;
    case ResultDType::kIntegerToFp32: return IsFloat(input) ? input : DType::kFp32;
    case ResultDType::kIntegerToInt64: return IsFloat(input) ? input : DType::kInt64;
    case ResultDType::kBool: return DType::kBool;
    case ResultDType::kFp32: return DType::kFp32;
    case ResultDType::kInt32: return DType::kInt32;
    case ResultDType::kInt64: return DType::kInt64;
    case ResultDType::kAttribute: return attribute;
  }
  return attribute;
}

}  // namespace pypto::program
