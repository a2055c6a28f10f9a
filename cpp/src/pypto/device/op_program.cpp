// Chooses how an operation is carried out.
#include "pypto/device/op_program.h"

#include <optional>
#include <string>

#include "pypto/device/formats.h"
#include "pypto/program/op_table.h"

namespace pypto::device {
namespace {

using base::StatusCode;
using program::OpCode;
using program::OpFamily;

std::optional<simd::UnaryKernel> UnaryOf(OpCode code) {
  switch (code) {
    case OpCode::kNeg: return simd::kUnaryNeg;
    case OpCode::kAbs: return simd::kUnaryAbs;
    case OpCode::kExp: return simd::kUnaryExp;
    case OpCode::kLog: return simd::kUnaryLog;
    case OpCode::kSqrt: return simd::kUnarySqrt;
    case OpCode::kRsqrt: return simd::kUnaryRsqrt;
    case OpCode::kReciprocal: return simd::kUnaryReciprocal;
    case OpCode::kTanh: return simd::kUnaryTanh;
    case OpCode::kErf: return simd::kUnaryErf;
    default: return std::nullopt;
  }
}

std::optional<simd::BinaryKernel> BinaryOf(OpCode code) {
  switch (code) {
    case OpCode::kAdd: return simd::kBinaryAdd;
    case OpCode::kSub: return simd::kBinarySub;
    case OpCode::kMul: return simd::kBinaryMul;
    case OpCode::kDiv: return simd::kBinaryDiv;
    case OpCode::kMaximum: return simd::kBinaryMaximum;
    case OpCode::kMinimum: return simd::kBinaryMinimum;
    default: return std::nullopt;
  }
}

std::optional<simd::ReduceKernel> ReduceOf(OpCode code) {
  switch (code) {
    case OpCode::kSum: return simd::kReduceSum;
    case OpCode::kAmax: return simd::kReduceMax;
    case OpCode::kAmin: return simd::kReduceMin;
    default: return std::nullopt;
  }
}

base::Status NoKernel(const program::OpInfo& info, program::DType dtype) {
  return base::MakeStatus(StatusCode::kUnsupported, "this version has no kernel for %s of %s",
                          std::string(info.name).c_str(), std::string(program::InfoOf(dtype).name).c_str());
}

base::Status ChooseRows(const program::OpInfo& info, const program::LeafOp& op, bool computes_float,
                        const simd::KernelTable& kernels, OpProgram* out) {
  if (info.family == OpFamily::kUnary) {
    const auto kernel = UnaryOf(op.code);
    if (kernel) out->rows = computes_float ? kernels.unary_f32[*kernel] : kernels.unary_i32[*kernel];
  } else {
    const auto kernel = BinaryOf(op.code);
    if (kernel) out->rows = computes_float ? kernels.binary_f32[*kernel] : kernels.binary_i32[*kernel];
  }
  return out->rows == nullptr ? NoKernel(info, op.compute_dtype) : base::OkStatus();
}

// Modes of a cast: 0 NONE, 1 RINT, 2 ROUND, 3 FLOOR, 4 CEIL, 5 TRUNC, 6 ODD. One that a conversion does not know is the
// default of that conversion: TRUNC to integers, RINT between floating dtypes.
void ChooseCast(const program::LeafOp& op, simd::Format from, OpProgram* out) {
  constexpr simd::RoundMode kModes[] = {simd::kRoundTrunc, simd::kRoundHalfEven, simd::kRoundHalfAway,
                                        simd::kRoundFloor, simd::kRoundCeil,     simd::kRoundTrunc};
  const bool known = op.cast_mode >= 1 && op.cast_mode <= 5;
  out->round = known ? kModes[op.cast_mode] : simd::kRoundTrunc;
  out->to_bool = out->result == simd::kBool;
  out->saturate = op.saturate && !IsFloat(out->result);
  if (IsFloat(from))
    out->rounds = IsFloat(out->result) ? known && from == out->result : out->round != simd::kRoundTrunc;
}

}  // namespace

base::Result<OpProgram> BuildOp(const program::LeafOp& op, program::DType result, const simd::KernelTable& kernels) {
  const program::OpInfo* info = program::FindOperation(op.code);
  if (info == nullptr) {
    return base::MakeStatus(StatusCode::kProgramFormat, "operation %u is not known", static_cast<unsigned>(op.code));
  }
  const auto from = FormatOf(op.compute_dtype);
  const auto to = FormatOf(result);
  if (!from || !to) return NoKernel(*info, from ? result : op.compute_dtype);
  OpProgram out;
  out.result = *to;
  out.axis = op.axis;
  out.place = op.place;
  out.name = info->name;
  out.input_count = static_cast<uint8_t>(op.inputs.size());
  if (op.inputs.size() < info->min_inputs || op.inputs.size() > 2 || op.inputs.empty()) {
    return base::MakeStatus(StatusCode::kProgramFormat, "operation %s has %zu inputs", std::string(info->name).c_str(),
                            op.inputs.size());
  }
  switch (info->family) {
    case OpFamily::kUnary:
    case OpFamily::kBinary:
      out.computes_float = IsFloat(*to);
      if (!out.computes_float && IsFloat(*from)) return NoKernel(*info, result);
      PYPTO_RETURN_IF_ERROR(ChooseRows(*info, op, out.computes_float, kernels, &out));
      break;
    case OpFamily::kReduction:
      out.action = Action::kReduce;
      out.reduce = ReduceOf(op.code).value_or(simd::kReduceSum);
      out.computes_float = IsFloat(*from);
      break;
    case OpFamily::kMatmul: out.action = Action::kMatmul; break;
    case OpFamily::kCast:
      out.action = Action::kCast;
      ChooseCast(op, *from, &out);
      break;
    case OpFamily::kFill:
    case OpFamily::kCopy:
    case OpFamily::kTranspose:
      out.action = Action::kCopy;
      out.computes_float = IsFloat(*to);
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
    default: return 0.15;
  }
}

}  // namespace pypto::device
