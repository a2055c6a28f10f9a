// How nodes address memory: regions of variables in the dims of an iteration space.
#include "pypto/compile/regions.h"

#include <utility>

namespace pypto::compile {

std::optional<DimMap> MapDims(const Context& context, TensorId tensor, const std::vector<int64_t>& extents,
                              const std::vector<ExprId>& valid) {
  const program::ExprPool& exprs = context.plan.exprs;
  const program::Tensor& described = context.tensors[tensor];
  const size_t rank = described.shape.size();
  DimMap dims(rank, -1);
  size_t at = 0;
  const auto skip_ones = [&] {
    while (at < extents.size() && extents[at] == 1) {
      if (!exprs.IsConstant(valid[at], 1)) return false;
      ++at;
    }
    return true;
  };
  const bool same_rank = rank == extents.size();
  if (same_rank && StaticExtents(exprs, described.shape) == extents && described.valid == valid) {
    for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int>(i);
    return dims;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (exprs.IsConstant(described.shape[i], 1)) continue;
    if (!skip_ones() || at == extents.size()) return std::nullopt;
    if (!exprs.IsConstant(described.shape[i], extents[at])) return std::nullopt;
    if (described.valid[i] != valid[at]) return std::nullopt;
    dims[i] = static_cast<int>(at++);
  }
  if (!skip_ones() || at != extents.size()) return std::nullopt;
  return dims;
}

Region TargetRegion(Context& context, const Step& step, TensorId source, const std::vector<int64_t>& extents,
                    const DimMap& dims) {
  program::ExprPool& exprs = context.exprs();
  const program::Tensor& from = context.tensors[source];
  const program::Tensor& to = context.tensors[step.output];
  const View& view = context.ViewOf(step.output);
  Region region;
  region.variable = view.variable;
  region.offset = view.offset;
  region.extents = extents;
  region.strides.assign(extents.size(), exprs.Const(0));
  region.valid.assign(extents.size(), exprs.Const(1));
  region.starts = view.starts;
  region.box = StaticExtents(exprs, from.shape);
  const ExprId one = exprs.Const(1);
  ExprId present = one;  // 0 where a dim of extent 1 lies past the end
  for (size_t i = 0; i < from.shape.size(); ++i) {
    ExprId valid = from.valid[i];
    if (step.region) {
      const ExprId offset = step.offsets[i];
      valid = exprs.Clamp(exprs.Sub(to.shape[i], offset), valid);
      region.offset = exprs.Add(region.offset, exprs.Mul(offset, view.strides[i]));
      if (!region.starts.empty()) region.starts[i] = offset;
      if (exprs.Range(offset).first < 0) region.non_negative.push_back(offset);
    }
    if (dims[i] < 0) {
      if (exprs.Range(valid).first < 1) present = exprs.Mul(present, valid);
      continue;
    }
    const auto dim = static_cast<size_t>(dims[i]);
    region.valid[dim] = valid;
    if (extents[dim] != 1) region.strides[dim] = view.strides[i];
  }
  if (present != one) region.valid.back() = exprs.Mul(region.valid.back(), present);
  return region;
}

Region TensorRegion(Context& context, TensorId id, size_t rank, const std::vector<size_t>& order) {
  program::ExprPool& exprs = context.exprs();
  const program::Tensor& tensor = context.tensors[id];
  const View& view = context.ViewOf(id);
  const std::vector<int64_t> shape = StaticExtents(exprs, tensor.shape);
  Region region;
  region.variable = view.variable;
  region.offset = view.offset;
  region.non_negative = view.non_negative;
  region.starts = view.starts;
  region.box = shape;
  region.strides.assign(rank, exprs.Const(0));
  region.extents.assign(rank, 1);
  region.valid.assign(rank, exprs.Const(1));
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t dim = i + rank - shape.size();
    const size_t from = order.empty() ? i : order[i];
    region.extents[dim] = shape[from];
    region.valid[dim] = tensor.valid[from];
    if (shape[from] != 1) region.strides[dim] = view.strides[from];
  }
  return region;
}

Region ValueRegion(Context& context, TensorId tensor, const std::vector<int64_t>& extents,
                   const std::vector<ExprId>& valid) {
  program::ExprPool& exprs = context.exprs();
  Region region;
  region.variable = tensor;
  region.offset = exprs.Const(0);
  region.extents = extents;
  region.valid = valid;
  region.strides.assign(extents.size(), exprs.Const(0));
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] != 1) region.strides[i] = exprs.Const(stride);
    stride *= extents[i];
  }
  return region;
}

}  // namespace pypto::compile
