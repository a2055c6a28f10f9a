// How nodes address memory: regions of variables in the dims of an iteration space.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pypto/compile/context.h"

namespace pypto::compile {

// Cells of a storage as one node addresses them, in the dims of the node's iteration space.
struct Region {
  TensorId variable = kNoTensor;
  ExprId offset = kNoExpr;
  std::vector<ExprId> strides;   // a constant 0 where the extent is 1
  std::vector<int64_t> extents;  // the node's, or 1
  std::vector<ExprId> valid;
  std::vector<ExprId> non_negative;
  std::vector<ExprId> starts;  // first cell in each dim of the variable; empty when the cells are no box there
  std::vector<int64_t> box;    // extents of that box
};

// Dims of a stored tensor in the dims of the value it holds; -1 for a dim of extent 1 that the value does not have.
using DimMap = std::vector<int>;

// Nothing when the tensor's cells do not lie one by one in the dims of a value with these extents.
std::optional<DimMap> MapDims(const Context& context, TensorId tensor, const std::vector<int64_t>& extents,
                              const std::vector<ExprId>& valid);

// Where a store of `source` writes, in the dims of the value that it holds.
Region TargetRegion(Context& context, const Step& step, TensorId source, const std::vector<int64_t>& extents,
                    const DimMap& dims);

// A tensor in an iteration space of `rank` dims, from the last dim on. `order` says which of its dims stands where,
// when they are not in their own order.
Region TensorRegion(Context& context, TensorId tensor, size_t rank, const std::vector<size_t>& order);

// Row-major cells of a value in memory of its own.
Region ValueRegion(Context& context, TensorId tensor, const std::vector<int64_t>& extents,
                   const std::vector<ExprId>& valid);

}  // namespace pypto::compile
