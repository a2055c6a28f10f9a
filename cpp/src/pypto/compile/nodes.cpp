// From the steps of a run to its graph.
#include "pypto/compile/nodes.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "pypto/compile/conflicts.h"

namespace pypto::compile {
namespace {

using program::OpFamily;
using program::WriteKind;

// What a run does to one variable, in program order.
struct Facts {
  uint32_t writes = 0;
  bool first_whole = false;  // the first write is whole and on every path
  bool read = false;
  bool read_first = false;  // before any write
  bool declared = false;

  bool BeginsNew() const { return writes > 0 && first_whole && (writes == 1 || !read_first); }
};

// The value that the memory of a variable holds just now.
struct Held {
  uint32_t value = kNone;
  uint32_t store = kNone;
  uint32_t scope = 0;
};

// Builds one graph. Owned by BuildGraph.
class GraphBuilder {
 public:
  GraphBuilder(Context& context, uint32_t run) : context_(context), exprs_(context.exprs()), run_(run) {}

  RootGraph Build() {
    const Run& run = context_.runs[run_];
    for (uint32_t i = run.first_step; i < run.end_step; ++i) CollectFacts(context_.steps[i]);
    for (uint32_t i = run.first_step; i < run.end_step; ++i) {
      const Step& step = context_.steps[i];
      if (step.kind == StepKind::kDeclare) held_.erase(step.output);
      if (!step.live || step.IsControl()) continue;
      if (step.zero_fill) {
        AddZeroFilled(step);
      } else if (step.kind == StepKind::kOp) {
        AddOp(step);
      } else {
        AddStore(step);
      }
    }
    DropUnread();
    RecordUses();
    return std::move(graph_);
  }

 private:
  TensorId VariableOf(TensorId tensor) { return context_.ViewOf(tensor).variable; }

  void CollectFacts(const Step& step) {
    if (step.kind == StepKind::kDeclare) facts_[step.output].declared = true;
    if (!step.live || step.IsControl()) return;
    for (const program::Operand& input : step.inputs) {
      if (input.kind != program::Operand::Kind::kTensor) continue;
      Facts& facts = facts_[VariableOf(input.tensor)];
      facts.read = true;
      if (facts.writes == 0) facts.read_first = true;
    }
    Facts& facts = facts_[VariableOf(step.output)];
    if (facts.writes++ == 0) facts.first_whole = !step.region && step.guard == kNoExpr;
    if (step.zero_fill) ++facts.writes;
  }

  // A value that the code at this scope may take in place of the variable's memory.
  const Held* HeldBy(TensorId variable, uint32_t scope) const {
    const auto found = held_.find(variable);
    if (found == held_.end()) return nullptr;
    for (uint32_t at = scope;; at = context_.scopes[at].parent) {
      if (at == found->second.scope) return &found->second;
      if (at == 0) return nullptr;
    }
  }

  NodeInput TensorInput(TensorId tensor, uint32_t scope) {
    NodeInput input;
    input.operand.tensor = tensor;
    const View& view = context_.ViewOf(tensor);
    const Held* held = HeldBy(view.variable, scope);
    if (held == nullptr) {
      memory_reads_.insert(view.variable);
      return input;
    }
    input.value = held->value;
    input.store = held->store;
    input.direct = view.whole && HoldsAs(tensor, graph_.values[held->value]);
    return input;
  }

  // The tensor's dims, from the last one on, are those of the value.
  bool HoldsAs(TensorId tensor, const Value& value) const {
    const program::Tensor& described = context_.tensors[tensor];
    const size_t rank = std::max(described.shape.size(), value.extents.size());
    for (size_t back = 1; back <= rank; ++back) {
      const bool in_tensor = back <= described.shape.size();
      const bool in_value = back <= value.extents.size();
      const ExprId shape = in_tensor ? described.shape[described.shape.size() - back] : kNoExpr;
      const ExprId valid = in_tensor ? described.valid[described.valid.size() - back] : kNoExpr;
      if (in_tensor && in_value) {
        const int64_t extent = value.extents[value.extents.size() - back];
        if (!exprs_.IsConstant(shape, extent) || valid != value.valid[value.valid.size() - back]) return false;
      } else {
        const ExprId other = in_tensor ? valid : value.valid[value.valid.size() - back];
        const bool one = in_tensor ? exprs_.IsConstant(shape, 1) : value.extents[value.extents.size() - back] == 1;
        if (!one || !exprs_.IsConstant(other, 1)) return false;
      }
    }
    return true;
  }

  Node& NewNode(NodeKind kind, const Step& step) {
    Node& node = graph_.nodes.emplace_back();
    node.kind = kind;
    node.step = &step;
    node.guard = step.guard;
    return node;
  }

  uint32_t LastNode() const { return static_cast<uint32_t>(graph_.nodes.size() - 1); }

  uint32_t NewValue(TensorId tensor, std::vector<int64_t> extents, std::vector<ExprId> valid) {
    Value& value = graph_.values.emplace_back();
    value.tensor = tensor;
    value.extents = std::move(extents);
    value.valid = std::move(valid);
    value.node = LastNode();
    graph_.nodes.back().value = static_cast<uint32_t>(graph_.values.size() - 1);
    return graph_.nodes.back().value;
  }

  static const std::vector<int64_t>& VectorTile(const Step& step) {
    static const std::vector<int64_t> kNotGiven;
    return step.tiles == nullptr ? kNotGiven : step.tiles->vector_tile;
  }

  void AddOp(const Step& step) {
    const OpFamily family = program::FindOperation(step.code)->family;
    std::vector<NodeInput> inputs;
    for (const program::Operand& operand : step.inputs) {
      if (operand.kind == program::Operand::Kind::kTensor) {
        inputs.push_back(TensorInput(operand.tensor, step.scope));
      } else {
        inputs.emplace_back().operand = operand;
      }
    }
    Node& node = NewNode(family == OpFamily::kMatmul                                       ? NodeKind::kCube
                         : family == OpFamily::kWhole && !program::IsPositional(step.code) ? NodeKind::kWhole
                                                                                           : NodeKind::kVector,
                         step);
    node.code = step.code;
    node.inputs = std::move(inputs);
    const program::Tensor& output = context_.tensors[step.output];
    std::vector<int64_t> extents = StaticExtents(exprs_, output.shape);
    std::vector<ExprId> valid = output.valid;
    if (family == OpFamily::kReduction) {
      extents = SetUpReduction(node, step, &valid);
    } else if (family == OpFamily::kTranspose) {
      node.code = OpCode::kCopy;
      node.order_of_dims = OrderOfDims(step, extents.size());
      node.inputs[0].direct = node.inputs[0].direct && node.order_of_dims.empty();
    } else if (family == OpFamily::kExpand) {
      node.code = OpCode::kCopy;
    }
    if (HasOwnLeaf(node)) {
      for (NodeInput& input : node.inputs) input.direct = false;
    }
    if (node.kind == NodeKind::kCube) {
      node.grid.extents = extents;
    } else if (node.kind == NodeKind::kWhole) {
      node.grid = WholeGrid(step, extents);
      NoteSelection(step, extents, &node.grid);
      NoteTouched(step, &node.grid);
    } else if (family != OpFamily::kReduction) {
      node.grid = MakeGrid(extents, VectorTile(step), -1);
      NoteOrder(node.order_of_dims, &node.grid);
    }
    const uint32_t value = NewValue(step.output, std::move(extents), std::move(valid));
    graph_.values[value].storage = context_.variables[step.output].storage;
    held_[step.output] = {value, kNone, step.scope};
  }

  // Which dim of the input each dim of a transpose is; empty when every dim stays.
  static std::vector<size_t> OrderOfDims(const Step& step, size_t rank) {
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) {
      order[i] = step.code == OpCode::kPermute ? static_cast<size_t>(step.attributes.dims[i]) : i;
    }
    if (step.code == OpCode::kTranspose) {
      std::swap(order[static_cast<size_t>(step.attributes.dim0)], order[static_cast<size_t>(step.attributes.dim1)]);
    }
    return std::is_sorted(order.begin(), order.end()) ? std::vector<size_t>() : order;
  }

  // Where the operand's runs of elements go on: along its last dim, or the one before it if that stays the last.
  static void NoteOrder(const std::vector<size_t>& order, Grid* grid) {
    const size_t rank = order.size();
    if (rank < 2) return;
    grid->turned = order.back() + 1 != rank;
    const size_t run = grid->turned ? rank - 1 : rank - 2;
    const auto dim = static_cast<size_t>(std::find(order.begin(), order.end(), run) - order.begin());
    if (dim + 1 != rank) grid->beside = uint32_t{1} << (rank - 1 - dim);
  }

  // The best of a long row: the tile is as large as what it looks through.
  void NoteSelection(const Step& step, const std::vector<int64_t>& extents, Grid* grid) const {
    if (step.code != OpCode::kSorted && step.code != OpCode::kSortedIndex) return;
    const auto axis = static_cast<size_t>(step.attributes.axis);
    const std::vector<int64_t> operand = StaticExtents(exprs_, context_.tensors[step.inputs[0].tensor].shape);
    grid->read = std::max<int64_t>(operand[axis] / std::max<int64_t>(extents[axis], 1), 1);
  }

  // What writes some cells into its first operand: only those count, however many that has.
  void NoteTouched(const Step& step, Grid* grid) const {
    if (step.code != OpCode::kIndexPut && step.code != OpCode::kIndexAdd && step.code != OpCode::kScatter) return;
    const program::Operand& index = step.inputs[step.code == OpCode::kIndexPut ? 3 : 1];
    const std::vector<int64_t> extents = StaticExtents(exprs_, context_.tensors[index.tensor].shape);
    // Slices are written in long runs, elements of a scatter go each to a place of its own.
    grid->run = step.code == OpCode::kScatter ? 64 : 2048;
    if (step.code != OpCode::kScatter) {
      grid->touched = extents[0];
    } else if (const auto axis = static_cast<size_t>(step.attributes.axis); axis < extents.size()) {
      grid->touched = extents[axis];
    }
  }

  // Tiles of a whole operation split only dims in which its tiles do not depend on each other.
  static Grid WholeGrid(const Step& step, const std::vector<int64_t>& extents) {
    Grid grid = MakeGrid(extents, {}, -1);
    const size_t rank = extents.size();
    for (size_t dim = 0; dim < rank; ++dim) {
      if (!SplitsDim(step, dim, rank)) {
        grid.whole |= uint32_t{1} << (rank - 1 - dim);
      }
    }
    return grid;
  }

  static bool SplitsDim(const Step& step, size_t dim, size_t rank) {
    const auto axis = static_cast<size_t>(step.attributes.axis);
    switch (step.code) {
      case OpCode::kArgMax:
      case OpCode::kArgMin:
      case OpCode::kCumSum:
      case OpCode::kCumProd:
      case OpCode::kSorted:
      case OpCode::kSortedIndex:
      case OpCode::kScatter:
      case OpCode::kIndexAdd: return dim != axis;
      // Behind x, values and the mode stands an index for each leading dim.
      case OpCode::kIndexPut: return dim + 3 >= step.inputs.size();
      case OpCode::kInterleave:
      case OpCode::kDeinterleave:
      case OpCode::kDeinterleaveTwo:
      case OpCode::kGatherMask: return dim + 1 != rank;
      case OpCode::kGather:
      case OpCode::kIndexSelect:
      case OpCode::kGatherInUb:
      case OpCode::kGatherInL1:
      case OpCode::kBytes:
      case OpCode::kUniform:
      case OpCode::kNormal:
      case OpCode::kArange: return true;
      default: return false;
    }
  }

  // Iterates over the operand; the value has extent 1 along the axis. Returns the value's extents.
  std::vector<int64_t> SetUpReduction(Node& node, const Step& step, std::vector<ExprId>* valid) {
    const program::Tensor& operand = context_.tensors[step.inputs[0].tensor];
    std::vector<int64_t> extents = StaticExtents(exprs_, operand.shape);
    const auto axis = static_cast<size_t>(step.attributes.axis);
    const bool nothing_to_do = extents[axis] == 1 && exprs_.IsConstant(operand.valid[axis], 1);
    node.axis = nothing_to_do ? -1 : step.attributes.axis;
    if (nothing_to_do) node.code = OpCode::kCopy;
    node.grid = MakeGrid(extents, VectorTile(step), node.axis);
    extents[axis] = 1;
    if (valid->size() < extents.size()) valid->insert(valid->begin() + step.attributes.axis, exprs_.Const(1));
    return extents;
  }

  void AddStore(const Step& step) {
    const TensorId source = step.inputs[0].tensor;
    const TensorId target = VariableOf(step.output);
    const Held* held = context_.ViewOf(source).whole ? HeldBy(VariableOf(source), step.scope) : nullptr;
    uint32_t value = held == nullptr ? kNone : held->value;
    std::optional<DimMap> dims;
    if (value != kNone) dims = DimsOf(source, value);
    if (!dims) {
      value = AddCopy(step, source);
      dims = DimsOf(source, value);
    }
    AddStoreOf(step, source, value, *dims);
    // Where two generations would have to be told apart, later readers take the value, never the memory.
    const Facts& facts = facts_[target];
    const bool two_generations = facts.BeginsNew() && facts.read_first;
    const bool covers = context_.tensors[source].valid == context_.tensors[step.output].valid;
    if (step.region || !(covers || two_generations)) {
      held_.erase(target);
      return;
    }
    const bool in_memory = !context_.variables[target].single_instance && !two_generations;
    held_[target] = {value, in_memory ? LastNode() : kNone, step.scope};
  }

  uint32_t AddCopy(const Step& step, TensorId source) {
    NodeInput input = TensorInput(source, step.scope);
    Node& node = NewNode(NodeKind::kVector, step);
    node.inputs.push_back(input);
    std::vector<int64_t> extents = StaticExtents(exprs_, context_.tensors[source].shape);
    node.grid = MakeGrid(extents, VectorTile(step), -1);
    return NewValue(source, std::move(extents), context_.tensors[source].valid);
  }

  std::optional<DimMap> DimsOf(TensorId tensor, uint32_t value) const {
    return MapDims(context_, tensor, graph_.values[value].extents, graph_.values[value].valid);
  }

  void AddStoreOf(const Step& step, TensorId source, uint32_t value, const DimMap& dims) {
    Node& node = NewNode(NodeKind::kStore, step);
    NodeInput input;
    input.operand.tensor = source;
    input.value = value;
    input.direct = true;
    node.inputs.push_back(std::move(input));
    const Value& stored = graph_.values[value];
    node.grid = MakeGrid(stored.extents, VectorTile(step), -1);
    node.target = TargetRegion(context_, step, source, stored.extents, dims);
  }

  // A copy whose unwritten cells are 0: all of it is filled, then the valid part is written over that.
  void AddZeroFilled(const Step& step) {
    const TensorId source = step.inputs[0].tensor;
    const uint32_t copy = AddZeros(step);
    AddStoreOf(step, step.output, copy, *DimsOf(step.output, copy));
    const uint32_t value = AddCopy(step, source);
    AddStoreOf(step, source, value, *DimsOf(source, value));
    held_.erase(step.output);
  }

  uint32_t AddZeros(const Step& step) {
    Node& node = NewNode(NodeKind::kVector, step);
    node.code = OpCode::kFill;
    node.inputs.emplace_back().operand.kind = program::Operand::Kind::kInt;
    std::vector<int64_t> extents = StaticExtents(exprs_, context_.tensors[step.output].shape);
    node.grid = MakeGrid(extents, VectorTile(step), -1);
    return NewValue(step.output, std::move(extents), context_.tensors[step.output].valid);
  }

  bool IsUnreadStore(const Node& node) const {
    if (node.kind != NodeKind::kStore) return false;
    return context_.variables[node.target.variable].single_instance && memory_reads_.count(node.target.variable) == 0;
  }

  // Leaves out stores into tensors of this instance whose readers all take the value itself, and what only they needed.
  void DropUnread() {
    for (const Node& node : graph_.nodes) CountInputs(node, 1);
    std::vector<uint32_t> moved(graph_.nodes.size(), 0);
    for (uint32_t i = static_cast<uint32_t>(graph_.nodes.size()); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      const bool unread =
          node.value != kNone && graph_.values[node.value].uses == 0 && graph_.values[node.value].storage == kNone;
      if (!unread && !IsUnreadStore(node)) continue;
      CountInputs(node, UINT32_MAX);
      moved[i] = kNone;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (moved[i] == kNone) continue;
      if (kept != i) graph_.nodes[kept] = std::move(graph_.nodes[i]);
      moved[i] = kept++;
    }
    graph_.nodes.resize(kept);
    for (Value& value : graph_.values) value.node = moved[value.node];
    for (Node& node : graph_.nodes) {
      for (NodeInput& input : node.inputs) {
        if (input.store != kNone) input.store = moved[input.store];
      }
    }
  }

  // Adds `change` (modulo 2^32) to the uses of what the node reads.
  void CountInputs(const Node& node, uint32_t change) {
    for (const NodeInput& input : node.inputs) {
      if (input.value != kNone) graph_.values[input.value].uses += change;
    }
  }

  // How the run's parameters and outcasts are written, and what it means for their generations.
  void RecordUses() {
    for (const auto& [tensor, facts] : facts_) {
      const Variable& variable = context_.variables[tensor];
      if (variable.storage == kNone) continue;
      if (facts.writes > 0) {
        graph_.writes[variable.storage] = facts.BeginsNew() ? WriteKind::kWhole : WriteKind::kRegion;
      }
      if (variable.tensor_class == TensorClass::kParameter) continue;
      OutcastUse use;
      use.storage = variable.storage;
      use.begins_new = facts.declared || facts.BeginsNew();
      use.reads_old = !facts.declared && (facts.BeginsNew() ? facts.read_first : facts.read);
      context_.run_uses[run_].push_back(use);
    }
    std::sort(context_.run_uses[run_].begin(), context_.run_uses[run_].end(),
              [](const OutcastUse& a, const OutcastUse& b) { return a.storage < b.storage; });
  }

  Context& context_;
  program::ExprPool& exprs_;
  const uint32_t run_;
  RootGraph graph_;
  std::unordered_map<TensorId, Facts> facts_;
  std::unordered_map<TensorId, Held> held_;
  std::unordered_set<TensorId> memory_reads_;
};

}  // namespace

RootGraph BuildGraph(Context& context, uint32_t run) {
  GraphBuilder builder(context, run);
  RootGraph graph = builder.Build();
  OrderNodes(context, graph);
  return graph;
}

Region ReadRegion(Context& context, const Node& node, const NodeInput& input) {
  return TensorRegion(context, input.operand.tensor, node.grid.extents.size(), node.order_of_dims);
}

}  // namespace pypto::compile
