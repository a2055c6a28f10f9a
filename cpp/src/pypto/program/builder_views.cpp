// Views of tensors, and writes into declared tensors and parameters.
#include <algorithm>

#include "pypto/program/builder.h"
#include "pypto/program/infer.h"
#include "pypto/program/reshape_valid.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;

std::vector<ExprId> Constants(ExprPool& exprs, const std::vector<int64_t>& values) {
  std::vector<ExprId> ids;
  for (const int64_t value : values) ids.push_back(exprs.Const(value));
  return ids;
}

}  // namespace

Status Builder::CheckTensor(TensorId id, const char* op) const {
  if (id < program_.tensors.size()) return base::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s(): tensor %u does not belong to this kernel", op, id);
}

Status Builder::CheckExprs(const std::vector<ExprId>& ids, const char* op) const {
  for (const ExprId id : ids) {
    if (id < program_.exprs.size()) continue;
    return MakeStatus(StatusCode::kInvalidArgument, "%s(): expression %u does not belong to this kernel", op, id);
  }
  return base::OkStatus();
}

Status Builder::CheckOffsets(const std::vector<ExprId>& offsets, size_t rank, const char* op) const {
  PYPTO_RETURN_IF_ERROR(CheckExprs(offsets, op));
  if (offsets.size() != rank) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s(): rank mismatch: %zu offsets for a tensor of rank %zu", op,
                      offsets.size(), rank);
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto [low, high] = program_.exprs.Range(offsets[i]);
    if (high >= 0 || dead_ != 0) continue;  // nothing is ever read there
    return MakeStatus(StatusCode::kOutOfRange, "%s(): offset %s in dim %zu is negative", op,
                      program_.exprs.ToText(offsets[i], nullptr).c_str(), i);
  }
  return base::OkStatus();
}

// Valid extents given by the user, brought into [0, shape]; empty when none are given.
base::Result<std::vector<ExprId>> Builder::GivenValid(const std::vector<ExprId>& valid,
                                                      const std::vector<int64_t>& shape, const char* op) {
  if (valid.empty()) return valid;
  PYPTO_RETURN_IF_ERROR(CheckExprs(valid, op));
  if (valid.size() != shape.size()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s(): rank mismatch: valid_shape has rank %zu, shape %s has rank %zu", op, valid.size(),
                      ShapeText(shape).c_str(), shape.size());
  }
  std::vector<ExprId> clamped;
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto [low, high] = exprs().Range(valid[i]);
    if ((high < 0 || low > shape[i]) && dead_ == 0) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s(): valid_shape %s in dim %zu is not within 0 to %lld", op,
                        exprs().ToText(valid[i], nullptr).c_str(), i, static_cast<long long>(shape[i]));
    }
    clamped.push_back(exprs().Clamp(valid[i], exprs().Const(shape[i])));
  }
  return clamped;
}

base::Result<TensorId> Builder::Slice(TensorId base, const std::vector<int64_t>& shape,
                                      const std::vector<ExprId>& offsets, const std::vector<ExprId>& valid) {
  PYPTO_RETURN_IF_ERROR(CheckTensor(base, "view"));
  Tensor view;
  view.name = program_.tensors[base].name;
  view.dtype = program_.tensors[base].dtype;
  view.origin = TensorOrigin::kView;
  const std::vector<ExprId> base_valid = program_.tensors[base].valid;
  if (shape.size() != base_valid.size()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "view(): rank mismatch: shape %s has rank %zu, the tensor has rank %zu", ShapeText(shape).c_str(),
                      shape.size(), base_valid.size());
  }
  PYPTO_RETURN_IF_ERROR(CheckShape(shape, view.dtype, kMaxTensorRank, "view"));
  PYPTO_RETURN_IF_ERROR(CheckOffsets(offsets, shape.size(), "view"));
  PYPTO_ASSIGN_OR_RETURN(const std::vector<ExprId> given, GivenValid(valid, shape, "view"));
  for (size_t i = 0; i < shape.size(); ++i) {
    const ExprId extent = exprs().Const(shape[i]);
    // What is given never reaches past what the base holds.
    const ExprId held = exprs().Clamp(exprs().Sub(base_valid[i], offsets[i]), extent);
    view.shape.push_back(extent);
    view.valid.push_back(given.empty() ? held : exprs().Min(given[i], held));
  }
  PYPTO_ASSIGN_OR_RETURN(const TensorId id, NewTensor(std::move(view)));
  current().statements.emplace_back(ViewStatement{ViewKind::kSlice, id, base, offsets, place_});
  return id;
}

base::Result<TensorId> Builder::Reshape(TensorId base, const std::vector<int64_t>& shape,
                                        const std::vector<ExprId>& valid) {
  PYPTO_RETURN_IF_ERROR(CheckTensor(base, "reshape"));
  Tensor view;
  view.name = program_.tensors[base].name;
  view.dtype = program_.tensors[base].dtype;
  view.origin = TensorOrigin::kView;
  const std::vector<ExprId> base_valid = program_.tensors[base].valid;
  const auto from = StaticShape(program_, program_.tensors[base]);
  if (!from) {
    return MakeStatus(StatusCode::kTypeMismatch,
                      "reshape(): Dynamic shape tensors are not allowed as operation operands: %s has shape %s; "
                      "reshape() requires integer shape when using non-inplace reshape",
                      view.name.c_str(), ShapeText(program_, program_.tensors[base]).c_str());
  }
  PYPTO_ASSIGN_OR_RETURN(const std::vector<int64_t> to, ResolveReshape(*from, shape));
  PYPTO_RETURN_IF_ERROR(CheckShape(to, view.dtype, kMaxTensorRank, "reshape"));
  PYPTO_ASSIGN_OR_RETURN(view.valid, GivenValid(valid, to, "reshape"));
  if (valid.empty()) {
    // Cells that are not known to form a box: all of the result is valid, and the holes are 0.
    auto follows = ReshapeValid(exprs(), *from, base_valid, to);
    view.valid = follows ? *std::move(follows) : Constants(exprs(), to);
  }
  for (const int64_t extent : to) view.shape.push_back(exprs().Const(extent));
  PYPTO_ASSIGN_OR_RETURN(const TensorId id, NewTensor(std::move(view)));
  current().statements.emplace_back(ViewStatement{ViewKind::kReshape, id, base, {}, place_});
  return id;
}

base::Result<TensorId> Builder::Alias(TensorId base, std::vector<ExprId> shape) {
  PYPTO_RETURN_IF_ERROR(CheckTensor(base, "reshape"));
  const TensorId root = RootOf(base);
  const Tensor from = program_.tensors[root];
  if (from.origin != TensorOrigin::kParameter && from.origin != TensorOrigin::kDeclared) {
    return Status(StatusCode::kInvalidArgument,
                  "Reshape(Inplace=true) is not supported for tensors derived from dynamic view");
  }
  ExprId count = exprs().Const(1);
  for (const ExprId dim : from.shape) count = exprs().Mul(count, dim);
  ExprId known = exprs().Const(1);
  ExprId* open = nullptr;
  for (ExprId& dim : shape) {
    if (dim == kNoExpr && open == nullptr) {
      open = &dim;
      continue;
    }
    PYPTO_RETURN_IF_ERROR(CheckExprs({dim}, "reshape"));
    known = exprs().Mul(known, dim);
  }
  if (open != nullptr) {
    PYPTO_ASSIGN_OR_RETURN(*open, exprs().Make(ExprOp::kDiv, count, known));
    known = exprs().Mul(known, *open);
  }
  Tensor alias;
  alias.name = from.name;
  alias.dtype = from.dtype;
  alias.origin = TensorOrigin::kAlias;
  alias.base = root;
  alias.shape = alias.valid = shape;
  if (shape.empty() || shape.size() > static_cast<size_t>(kMaxTensorRank) || known != count) {
    return MakeStatus(StatusCode::kInvalidArgument, "reshape(): %s into %s: the element counts are not known to agree",
                      ShapeText(program_, from).c_str(), ShapeText(program_, alias).c_str());
  }
  return NewTensor(std::move(alias));
}

// The destination of a write can hold one: it is declared or a parameter, of the dtype of the source.
Status Builder::CheckTarget(TensorId destination, TensorId source, const char* op) const {
  PYPTO_RETURN_IF_ERROR(CheckTensor(destination, op));
  PYPTO_RETURN_IF_ERROR(CheckTensor(source, op));
  const Tensor& to = program_.tensors[destination];
  const Tensor& from = program_.tensors[source];
  const TensorOrigin origin = program_.tensors[RootOf(destination)].origin;
  if (origin != TensorOrigin::kParameter && origin != TensorOrigin::kDeclared) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s(): only parameters and declared tensors can be written", op);
  }
  if (to.dtype == from.dtype) return base::OkStatus();
  return MakeStatus(StatusCode::kTypeMismatch,
                    "%s(): dtypes must match, the destination is %s, the source %s (cast it)", op,
                    DTypeText(to.dtype).c_str(), DTypeText(from.dtype).c_str());
}

Status Builder::Move(TensorId destination, TensorId source) {
  PYPTO_RETURN_IF_ERROR(CheckTarget(destination, source, "move"));
  const Tensor& to = program_.tensors[destination];
  const Tensor& from = program_.tensors[source];
  if (to.shape != from.shape) {
    return MakeStatus(StatusCode::kInvalidArgument, "move(): shapes must match, the destination is %s, the source %s",
                      ShapeText(program_, to).c_str(), ShapeText(program_, from).c_str());
  }
  if (destination == source) return base::OkStatus();
  PYPTO_ASSIGN_OR_RETURN(const auto shape, OperandShape(program_, from, "move"));
  ForgetReads(destination);
  current().statements.emplace_back(MoveStatement{destination, source, tiles_, place_});
  return base::OkStatus();
}

Status Builder::Assemble(TensorId destination, TensorId source, const std::vector<ExprId>& offsets) {
  PYPTO_RETURN_IF_ERROR(CheckTarget(destination, source, "assemble"));
  const Tensor& to = program_.tensors[destination];
  const Tensor& from = program_.tensors[source];
  if (to.shape.size() != from.shape.size()) {
    return MakeStatus(StatusCode::kInvalidArgument, "assemble(): rank mismatch: the destination is %s, the source %s",
                      ShapeText(program_, to).c_str(), ShapeText(program_, from).c_str());
  }
  if (!StaticShape(program_, from)) {
    return MakeStatus(StatusCode::kTypeMismatch, "Assemble: shape of src tensor requires integer, got %s",
                      ShapeText(program_, from).c_str());
  }
  PYPTO_RETURN_IF_ERROR(CheckOffsets(offsets, to.shape.size(), "assemble"));
  ForgetReads(destination);
  current().statements.emplace_back(AssembleStatement{destination, source, offsets, tiles_, place_});
  return base::OkStatus();
}

}  // namespace pypto::program
