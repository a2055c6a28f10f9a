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
#define PYPTO_OPERATION(code, enumerator, name, family, min_inputs, max_inputs, dtypes, result, doc) enumerator = code,
#include "pypto/program/operations.inc"
#undef PYPTO_OPERATION
};

enum class OpFamily : uint8_t { kUnary, kBinary, kReduction, kMatmul, kCast, kFill, kCopy, kTranspose };

// How the dtype of the result follows from the inputs.
enum class ResultDType : uint8_t { kSame, kIntegerToFp32, kAttribute };

struct OpInfo {
  OpCode code;
  std::string_view name;
  OpFamily family;
  uint8_t min_inputs;
  uint8_t max_inputs;
  DTypeMask dtypes;
  ResultDType result;
  std::string_view doc;
};

PYPTO_API std::span<const OpInfo> AllOperations();
PYPTO_API const OpInfo* FindOperation(std::string_view name);
// Null for a code that is not in the table (a damaged or newer file).
PYPTO_API const OpInfo* FindOperation(OpCode code);

}  // namespace pypto::program
