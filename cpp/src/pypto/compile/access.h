// Accesses and locals of one leaf in the dims of its iteration space.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "pypto/compile/nodes.h"

namespace pypto::compile {

// Collects the accesses and locals of one vector leaf. Owned by the emitter.
class LeafOperands {
 public:
  LeafOperands(Context& context, program::Leaf& leaf) : context_(context), leaf_(leaf) {}

  // The access of `input`; the same tensor is listed once.
  uint32_t Read(const Node& node, const NodeInput& input, uint32_t storage);
  uint32_t Add(const Region& region, uint32_t storage);
  uint32_t Add(program::Access access);
  // A slot of the local buffer; one that was released and has the same form is taken again.
  uint32_t TakeLocal(DType dtype, const std::vector<int64_t>& extents, const std::vector<ExprId>& valid);
  void ReleaseLocal(uint32_t local);

 private:
  template <typename T>
  std::vector<T> Padded(const std::vector<T>& dims, T filler) const;

  using ReadKey = std::tuple<TensorId, uint32_t, std::vector<size_t>>;
  using LocalKey = std::tuple<DType, std::vector<int64_t>, std::vector<ExprId>>;
  Context& context_;
  program::Leaf& leaf_;
  std::map<ReadKey, uint32_t> reads_;
  std::map<LocalKey, std::vector<uint32_t>> free_locals_;
};

// The access of matmul operand `which` (0: A over batch…, M, K; 1: B over batch…, K, N).
program::Access MatmulAccess(Context& context, const Node& node, size_t which, uint32_t storage);
program::Access AccessOf(const Region& region, uint32_t storage);

// Leaves out dims of extent 1 that no operand's valid extent depends on.
void SqueezeLeaf(const program::ExprPool& exprs, program::Leaf& leaf);

}  // namespace pypto::compile
