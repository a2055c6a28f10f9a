// The table of operations: tracing, verifying, planning and execution all read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "pypto/base/export.h"
#include "pypto/program/dtype.h"

namespace pypto::program {

enum class OpCode : uint16_t {
#define PYPTO_OPERATION(code, id, name, family, operands, a2a3, a5, result, ranks, parameters, doc) k##id = code,
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
};

// Whether an operation finds rows through a table of blocks.
constexpr bool IsPagedGather(OpCode code) { return code == OpCode::kGatherInUb || code == OpCode::kGatherInL1; }
// Whether an operation chooses slices of its first operand along an axis, each for every tile.
constexpr bool ChoosesSlices(OpCode code) { return code == OpCode::kIndexSelect || IsPagedGather(code); }

enum class OpFamily : uint8_t {
  kUnary,
  kBinary,
  kSelect,
  kReduction,
  kMatmul,
  kCast,
  kFill,
  kCopy,
  kTranspose,
  kExpand,
  kWhole
};

// How the dtype of the result follows from that of the inputs.
enum class ResultDType : uint8_t { kSame, kIntegerToFp32, kIntegerToInt64, kBool, kFp32, kInt32, kInt64, kAttribute };

// Fewest and most dims of a tensor, of the column "1-4".
struct RankRange {
  int low = 1;
  int high = 1;
  constexpr explicit RankRange(std::string_view text) : low(text.front() - '0'), high(text.back() - '0') {}
};

struct OpInfo {
  OpCode code;
  std::string_view name;
  OpFamily family;
  std::string_view operands;  // one letter each (operations.inc); operands past the last are like that one
  uint8_t min_inputs;
  uint8_t max_inputs;
  DTypeMask a2a3;    // dtypes on those platforms
  DTypeMask a5;      // dtypes on those
  DTypeMask dtypes;  // on any platform
  ResultDType result;
  RankRange ranks;
  std::string_view parameters;  // with their defaults; those of a part of other operations are not told
  std::string_view doc;

  // As errors name it: users know parts of operations by the operation.
  std::string_view shown() const { return name.substr(name.starts_with('_') ? 1 : 0); }
  char operand(size_t index) const { return operands[index < operands.size() ? index : operands.size() - 1]; }
  bool elementwise() const {
    return family == OpFamily::kUnary || family == OpFamily::kBinary || family == OpFamily::kSelect;
  }
};

// Cells of the result depend on where they stand in its last two dims, and on nothing but that cell of the operand: a
// whole operation that also runs in vector leaves, tile by tile.
constexpr bool IsPositional(OpCode code) noexcept { return code == OpCode::kTriangle; }

// What the front end makes of other operations.
struct ComposedInfo {
  std::string_view name;
  DTypeMask dtypes;  // of the first operand
  RankRange ranks;
  std::string_view parameters;
};

PYPTO_API std::span<const OpInfo> AllOperations();
PYPTO_API std::span<const ComposedInfo> ComposedOperations();
PYPTO_API const OpInfo* FindOperation(std::string_view name);
// Null for a code that is not in the table (a damaged or newer file).
PYPTO_API const OpInfo* FindOperation(OpCode code);

// Which operand has the operation's dtype: the first that is a tensor of kind T or t; -1 when none is.
template <typename IsTensor>
int DTypeOperand(const OpInfo& info, size_t count, const IsTensor& is_tensor) {
  for (size_t i = 0; i < count; ++i) {
    const char kind = info.operand(i);
    if ((kind == 'T' || kind == 't') && is_tensor(i)) return static_cast<int>(i);
  }
  return -1;
}

// Dtypes that a matrix product of that dtype may have.
DTypeMask MatmulResults(DType input);
// Dtype of the result; `attribute` where the table leaves it to the caller.
PYPTO_API DType ResultOf(const OpInfo& info, DType input, DType attribute);

}  // namespace pypto::program
