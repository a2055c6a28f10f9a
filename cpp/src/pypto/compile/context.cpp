// The working state: tensors, their layout, source places.
#include "pypto/compile/context.h"

#include <utility>

#include "pypto/base/checked.h"

namespace pypto::compile {

Context::Context(const program::Program& traced)
    : program(traced),
      tensors(traced.tensors.begin(), traced.tensors.end()),
      views(traced.tensors.size()),
      variables(traced.tensors.size()) {
  plan.name = traced.name;
  plan.symbols = traced.symbols;
  plan.scalars = traced.scalars;
  plan.slots = traced.slots;
  plan.loop_count = traced.loop_count;
  plan.exprs = traced.exprs;
  debug.files = traced.files;
  debug.places.emplace_back();
  loops.emplace_back();
  scopes.emplace_back();
}

const View& Context::ViewOf(TensorId id) {
  View& view = views[id];
  if (view.variable == kNoTensor) {
    const std::vector<ExprId>& shape = tensors[id].shape;
    const bool alias = tensors[id].origin == program::TensorOrigin::kAlias;
    view.variable = alias ? tensors[id].base : id;
    view.offset = exprs().Const(0);
    view.strides = RowMajorStrides(exprs(), shape);
    if (!alias) view.starts.assign(shape.size(), view.offset);
    view.whole = true;
  }
  return view;
}

TensorId Context::AddTensor(program::Tensor tensor) {
  tensors.push_back(std::move(tensor));
  views.emplace_back();
  variables.emplace_back();
  return static_cast<TensorId>(tensors.size() - 1);
}

uint32_t Context::PlaceIndex(const program::SourcePlace& place) {
  if (place.line == 0) return 0;
  const auto key = std::make_tuple(place.file, place.line, place.column);
  const auto [found, added] = place_index.try_emplace(key, static_cast<uint32_t>(debug.places.size()));
  if (added) debug.places.push_back(place);
  return found->second;
}

base::Status Context::At(const program::SourcePlace& place, base::Status status) const {
  if (status.ok() || place.line == 0 || status.source_line() != 0) return status;
  const std::string file = place.file < debug.files.size() ? debug.files[place.file].name : std::string();
  return std::move(status).WithSourceLine(file, place.line);
}

// Constants are added up beside the pool, so that it does not fill with partial sums.
ExprId SumOfBytes(program::Plan& plan, const std::vector<uint32_t>& storages) {
  program::ExprPool& exprs = plan.exprs;
  ExprId sum = exprs.Const(0);
  int64_t known = 0;
  for (const uint32_t storage : storages) {
    const ExprId bytes = plan.storages[storage].bytes;
    const auto constant = exprs.ConstantValue(bytes);
    const auto total = constant ? base::CheckedAdd(known, *constant) : constant;
    known = total.value_or(known);
    if (!total) sum = exprs.Add(sum, bytes);
  }
  return exprs.Add(sum, exprs.Const(known));
}

std::vector<ExprId> RowMajorStrides(program::ExprPool& exprs, const std::vector<ExprId>& shape) {
  std::vector<ExprId> strides(shape.size());
  ExprId stride = exprs.Const(1);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = exprs.Mul(stride, shape[i]);
  }
  return strides;
}

std::vector<int64_t> StaticExtents(const program::ExprPool& exprs, const std::vector<ExprId>& shape) {
  std::vector<int64_t> extents;
  extents.reserve(shape.size());
  for (const ExprId dim : shape) extents.push_back(exprs.ConstantValue(dim).value_or(0));
  return extents;
}

}  // namespace pypto::compile
