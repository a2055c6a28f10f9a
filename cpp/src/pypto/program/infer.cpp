// Dtypes and static shapes of results, and the checks of operands.
#include "pypto/program/infer.h"

#include <algorithm>

#include "pypto/base/checked.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;
using Shape = std::vector<int64_t>;

constexpr uint8_t kMaxCastMode = 6;

Status UnsupportedDType(std::string_view op, const char* what, DType dtype, DTypeMask accepted) {
  return MakeStatus(StatusCode::kTypeMismatch, "%s(): %s %s is not supported; accepted: %s", std::string(op).c_str(),
                    what, DTypeText(dtype).c_str(), DTypesText(accepted).c_str());
}

Status FloatOntoInteger(std::string_view op, DType dtype) {
  return MakeStatus(StatusCode::kTypeMismatch, "%s(): float scalar incompatible with integer tensor dtype %s",
                    std::string(op).c_str(), DTypeText(dtype).c_str());
}

// A number operand that exists in the program.
Status CheckNumber(const Program& program, const Operand& operand, std::string_view op) {
  const bool is_expr = operand.kind == Operand::Kind::kExpr || operand.kind == Operand::Kind::kFloatExpr;
  const bool bad_expr = is_expr && operand.expr >= program.exprs.size();
  const bool bad_scalar =
      operand.kind == Operand::Kind::kScalar &&
      (operand.scalar >= program.scalars.size() || program.scalars[operand.scalar].kind != ScalarKind::kFloat);
  if (!bad_expr && !bad_scalar) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s(): the %s operand does not belong to this kernel",
                    std::string(op).c_str(), bad_expr ? "symbolic" : "scalar");
}

bool IsFloatNumber(const Operand& operand) {
  return operand.kind == Operand::Kind::kFloat || operand.kind == Operand::Kind::kScalar ||
         operand.kind == Operand::Kind::kFloatExpr;
}

// The operands of one operation, checked one by one and against each other in dtype.
struct Operands {
  std::vector<Shape> shapes;   // of the tensors
  std::vector<Shape> all;      // of every operand; empty for a number
  DType dtype = DType::kFp32;  // of the operation
};

Status WrongDType(std::string_view op, size_t index, DType dtype, DTypeMask accepted) {
  return MakeStatus(StatusCode::kTypeMismatch, "%s(): operand %zu must be %s, got %s", std::string(op).c_str(), index,
                    DTypesText(accepted).c_str(), DTypeText(dtype).c_str());
}

// One tensor operand by its letter in the table.
Status CheckTensorOperand(const OpInfo& info, size_t index, const Tensor& tensor, std::optional<DType>& dtype) {
  constexpr DTypeMask kIndices = MaskOf(DType::kInt32) | MaskOf(DType::kInt64);
  const std::string op(info.shown());
  switch (info.operand(index)) {
    case 'N': return MakeStatus(StatusCode::kTypeMismatch, "%s(): operand %zu must be a number", op.c_str(), index);
    case 'B':
      if (tensor.dtype != DType::kBool) return WrongDType(op, index, tensor.dtype, MaskOf(DType::kBool));
      return base::OkStatus();
    case 'I':
      if ((kIndices & MaskOf(tensor.dtype)) == 0) return WrongDType(op, index, tensor.dtype, kIndices);
      return base::OkStatus();
    default: break;
  }
  if ((info.dtypes & MaskOf(tensor.dtype)) == 0) return UnsupportedDType(op, "dtype", tensor.dtype, info.dtypes);
  if (!dtype) dtype = tensor.dtype;
  if (*dtype == tensor.dtype) return base::OkStatus();
  return MakeStatus(StatusCode::kTypeMismatch,
                    "%s(): operand dtypes must match, got %s and %s (there is no implicit promotion; cast one)",
                    op.c_str(), DTypeText(*dtype).c_str(), DTypeText(tensor.dtype).c_str());
}

// Numbers against the dtype of the operation.
Status CheckNumbers(const Program& program, const OpInfo& info, std::span<const Operand> inputs,
                    std::optional<DType> dtype) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == Operand::Kind::kTensor) continue;
    PYPTO_RETURN_IF_ERROR(CheckNumber(program, inputs[i], info.shown()));
    const char letter = info.operand(i);
    if (letter != 't' && letter != 'N') {
      return MakeStatus(StatusCode::kTypeMismatch, "%s(): operands must be tensors, got a number",
                        std::string(info.shown()).c_str());
    }
    if (letter == 't' && IsFloatNumber(inputs[i]) && dtype && !IsFloat(*dtype)) {
      return FloatOntoInteger(info.shown(), *dtype);
    }
  }
  return base::OkStatus();
}

base::Result<Operands> CheckOperands(const Program& program, const OpInfo& info, std::span<const Operand> inputs,
                                     DType attribute) {
  const std::string op(info.shown());
  if (inputs.size() < info.min_inputs || inputs.size() > info.max_inputs) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s() takes %d operand(s), got %zu", op.c_str(), info.max_inputs,
                      inputs.size());
  }
  Operands operands;
  std::optional<DType> dtype;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.all.emplace_back();
    if (inputs[i].kind != Operand::Kind::kTensor) continue;
    if (inputs[i].tensor >= program.tensors.size()) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s(): the operand is no tensor of this kernel", op.c_str());
    }
    const Tensor& tensor = program.tensors[inputs[i].tensor];
    PYPTO_ASSIGN_OR_RETURN(operands.all.back(), OperandShape(program, tensor, op));
    PYPTO_RETURN_IF_ERROR(CheckTensorOperand(info, i, tensor, dtype));
    operands.shapes.push_back(operands.all.back());
  }
  PYPTO_RETURN_IF_ERROR(CheckNumbers(program, info, inputs, dtype));
  const bool takes_tensors = info.operands.find_first_of("Tt") != std::string_view::npos;
  if (takes_tensors && !dtype && info.family != OpFamily::kSelect) {
    return MakeStatus(StatusCode::kTypeMismatch, "%s(): at least one operand must be a tensor", op.c_str());
  }
  // Between two numbers a choice gives FP32 where one of them is a float, else INT32.
  const bool any_float = std::any_of(inputs.begin(), inputs.end(), IsFloatNumber);
  if (!dtype && takes_tensors) dtype = any_float ? DType::kFp32 : DType::kInt32;
  operands.dtype = dtype.value_or(attribute);
  return operands;
}

// Extents side by side from the last dim on; 1 stretches.
base::Result<Shape> Broadcast(const Shape& a, const Shape& b, size_t skip_last, std::string_view op) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t back = 1 + skip_last; back <= result.size(); ++back) {
    const int64_t x = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "%s(): shapes %s and %s do not broadcast: dim -%zu is %lld and %lld", std::string(op).c_str(),
                        ShapeText(a).c_str(), ShapeText(b).c_str(), back, static_cast<long long>(x),
                        static_cast<long long>(y));
    }
    result[result.size() - back] = x == 1 ? y : x;
  }
  return result;
}

base::Result<Shape> MatmulShape(const Operands& operands, const OpAttributes& attributes) {
  const Shape& a = operands.shapes[0];
  const Shape& b = operands.shapes[1];
  if (a.size() != b.size() || a.size() < 2 || a.size() > 4) {
    return MakeStatus(StatusCode::kInvalidArgument, "matmul(): operands must have equal ranks of 2 to 4, got %s and %s",
                      ShapeText(a).c_str(), ShapeText(b).c_str());
  }
  const size_t last = a.size() - 1;
  const int64_t k_of_a = attributes.a_trans ? a[last - 1] : a[last];
  const int64_t k_of_b = attributes.b_trans ? b[last] : b[last - 1];
  if (k_of_a != k_of_b) {
    return MakeStatus(StatusCode::kInvalidArgument, "matmul(): K differs: %lld in a %s%s, %lld in b %s%s",
                      static_cast<long long>(k_of_a), ShapeText(a).c_str(), attributes.a_trans ? " (a_trans)" : "",
                      static_cast<long long>(k_of_b), ShapeText(b).c_str(), attributes.b_trans ? " (b_trans)" : "");
  }
  PYPTO_ASSIGN_OR_RETURN(Shape result, Broadcast(a, b, 2, "matmul"));
  result[last - 1] = attributes.a_trans ? a[last] : a[last - 1];
  result[last] = attributes.b_trans ? b[last - 1] : b[last];
  return result;
}

Status InferReduction(const Operands& operands, std::string_view op, OpAttributes& attributes, Shape& shape) {
  shape = operands.shapes[0];
  PYPTO_ASSIGN_OR_RETURN(attributes.axis, WrapAxis(attributes.axis, shape.size(), op));
  // A full reduction keeps one dim: there are no tensors of rank 0.
  if (attributes.keepdim || shape.size() == 1) {
    shape[static_cast<size_t>(attributes.axis)] = 1;
  } else {
    shape.erase(shape.begin() + attributes.axis);
  }
  return base::OkStatus();
}

Status InferTranspose(const Operands& operands, OpAttributes& attributes, Shape& shape) {
  shape = operands.shapes[0];
  PYPTO_ASSIGN_OR_RETURN(attributes.dim0, WrapAxis(attributes.dim0, shape.size(), "transpose"));
  PYPTO_ASSIGN_OR_RETURN(attributes.dim1, WrapAxis(attributes.dim1, shape.size(), "transpose"));
  std::swap(shape[static_cast<size_t>(attributes.dim0)], shape[static_cast<size_t>(attributes.dim1)]);
  return base::OkStatus();
}

Status InferPermute(const Operands& operands, OpAttributes& attributes, Shape& shape) {
  const Shape& from = operands.shapes[0];
  std::vector<bool> seen(from.size(), false);
  bool sound = attributes.dims.size() == from.size();
  for (size_t i = 0; sound && i < from.size(); ++i) {
    PYPTO_ASSIGN_OR_RETURN(const int32_t dim,
                           WrapAxis(static_cast<int32_t>(attributes.dims[i]), from.size(), "permute"));
    attributes.dims[i] = dim;
    sound = !seen[static_cast<size_t>(dim)];
    seen[static_cast<size_t>(dim)] = true;
    shape[i] = from[static_cast<size_t>(dim)];
  }
  if (sound) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "permute(): dims %s name each of the %zu dims once",
                    ShapeText(attributes.dims).c_str(), from.size());
}

Status InferExpand(const Operands& operands, const OpAttributes& attributes, Shape& shape) {
  const Shape& from = operands.shapes[0];
  bool fits = attributes.dims.size() == from.size();
  for (size_t i = 0; fits && i < from.size(); ++i) fits = from[i] == 1 || from[i] == attributes.dims[i];
  if (!fits) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "expand_clone(): %s does not expand to %s: ranks are equal and dims of extent 1 are repeated",
                      ShapeText(from).c_str(), ShapeText(attributes.dims).c_str());
  }
  shape = attributes.dims;
  return base::OkStatus();
}

base::Result<DType> ResultDTypeOf(const OpInfo& info, DType input, const OpAttributes& attributes) {
  if (info.result != ResultDType::kAttribute) return ResultOf(info, input, attributes.dtype);
  const bool matmul = info.family == OpFamily::kMatmul;
  const DTypeMask accepted = matmul ? MatmulResults(input) : info.dtypes;
  if ((accepted & MaskOf(attributes.dtype)) != 0) return attributes.dtype;
  if (!matmul) return UnsupportedDType(info.name, "target dtype", attributes.dtype, accepted);
  return MakeStatus(StatusCode::kTypeMismatch, "matmul(): out_dtype %s is not possible for inputs of %s; accepted: %s",
                    DTypeText(attributes.dtype).c_str(), DTypeText(input).c_str(), DTypesText(accepted).c_str());
}

}  // namespace

base::Result<int32_t> WrapAxis(int32_t axis, size_t rank, std::string_view op) {
  const auto limit = static_cast<int32_t>(rank);
  if (axis < -limit || axis >= limit) {
    return MakeStatus(StatusCode::kOutOfRange, "%s(): dim %d is out of range for a tensor of rank %d (%d to %d)",
                      std::string(op).c_str(), axis, limit, -limit, limit - 1);
  }
  return axis < 0 ? axis + limit : axis;
}

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::string ShapeText(const Program& program, const Tensor& tensor) {
  std::string text = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto value = program.exprs.ConstantValue(tensor.shape[i]);
    text += (i == 0 ? "" : ", ") + (value ? std::to_string(*value) : std::string("?"));
  }
  return text + "]";
}

std::string DTypeText(DType dtype) { return "DT_" + std::string(InfoOf(dtype).name); }

std::string DTypesText(DTypeMask mask) {
  std::string text;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if ((mask & MaskOf(dtype)) != 0) text += (text.empty() ? "" : ", ") + DTypeText(dtype);
  }
  return text;
}

std::optional<Shape> StaticShape(const Program& program, const Tensor& tensor) {
  Shape shape;
  shape.reserve(tensor.shape.size());
  for (const ExprId dim : tensor.shape) {
    const auto value = program.exprs.ConstantValue(dim);
    if (!value) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

base::Result<Shape> OperandShape(const Program& program, const Tensor& tensor, std::string_view op) {
  auto shape = StaticShape(program, tensor);
  if (!shape) {
    return MakeStatus(
        StatusCode::kTypeMismatch,
        "%s(): Dynamic shape tensors are not allowed as operation operands: %s has shape %s; take a slice "
        "or view of static extent",
        std::string(op).c_str(), tensor.name.empty() ? "the operand" : tensor.name.c_str(),
        ShapeText(program, tensor).c_str());
  }
  if (shape->empty() || shape->size() > kMaxOperandRank) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s(): operands have rank 1 to %d, got %s", std::string(op).c_str(),
                      kMaxOperandRank, ShapeText(*shape).c_str());
  }
  return *std::move(shape);
}

Status CheckShape(std::span<const int64_t> shape, DType dtype, int limit, std::string_view op) {
  if (shape.empty() || shape.size() > static_cast<size_t>(limit)) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s(): shape %s has rank %zu, must be 1 to %d",
                      std::string(op).c_str(), ShapeText(shape).c_str(), shape.size(), limit);
  }
  std::optional<int64_t> bytes = BytesOf(dtype);
  for (const int64_t extent : shape) {
    if (extent < 1) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s(): shape %s: every extent must be at least 1",
                        std::string(op).c_str(), ShapeText(shape).c_str());
    }
    if (bytes) bytes = base::CheckedMul(*bytes, extent);
  }
  if (bytes) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s(): shape %s exceeds 63 bits of bytes", std::string(op).c_str(),
                    ShapeText(shape).c_str());
}

Status CheckFill(const Program& program, const Operand& value, DType dtype) {
  const OpInfo& info = *FindOperation(OpCode::kFill);
  if (value.kind == Operand::Kind::kTensor) {
    return Status(StatusCode::kTypeMismatch, "full(): the value must be a number, got a tensor");
  }
  PYPTO_RETURN_IF_ERROR(CheckNumber(program, value, info.name));
  if ((info.dtypes & MaskOf(dtype)) == 0) return UnsupportedDType(info.name, "dtype", dtype, info.dtypes);
  if (IsFloatNumber(value) && !IsFloat(dtype)) return FloatOntoInteger(info.name, dtype);
  return base::OkStatus();
}

base::Result<InferredResult> InferOp(const Program& program, OpCode code, std::span<const Operand> inputs,
                                     OpAttributes& attributes) {
  const OpInfo* info = FindOperation(code);
  if (info == nullptr || info->family == OpFamily::kFill) {
    return MakeStatus(StatusCode::kInvalidArgument, "operation %u is not one on tensors", static_cast<unsigned>(code));
  }
  PYPTO_ASSIGN_OR_RETURN(const Operands operands, CheckOperands(program, *info, inputs, attributes.dtype));
  InferredResult result;
  PYPTO_ASSIGN_OR_RETURN(result.dtype, ResultDTypeOf(*info, operands.dtype, attributes));
  if (!operands.shapes.empty()) result.shape = operands.shapes[0];
  switch (info->family) {
    case OpFamily::kBinary:
    case OpFamily::kSelect:
      for (size_t i = 1; i < operands.shapes.size(); ++i) {
        PYPTO_ASSIGN_OR_RETURN(result.shape, Broadcast(result.shape, operands.shapes[i], 0, info->name));
      }
      break;
    case OpFamily::kExpand: PYPTO_RETURN_IF_ERROR(InferExpand(operands, attributes, result.shape)); break;
    case OpFamily::kWhole: {
      PYPTO_ASSIGN_OR_RETURN(result.shape, InferWhole(*info, inputs, operands.all, attributes));
      break;
    }
    case OpFamily::kReduction:
      PYPTO_RETURN_IF_ERROR(InferReduction(operands, info->name, attributes, result.shape));
      break;
    case OpFamily::kMatmul: {
      PYPTO_ASSIGN_OR_RETURN(result.shape, MatmulShape(operands, attributes));
      break;
    }
    case OpFamily::kTranspose:
      PYPTO_RETURN_IF_ERROR(code == OpCode::kPermute ? InferPermute(operands, attributes, result.shape)
                                                     : InferTranspose(operands, attributes, result.shape));
      break;
    case OpFamily::kCast:
      if (attributes.cast_mode > kMaxCastMode) {
        return MakeStatus(StatusCode::kInvalidArgument, "cast(): unknown mode %d", attributes.cast_mode);
      }
      break;
    default: break;
  }
  PYPTO_RETURN_IF_ERROR(CheckShape(result.shape, result.dtype, kMaxOperandRank, info->name));
  return result;
}

}  // namespace pypto::program
