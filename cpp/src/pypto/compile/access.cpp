// Accesses and locals of one leaf in the dims of its iteration space.
#include "pypto/compile/access.h"

#include <utility>

namespace pypto::compile {

template <typename T>
std::vector<T> LeafOperands::Padded(const std::vector<T>& dims, T filler) const {
  std::vector<T> padded(leaf_.extents.size() - dims.size(), filler);
  padded.insert(padded.end(), dims.begin(), dims.end());
  return padded;
}

uint32_t LeafOperands::Read(const Node& node, const NodeInput& input, uint32_t storage) {
  const ReadKey key = {input.operand.tensor, storage, node.order_of_dims};
  const auto [found, added] = reads_.try_emplace(key, static_cast<uint32_t>(leaf_.accesses.size()));
  if (added) Add(ReadRegion(context_, node, input), storage);
  return found->second;
}

uint32_t LeafOperands::Add(const Region& region, uint32_t storage) { return Add(AccessOf(region, storage)); }

uint32_t LeafOperands::Add(program::Access access) {
  access.strides = Padded(access.strides, context_.exprs().Const(0));
  access.extents = Padded(access.extents, int64_t{1});
  access.valid = Padded(access.valid, context_.exprs().Const(1));
  leaf_.accesses.push_back(std::move(access));
  return static_cast<uint32_t>(leaf_.accesses.size() - 1);
}

uint32_t LeafOperands::TakeLocal(DType dtype, const std::vector<int64_t>& extents, const std::vector<ExprId>& valid) {
  program::Local local{dtype, Padded(extents, int64_t{1}), Padded(valid, context_.exprs().Const(1))};
  std::vector<uint32_t>& free = free_locals_[{dtype, local.extents, local.valid}];
  if (!free.empty()) {
    const uint32_t taken = free.back();
    free.pop_back();
    return taken;
  }
  leaf_.locals.push_back(std::move(local));
  return static_cast<uint32_t>(leaf_.locals.size() - 1);
}

void LeafOperands::ReleaseLocal(uint32_t local) {
  const program::Local& released = leaf_.locals[local];
  free_locals_[{released.dtype, released.extents, released.valid}].push_back(local);
}

program::Access AccessOf(const Region& region, uint32_t storage) {
  program::Access access;
  access.storage = storage;
  access.offset = region.offset;
  access.strides = region.strides;
  access.extents = region.extents;
  access.valid = region.valid;
  access.non_negative = region.non_negative;
  return access;
}

program::Access MatmulAccess(Context& context, const Node& node, size_t which, uint32_t storage) {
  program::ExprPool& exprs = context.exprs();
  const TensorId id = node.inputs[which].operand.tensor;
  const program::Tensor& tensor = context.tensors[id];
  const View& view = context.ViewOf(id);
  const bool transposed = which == 0 ? node.step->attributes.a_trans : node.step->attributes.b_trans;
  const size_t rank = tensor.shape.size();
  program::Access access;
  access.storage = storage;
  access.offset = view.offset;
  access.non_negative = view.non_negative;
  const std::vector<int64_t> shape = StaticExtents(exprs, tensor.shape);
  for (size_t i = 0; i < rank; ++i) {
    size_t dim = i;
    if (transposed && i + 2 >= rank) dim = i + 1 == rank ? rank - 2 : rank - 1;
    access.extents.push_back(shape[dim]);
    access.valid.push_back(tensor.valid[dim]);
    access.strides.push_back(shape[dim] == 1 ? exprs.Const(0) : view.strides[dim]);
  }
  return access;
}

namespace {

bool MaySqueeze(const program::ExprPool& exprs, const program::Leaf& leaf, size_t dim) {
  if (leaf.extents[dim] != 1) return false;
  for (const program::Access& access : leaf.accesses) {
    if (!exprs.IsConstant(access.valid[dim], 1)) return false;
  }
  for (const program::Local& local : leaf.locals) {
    if (!exprs.IsConstant(local.valid[dim], 1)) return false;
  }
  for (const program::LeafOp& op : leaf.ops) {
    if (op.axis == static_cast<int32_t>(dim)) return false;
  }
  return true;
}

template <typename T>
void Erase(std::vector<T>& values, size_t dim) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(dim));
}

}  // namespace

void SqueezeLeaf(const program::ExprPool& exprs, program::Leaf& leaf) {
  for (size_t dim = leaf.extents.size(); dim-- > 0;) {
    if (leaf.extents.size() == 1 || !MaySqueeze(exprs, leaf, dim)) continue;
    Erase(leaf.extents, dim);
    Erase(leaf.tile, dim);
    for (program::Access& access : leaf.accesses) {
      Erase(access.strides, dim);
      Erase(access.extents, dim);
      Erase(access.valid, dim);
    }
    for (program::Local& local : leaf.locals) {
      Erase(local.extents, dim);
      Erase(local.valid, dim);
    }
    for (program::LeafOp& op : leaf.ops) {
      if (op.axis > static_cast<int32_t>(dim)) --op.axis;
    }
  }
}

}  // namespace pypto::compile
