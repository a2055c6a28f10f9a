// Chooses how an operation is carried out.
#include "pypto/device/op_program.h"

#include <optional>
#include <string>

#include "pypto/device/formats.h"
#include "pypto/device/whole/whole.h"
#include "pypto/program/op_table.h"

namespace pypto::device {
namespace {

using base::StatusCode;
using program::OpCode;
using program::OpFamily;

std::optional<simd::ElementwiseKernel> ElementwiseOf(OpCode code) {
  switch (code) {
#define PYPTO_ROW_Unary(id) \
  case OpCode::k##id: return simd::kElementwise##id;
#define PYPTO_ROW_Binary(id) PYPTO_ROW_Unary(id)
#define PYPTO_ROW_Select(id) PYPTO_ROW_Unary(id)
#include "pypto/program/operation_rows.inc"
    default: return std::nullopt;
  }
}

std::optional<simd::ReduceKernel> ReduceOf(OpCode code) {
  switch (code) {
#define PYPTO_ROW_Reduction(id) \
  case OpCode::k##id: return simd::kReduce##id;
#include "pypto/program/operation_rows.inc"
    default: return std::nullopt;
  }
}

WholeFunction WholeOf(OpCode code) {
  switch (code) {
#define PYPTO_ROW_Whole(id) \
  case OpCode::k##id: return Run##id;
#include "pypto/program/operation_rows.inc"
    default: return nullptr;
  }
}

base::Status NoKernel(const program::OpInfo& info, program::DType dtype) {
  return base::MakeStatus(StatusCode::kUnsupported, "this version has no kernel for %s of %s",
                          std::string(info.name).c_str(), std::string(program::InfoOf(dtype).name).c_str());
}

void ChooseRows(const simd::KernelTable& kernels, OpCode code, OpProgram* out) {
  // The bits of a BOOL cell are those of its only digit.
  const bool digit = code == OpCode::kBitwiseNot && out->input == simd::kBool;
  const simd::ElementwiseKernel kernel = digit ? simd::kElementwiseLogicalNot : *ElementwiseOf(code);
  out->kernel = kernel;
  out->rows = kernels.rows[out->kind][kernel];
  if (out->rows != nullptr) return;
  // Floats made of integers, by a kernel that takes those as they are.
  out->kind = KindOf(out->input);
  out->rows = kernels.rows[out->kind][kernel];
}

// Modes of a cast: 0 NONE, 1 RINT, 2 ROUND, 3 FLOOR, 4 CEIL, 5 TRUNC, 6 ODD. One that a conversion does not know is the
// default of that conversion: TRUNC to integers, RINT between floating dtypes.
void ChooseCast(const program::LeafOp& op, simd::Format from, OpProgram* out) {
  constexpr simd::RoundMode kModes[] = {simd::kRoundTrunc, simd::kRoundHalfEven, simd::kRoundHalfAway,
                                        simd::kRoundFloor, simd::kRoundCeil,     simd::kRoundTrunc};
  const bool known = op.cast_mode >= 1 && op.cast_mode <= 5;
  out->round = known ? kModes[op.cast_mode] : simd::kRoundTrunc;
  out->cast_mode = op.cast_mode;
  out->to_bool = out->result == simd::kBool;
  const bool half = (out->result == simd::kF16 || out->result == simd::kBf16) && from != out->result;
  out->saturate = op.saturate && (!IsFloat(out->result) || IsSmallFloat(out->result) || half);
  if (IsFloat(from))
    out->rounds = IsFloat(out->result) ? known && from == out->result : out->round != simd::kRoundTrunc;
}

}  // namespace

base::Result<OpProgram> BuildOp(const program::LeafOp& op, program::DType result, const simd::KernelTable& kernels) {
  const program::OpInfo* info = program::FindOperation(op.code);
  if (info == nullptr) {
    return base::MakeStatus(StatusCode::kProgramFormat, "operation %u is not known", static_cast<unsigned>(op.code));
  }
  OpProgram out;
  out.input = FormatOf(op.compute_dtype);
  out.result = FormatOf(result);
  out.kind = IsFloat(out.result) ? simd::kKindF32 : KindOf(out.input);
  out.code = op.code;
  out.axis = op.axis;
  out.place = op.place;
  out.name = info->name;
  out.input_count = static_cast<uint8_t>(op.inputs.size());
  if (op.inputs.size() < info->min_inputs || op.inputs.size() > info->max_inputs || op.inputs.empty()) {
    return base::MakeStatus(StatusCode::kProgramFormat, "operation %s has %zu inputs", std::string(info->name).c_str(),
                            op.inputs.size());
  }
  switch (info->family) {
    case OpFamily::kUnary:
    case OpFamily::kBinary:
    case OpFamily::kSelect:
      out.selects = info->family == OpFamily::kSelect;
      ChooseRows(kernels, op.code, &out);
      if (out.rows == nullptr) return NoKernel(*info, op.compute_dtype);
      break;
    case OpFamily::kReduction:
      out.action = Action::kReduce;
      out.reduce = ReduceOf(op.code).value_or(simd::kReduceSum);
      if (out.kind == simd::kKindI64) return NoKernel(*info, op.compute_dtype);
      break;
    case OpFamily::kMatmul: out.action = Action::kMatmul; break;
    case OpFamily::kCast:
      out.action = Action::kCast;
      ChooseCast(op, out.input, &out);
      break;
    case OpFamily::kFill:
    case OpFamily::kCopy:
    case OpFamily::kTranspose:
    case OpFamily::kExpand: out.action = Action::kCopy; break;
    case OpFamily::kWhole:
      out.action = Action::kWhole;
      out.whole = WholeOf(op.code);
      break;
  }
  return out;
}

double ElementCost(const program::LeafOp& op) {
  switch (op.code) {
    case OpCode::kExp:
    case OpCode::kLog: return 0.5;
    case OpCode::kTanh:
    case OpCode::kErf: return 1.0;
    case OpCode::kDiv:
    case OpCode::kSqrt:
    case OpCode::kRsqrt:
    case OpCode::kReciprocal: return 0.3;
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kMul:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kNeg:
    case OpCode::kCopy:
    case OpCode::kTriangle:
    case OpCode::kFill: return 0.15;
    case OpCode::kGather:
    case OpCode::kIndexSelect:
    case OpCode::kGatherInUb:
    case OpCode::kGatherInL1:
    case OpCode::kCumSum:
    case OpCode::kSorted:
    case OpCode::kSortedIndex: return 2.0;
    // Functions of the C library, and whole operations.
    default: return static_cast<int>(op.code) >= 100 ? 5.0 : 0.15;
  }
}

}  // namespace pypto::device
