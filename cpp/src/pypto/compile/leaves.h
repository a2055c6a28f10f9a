// Which nodes of a root function run together as one leaf.
#pragma once

#include <vector>

#include "pypto/compile/nodes.h"

namespace pypto::compile {

// Nodes of one leaf, in program order.
struct LeafGroup {
  std::vector<uint32_t> nodes;
  Grid grid;
  bool sealed = false;  // one operation that no other joins, and the store of its result
  ExprId guard = kNoExpr;
};

struct LeafPartition {
  std::vector<LeafGroup> groups;   // in an order in which what a leaf needs comes before it
  std::vector<uint32_t> group_of;  // per node
};

// Maximal chains of vector operations over the same tile grid; every matmul and whole operation by itself. A leaf ends
// where an operand has to lie in memory, where tiles do not agree, at branches, and where it would read and write the
// same memory through different accesses.
LeafPartition PartitionLeaves(const RootGraph& graph);

}  // namespace pypto::compile
