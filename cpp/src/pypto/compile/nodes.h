// One root function as a graph: operations and stores in program order, the values between them, and what must come
// before what.
#pragma once

#include <unordered_map>
#include <vector>

#include "pypto/compile/context.h"
#include "pypto/compile/regions.h"
#include "pypto/compile/tiles.h"

namespace pypto::compile {

// What an operation makes; seen inside its root function only.
struct Value {
  TensorId tensor = kNoTensor;   // dtype, name and shape in memory
  std::vector<int64_t> extents;  // in the dims of its node; row-major in memory
  std::vector<ExprId> valid;
  uint32_t node = kNone;
  uint32_t uses = 0;
  uint32_t storage = kNone;  // of an outcast; of a RootInner once it is found to cross leaves
};

struct NodeInput {
  program::Operand operand;  // a number, or a tensor as it is addressed
  uint32_t value = kNone;    // what the tensor holds, when this root function made it
  uint32_t store = kNone;    // node that wrote the value to the tensor's variable, which may be read instead
  bool direct = false;       // the cells of the value, in its dims: may be taken from the tile
  bool is_tensor() const { return operand.kind == program::Operand::Kind::kTensor; }
};

// kCube and kWhole have leaves of their own, and read their operands from memory.
enum class NodeKind : uint8_t { kVector, kCube, kWhole, kStore };

struct Dependency {
  uint32_t node = 0;
  bool same_leaf = false;  // both address the same cells: in one leaf they follow each other tile by tile
};

struct Node {
  NodeKind kind = NodeKind::kVector;
  OpCode code = OpCode::kCopy;
  std::vector<NodeInput> inputs;
  uint32_t value = kNone;  // made by an operation; of a store: kNone
  Region target;           // of a store
  Grid grid;
  int32_t axis = -1;                  // reduced dim, in iteration dims
  std::vector<size_t> order_of_dims;  // of a transpose: which dim of its input each of its dims is
  const Step* step = nullptr;
  ExprId guard = kNoExpr;
  std::vector<Dependency> order;  // nodes that touch the same memory before it
};

inline bool HasOwnLeaf(const Node& node) { return node.kind == NodeKind::kCube || node.kind == NodeKind::kWhole; }

struct RootGraph {
  std::vector<Node> nodes;
  std::vector<Value> values;
  // Per storage of a parameter or outcast that is written here.
  std::unordered_map<uint32_t, program::WriteKind> writes;
};

// Builds the graph of one run. Reads of a tensor that this run has just written whole take the value itself.
RootGraph BuildGraph(Context& context, uint32_t run);

// How `input` of `node` addresses the memory of its variable. Not for operands of a
// matmul or a whole operation.
Region ReadRegion(Context& context, const Node& node, const NodeInput& input);

}  // namespace pypto::compile
