// Parameters, operations and control flow of a program under construction.
#include "pypto/program/builder.h"

#include <algorithm>

#include "pypto/program/infer.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

std::vector<ExprId> Constants(ExprPool& exprs, const std::vector<int64_t>& values) {
  std::vector<ExprId> ids;
  ids.reserve(values.size());
  for (const int64_t value : values) ids.push_back(exprs.Const(value));
  return ids;
}

}  // namespace

Builder::Builder(std::string name) {
  program_.name = std::move(name);
  open_.push_back(&program_.body);
}

uint32_t Builder::AddFile(SourceFile file) {
  program_.files.push_back(std::move(file));
  return static_cast<uint32_t>(program_.files.size() - 1);
}

base::Result<TensorId> Builder::NewTensor(Tensor tensor) {
  if (program_.tensors.size() >= kNoTensor) return Status(StatusCode::kInvalidArgument, "too many tensors");
  tensor.place = place_;
  program_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

base::Result<ExprId> Builder::DimOf(const std::optional<int64_t>& dim, const std::string& symbol_name, uint32_t axis) {
  Parameter& parameter = program_.parameters.back();
  if (dim) {
    if (*dim < 1) {
      return MakeStatus(StatusCode::kInvalidArgument, "parameter '%s': dim %u is %lld; static dims are at least 1",
                        parameter.name.c_str(), axis, static_cast<long long>(*dim));
    }
    parameter.dims.push_back({*dim, -1});
    return exprs().Const(*dim);
  }
  std::vector<Symbol>& symbols = program_.symbols;
  auto it = std::find_if(symbols.begin(), symbols.end(),
                         [&](const Symbol& symbol) { return !symbol_name.empty() && symbol.name == symbol_name; });
  if (it == symbols.end()) {
    std::string name = symbol_name.empty() ? parameter.name + "_" + std::to_string(axis) : symbol_name;
    symbols.push_back({std::move(name), static_cast<uint32_t>(program_.parameters.size() - 1), axis});
    it = symbols.end() - 1;
  }
  const auto index = static_cast<int32_t>(it - symbols.begin());
  parameter.dims.push_back({0, index});
  return exprs().Symbol(static_cast<uint32_t>(index));
}

base::Result<TensorId> Builder::AddTensorParameter(const std::string& name, DType dtype,
                                                   const std::vector<std::optional<int64_t>>& dims,
                                                   const std::vector<std::string>& symbol_names) {
  if (!program_.body.statements.empty() || open_.size() > 1) {
    return Status(StatusCode::kFailedPrecondition, "parameters come before the first statement");
  }
  if (dims.empty() || dims.size() > kMaxTensorRank || (!symbol_names.empty() && symbol_names.size() != dims.size())) {
    return MakeStatus(StatusCode::kInvalidArgument, "parameter '%s' has rank %zu (%zu symbol names); must be 1 to %d",
                      name.c_str(), dims.size(), symbol_names.size(), kMaxTensorRank);
  }
  Parameter parameter;
  parameter.name = name;
  parameter.dtype = dtype;
  parameter.tensor = static_cast<TensorId>(program_.tensors.size());
  program_.parameters.push_back(std::move(parameter));
  const size_t symbols_before = program_.symbols.size();
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.origin = TensorOrigin::kParameter;
  tensor.parameter = static_cast<int32_t>(program_.parameters.size() - 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    auto dim = DimOf(dims[i], symbol_names.empty() ? std::string() : symbol_names[i], static_cast<uint32_t>(i));
    if (!dim.ok()) {
      program_.parameters.pop_back();
      program_.symbols.resize(symbols_before);
      return std::move(dim).status();
    }
    tensor.shape.push_back(*dim);
  }
  tensor.valid = tensor.shape;
  return NewTensor(std::move(tensor));
}

base::Result<Operand> Builder::AddScalarParameter(const std::string& name, ScalarKind kind) {
  if (!program_.body.statements.empty() || open_.size() > 1) {
    return Status(StatusCode::kFailedPrecondition, "parameters come before the first statement");
  }
  const auto index = static_cast<uint32_t>(program_.scalars.size());
  program_.scalars.push_back({name, kind});
  Parameter parameter;
  parameter.name = name;
  parameter.is_tensor = false;
  parameter.scalar = index;
  program_.parameters.push_back(std::move(parameter));
  Operand operand;
  operand.kind = kind == ScalarKind::kInt ? Operand::Kind::kExpr : Operand::Kind::kScalar;
  if (kind == ScalarKind::kInt) operand.expr = exprs().Scalar(index);
  if (kind == ScalarKind::kFloat) operand.scalar = index;
  return operand;
}

base::Result<TensorId> Builder::Declare(const std::string& name, DType dtype, const std::vector<ExprId>& shape) {
  PYPTO_RETURN_IF_ERROR(CheckExprs(shape, "tensor"));
  std::vector<int64_t> known;
  for (const ExprId dim : shape) known.push_back(exprs().ConstantValue(dim).value_or(1));
  PYPTO_RETURN_IF_ERROR(CheckShape(known, dtype, kMaxTensorRank, "tensor"));
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.origin = TensorOrigin::kDeclared;
  tensor.shape = shape;
  tensor.valid = shape;
  PYPTO_ASSIGN_OR_RETURN(const TensorId id, NewTensor(std::move(tensor)));
  ForgetReads(id);
  current().statements.emplace_back(DeclareStatement{id, place_});
  return id;
}

base::Result<TensorId> Builder::Op(OpCode code, std::vector<Operand> inputs, OpAttributes attributes) {
  PYPTO_ASSIGN_OR_RETURN(const InferredResult result, InferOp(program_, code, inputs, attributes));
  Tensor tensor;
  tensor.dtype = result.dtype;
  tensor.shape = Constants(exprs(), result.shape);
  tensor.valid = InferValid(program_, code, inputs, attributes, result);
  PYPTO_ASSIGN_OR_RETURN(const TensorId id, NewTensor(std::move(tensor)));
  attributes.dtype = result.dtype;
  current().statements.emplace_back(OpStatement{code, std::move(inputs), id, attributes, {}, tiles_, place_});
  return id;
}

base::Result<TensorId> Builder::Fill(Operand value, DType dtype, const std::vector<int64_t>& shape,
                                     const std::vector<ExprId>& valid) {
  PYPTO_RETURN_IF_ERROR(CheckFill(program_, value, dtype));
  PYPTO_RETURN_IF_ERROR(CheckShape(shape, dtype, kMaxOperandRank, "full"));
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = Constants(exprs(), shape);
  PYPTO_ASSIGN_OR_RETURN(tensor.valid, GivenValid(valid, shape, "full"));
  if (valid.empty()) tensor.valid = tensor.shape;
  OpAttributes attributes;
  attributes.dtype = dtype;
  std::vector<ExprId> fill_shape = tensor.shape;
  PYPTO_ASSIGN_OR_RETURN(const TensorId id, NewTensor(std::move(tensor)));
  current().statements.emplace_back(
      OpStatement{OpCode::kFill, {value}, id, attributes, std::move(fill_shape), tiles_, place_});
  return id;
}

base::Result<ExprId> Builder::ReadCell(TensorId tensor, const std::vector<ExprId>& indices) {
  PYPTO_RETURN_IF_ERROR(CheckTensor(tensor, "read"));
  PYPTO_RETURN_IF_ERROR(CheckExprs(indices, "read"));
  const Tensor& read = program_.tensors[tensor];
  if (!IsInteger(read.dtype)) {
    return MakeStatus(StatusCode::kTypeMismatch,
                      "a scalar read needs an integer tensor, got %s; read a [1] slice instead: x[i : i + 1]",
                      DTypeText(read.dtype).c_str());
  }
  if (indices.size() != read.shape.size()) {
    return MakeStatus(StatusCode::kOutOfRange, "rank not match, expect %zu, but got %zu", read.shape.size(),
                      indices.size());
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto index = exprs().Range(indices[i]);
    const auto extent = exprs().Range(read.shape[i]);
    if (index.second >= 0 && index.first < extent.second) continue;
    return MakeStatus(StatusCode::kOutOfRange, "index %s is out of range for dim %zu of %s",
                      exprs().ToText(indices[i], nullptr).c_str(), i, ShapeText(program_, read).c_str());
  }
  for (const KnownCell& known : known_cells_) {
    if (known.tensor == tensor && known.indices == indices) return known.value;
  }
  const uint32_t slot = AddSlot(read.name, ScalarKind::kInt);
  const auto [low, high] = IntegerRange(read.dtype);
  exprs().SetSlotBounds(slot, low, high);
  current().statements.emplace_back(ReadStatement{slot, tensor, indices, place_});
  known_cells_.push_back({tensor, indices, exprs().Slot(slot), open_.size()});
  return known_cells_.back().value;
}

void Builder::ForgetReads(TensorId written) {
  std::erase_if(known_cells_, [&](const KnownCell& known) {
    const TensorId root = RootOf(known.tensor);
    const TensorOrigin origin = program_.tensors[root].origin;
    const bool changes = origin == TensorOrigin::kParameter || origin == TensorOrigin::kDeclared;
    return written == kNoTensor ? changes : root == RootOf(written);
  });
}

void Builder::CloseBlock() {
  open_.pop_back();
  std::erase_if(known_cells_, [this](const KnownCell& known) { return known.depth > open_.size(); });
}

uint32_t Builder::AddSlot(const std::string& name, ScalarKind kind) {
  program_.slots.push_back({name, kind});
  return static_cast<uint32_t>(program_.slots.size() - 1);
}

Status Builder::SetSlots(std::vector<SlotValue> values) {
  for (const SlotValue& value : values) {
    PYPTO_RETURN_IF_ERROR(CheckExprs({value.value}, "set"));
    if (value.slot < program_.slots.size()) continue;
    return MakeStatus(StatusCode::kInvalidArgument, "set(): slot %u does not belong to this kernel", value.slot);
  }
  known_cells_.clear();
  if (!values.empty()) current().statements.emplace_back(SetStatement{std::move(values), place_});
  return base::OkStatus();
}

Status Builder::Check(ExprId condition, std::string text) {
  PYPTO_RETURN_IF_ERROR(CheckExprs({condition}, "check"));
  current().statements.emplace_back(CheckStatement{condition, std::move(text), place_});
  return base::OkStatus();
}

// Tells the pool what the index can be, so that valid extents fold: [start, last] for a step that counts up,
// [last, start] for one that counts down. Without a known sign nothing is known.
void Builder::BoundLoop(uint32_t loop, ExprId start, ExprId stop, ExprId step) {
  ExprPool& pool = exprs();
  const auto [low, high] = pool.Range(step);
  if (low <= 0 && high >= 0) return;
  const bool up = low > 0;
  ExprId last = pool.Add(stop, pool.Const(up ? -1 : 1));
  const auto size = pool.ConstantValue(step);
  if (size && *size != INT64_MIN) {
    // The last index is exact where the span is a number, or known to be a whole number of steps.
    const int64_t stride = up ? *size : -*size;
    const ExprId span = up ? pool.Sub(stop, start) : pool.Sub(start, stop);
    const ExprId steps = pool.CeilDiv(span, stride);
    const bool exact = pool.ConstantValue(span).value_or(0) > 0 || pool.Mul(steps, pool.Const(stride)) == span;
    if (exact) last = pool.Add(start, pool.Mul(pool.Sub(steps, pool.Const(1)), step));
  }
  pool.SetLoopBounds(loop, up ? start : last, up ? last : start);
}

base::Result<ExprId> Builder::BeginLoop(const std::string& name, ExprId start, ExprId stop, ExprId step, bool parallel,
                                        bool submit_before) {
  PYPTO_RETURN_IF_ERROR(CheckExprs({start, stop, step}, "loop"));
  if (exprs().IsConstant(step, 0)) return Status(StatusCode::kInvalidArgument, "loop(): the step must not be zero");
  ForgetReads(kNoTensor);
  const uint32_t loop = program_.loop_count++;
  BoundLoop(loop, start, stop, step);
  LoopStatement statement;
  statement.loop = loop;
  statement.name = name;
  statement.start = start;
  statement.stop = stop;
  statement.step = step;
  statement.parallel = parallel;
  statement.submit_before = submit_before;
  statement.body = std::make_unique<Block>();
  statement.place = place_;
  Block* body = statement.body.get();
  current().statements.emplace_back(std::move(statement));
  open_.push_back(body);
  const bool runs = !NeverRuns(exprs(), start, stop, step);
  kinds_.push_back(runs ? 'L' : 'N');
  dead_ += runs ? 0 : 1;
  return exprs().LoopIndex(loop);
}

Status Builder::EndLoop() {
  if (kinds_.empty() || (kinds_.back() != 'L' && kinds_.back() != 'N')) {
    return Status(StatusCode::kFailedPrecondition, "EndLoop without a loop that is innermost");
  }
  dead_ -= kinds_.back() == 'N' ? 1 : 0;
  kinds_.pop_back();
  CloseBlock();
  return base::OkStatus();
}

Status Builder::BeginIf(ExprId condition) {
  PYPTO_RETURN_IF_ERROR(CheckExprs({condition}, "if"));
  IfStatement statement;
  statement.condition = condition;
  statement.then_block = std::make_unique<Block>();
  statement.else_block = std::make_unique<Block>();
  statement.place = place_;
  Block* body = statement.then_block.get();
  current().statements.emplace_back(std::move(statement));
  open_.push_back(body);
  kinds_.push_back('T');
  return base::OkStatus();
}

Status Builder::BeginElse() {
  if (kinds_.empty() || kinds_.back() != 'T') {
    return Status(StatusCode::kFailedPrecondition, "BeginElse without a branch that is innermost");
  }
  CloseBlock();
  open_.push_back(std::get<IfStatement>(current().statements.back()).else_block.get());
  kinds_.back() = 'E';
  return base::OkStatus();
}

Status Builder::EndIf() {
  if (kinds_.empty() || kinds_.back() == 'L' || kinds_.back() == 'N') {
    return Status(StatusCode::kFailedPrecondition, "EndIf without a branch that is innermost");
  }
  kinds_.pop_back();
  CloseBlock();
  return base::OkStatus();
}

base::Result<Program> Builder::Finish() {
  if (!kinds_.empty()) {
    return MakeStatus(StatusCode::kFailedPrecondition, "kernel '%s' ends with %zu loop(s) or branch(es) open",
                      program_.name.c_str(), kinds_.size());
  }
  PYPTO_RETURN_IF_ERROR(Verify(program_));
  Program finished = std::move(program_);
  program_ = Program();
  open_ = {&program_.body};
  return finished;
}

}  // namespace pypto::program
