// From a partitioned root function to the leaves of the plan.
#include "pypto/compile/emit.h"

#include <algorithm>
#include <utility>

#include "pypto/compile/access.h"
#include "pypto/compile/classify.h"
#include "pypto/compile/root_lists.h"

namespace pypto::compile {
namespace {

using program::ValueRef;

// Emits one root function. Owned by EmitRoot.
class RootEmitter {
 public:
  RootEmitter(Context& context, uint32_t run, RootGraph& graph, const LeafPartition& partition)
      : context_(context), run_(run), graph_(graph), partition_(partition), values_(graph.values.size()) {}

  base::Status Emit() {
    NameRoot();
    FindMemory();
    std::vector<uint32_t> leaf_scopes;
    for (const LeafGroup& group : partition_.groups) {
      const NodeKind kind = graph_.nodes[group.nodes.front()].kind;
      if (group.sealed) {
        kind == NodeKind::kCube ? EmitCube(group) : EmitWhole(group);
      } else {
        EmitVector(group);
      }
      PYPTO_RETURN_IF_ERROR(CheckTile(context_, root_.leaves.back(), graph_.nodes[group.nodes.front()].step->place));
      leaf_scopes.push_back(ScopeOf(group));
    }
    ListStorages(context_.plan, graph_.writes, root_);
    ListExprs(context_.exprs(), root_);
    context_.inner_bytes.push_back(InnerBytes(context_, root_, leaf_scopes));
    context_.runs[run_].root = static_cast<uint32_t>(context_.plan.roots.size());
    context_.plan.roots.push_back(std::move(root_));
    return base::OkStatus();
  }

 private:
  // Where a value of the leaf at work is.
  struct ValueState {
    uint32_t local = kNone;
    uint32_t readers = 0;  // nodes of the leaf that still take it from the local
    uint32_t stores = 0;   // of those, stores
    uint32_t last_store = kNone;
    uint32_t written_directly = kNone;  // store whose target the operation itself writes
  };

  uint32_t ScopeOf(const LeafGroup& group) const {
    uint32_t scope = graph_.nodes[group.nodes.front()].step->scope;
    for (const uint32_t node : group.nodes) scope = CommonScope(context_, scope, graph_.nodes[node].step->scope);
    return scope;
  }

  void NameRoot() {
    const Loop& loop = context_.loops[context_.runs[run_].loop];
    root_.name = loop.name.empty() ? context_.plan.name : loop.name;
    root_.place = context_.PlaceIndex(graph_.nodes.front().step->place);
  }

  bool IsLocal(uint32_t node, const NodeInput& input) const {
    if (input.value == kNone || !input.direct) return false;
    return partition_.group_of[node] == partition_.group_of[graph_.values[input.value].node];
  }

  // Gives memory to values that cross leaves and to variables of this instance that are addressed by region.
  void FindMemory() {
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      for (const NodeInput& input : node.inputs) {
        if (!input.is_tensor() || IsLocal(i, input)) continue;
        if (input.value == kNone || input.store != kNone) {
          GiveMemory(context_.ViewOf(input.operand.tensor).variable);
        } else if (graph_.values[input.value].storage == kNone) {
          graph_.values[input.value].storage = AddInner(graph_.values[input.value].tensor);
        }
      }
      if (node.kind == NodeKind::kStore) GiveMemory(node.target.variable);
    }
  }

  void GiveMemory(TensorId variable) {
    uint32_t& storage = context_.variables[variable].storage;
    if (storage == kNone) storage = AddInner(variable);
  }

  uint32_t AddInner(TensorId tensor) {
    const uint32_t storage = AddStorage(context_, tensor, TensorClass::kRootInner);
    root_.root_inner.push_back(storage);
    return storage;
  }

  uint32_t StorageOf(const NodeInput& input) {
    if (input.value != kNone && input.store == kNone) return graph_.values[input.value].storage;
    return context_.variables[context_.ViewOf(input.operand.tensor).variable].storage;
  }

  Region MemoryOf(const Value& value) { return ValueRegion(context_, value.tensor, value.extents, value.valid); }

  void EmitCube(const LeafGroup& group) {
    const Node& node = graph_.nodes[group.nodes.front()];
    const Value& value = graph_.values[node.value];
    const size_t rank = value.extents.size();
    program::Leaf leaf;
    leaf.kind = program::LeafKind::kCube;
    leaf.extents = value.extents;
    for (size_t which = 0; which < 2; ++which) {
      leaf.accesses.push_back(MatmulAccess(context_, node, which, StorageOf(node.inputs[which])));
    }
    leaf.k_extent = leaf.accesses[0].extents[rank - 1];
    const CubeTile tile =
        ChooseCubeTile(node.step->tiles->cube, leaf.extents[rank - 2], leaf.k_extent, leaf.extents[rank - 1]);
    leaf.tile.assign(rank, 1);
    leaf.tile[rank - 2] = tile.m;
    leaf.tile[rank - 1] = tile.n;
    leaf.k_tile = tile.k;
    leaf.accesses.push_back(AccessOfResult(group, value));
    program::LeafOp op = NewOp(node);
    op.inputs = {{ValueRef::Kind::kAccess, 0}, {ValueRef::Kind::kAccess, 1}};
    op.output = {ValueRef::Kind::kAccess, 2};
    leaf.ops.push_back(std::move(op));
    leaf.guard = group.guard;
    leaf.place = leaf.ops.front().place;
    root_.leaves.push_back(std::move(leaf));
  }

  // Where a sealed leaf writes: the target of the store in it, or memory of the value's own.
  program::Access AccessOfResult(const LeafGroup& group, const Value& value) {
    const bool stored = group.nodes.size() > 1;
    const Region target = stored ? graph_.nodes[group.nodes[1]].target : MemoryOf(value);
    return AccessOf(target, stored ? context_.variables[target.variable].storage : value.storage);
  }

  // The iteration space is that of the output, with dims of extent 1 in front where an operand has more dims.
  void EmitWhole(const LeafGroup& group) {
    const uint32_t index = group.nodes.front();
    const Node& node = graph_.nodes[index];
    const Value& value = graph_.values[node.value];
    size_t rank = value.extents.size();
    for (const NodeInput& input : node.inputs) {
      if (input.is_tensor()) rank = std::max(rank, context_.tensors[input.operand.tensor].shape.size());
    }
    const size_t added = rank - value.extents.size();
    program::Leaf leaf;
    leaf.kind = program::LeafKind::kWhole;
    leaf.extents.assign(added, 1);
    leaf.tile.assign(added, 1);
    leaf.extents.insert(leaf.extents.end(), value.extents.begin(), value.extents.end());
    leaf.tile.insert(leaf.tile.end(), group.grid.tile.begin(), group.grid.tile.end());
    LeafOperands operands(context_, leaf);
    program::LeafOp op = NewOp(node);
    for (const NodeInput& input : node.inputs) {
      if (!input.is_tensor()) {
        op.inputs.push_back(InputRef(index, input, operands));
        continue;
      }
      const Region region = TensorRegion(context_, input.operand.tensor, rank, {});
      op.inputs.push_back({ValueRef::Kind::kAccess, operands.Add(region, StorageOf(input))});
    }
    op.axis = node.step->attributes.axis + static_cast<int32_t>(added);
    const program::Access result = AccessOfResult(group, value);
    op.output = {ValueRef::Kind::kAccess, operands.Add(result)};
    leaf.ops.push_back(std::move(op));
    leaf.guard = group.guard;
    leaf.place = leaf.ops.front().place;
    root_.leaves.push_back(std::move(leaf));
  }

  program::LeafOp NewOp(const Node& node) {
    program::LeafOp op;
    op.code = node.code;
    op.cast_mode = node.step->attributes.cast_mode;
    op.saturate = node.step->attributes.saturate;
    op.place = context_.PlaceIndex(node.step->place);
    const program::OpInfo& info = *program::FindOperation(node.code);
    const auto is_tensor = [&](size_t i) { return node.inputs[i].is_tensor(); };
    const int which = program::DTypeOperand(info, node.inputs.size(), is_tensor);
    const TensorId of =
        which < 0 ? graph_.values[node.value].tensor : node.inputs[static_cast<size_t>(which)].operand.tensor;
    op.compute_dtype = context_.tensors[of].dtype;
    return op;
  }

  void EmitVector(const LeafGroup& group) {
    program::Leaf leaf;
    leaf.extents = group.grid.extents;
    leaf.tile = group.grid.tile;
    leaf.guard = group.guard;
    leaf.place = context_.PlaceIndex(graph_.nodes[group.nodes.front()].step->place);
    LeafOperands operands(context_, leaf);
    CountReaders(group);
    for (const uint32_t node : group.nodes) {
      if (graph_.nodes[node].kind == NodeKind::kStore) {
        EmitStore(node, leaf, operands);
      } else {
        EmitOp(node, leaf, operands);
      }
    }
    const bool placed = std::any_of(leaf.ops.begin(), leaf.ops.end(),
                                    [](const program::LeafOp& op) { return program::IsPositional(op.code); });
    if (!placed) SqueezeLeaf(context_.exprs(), leaf);
    root_.leaves.push_back(std::move(leaf));
  }

  void CountReaders(const LeafGroup& group) {
    for (const uint32_t index : group.nodes) {
      for (const NodeInput& input : graph_.nodes[index].inputs) {
        if (!IsLocal(index, input)) continue;
        ValueState& state = values_[input.value];
        ++state.readers;
        if (graph_.nodes[index].kind != NodeKind::kStore) continue;
        ++state.stores;
        state.last_store = index;
      }
    }
    for (const uint32_t index : group.nodes) {
      const Node& node = graph_.nodes[index];
      if (node.kind == NodeKind::kStore) continue;
      ValueState& state = values_[node.value];
      const bool one_store = state.readers == 1 && state.stores == 1 && graph_.values[node.value].storage == kNone;
      if (one_store && MayWriteEarly(index, state.last_store)) state.written_directly = state.last_store;
    }
  }

  // Nothing of this leaf reads or writes the target between the operation and the store. A reduction makes one cell
  // along its axis: a target that may have none there takes a copy.
  bool MayWriteEarly(uint32_t operation, uint32_t store) const {
    const int32_t axis = graph_.nodes[operation].axis;
    const Region& target = graph_.nodes[store].target;
    if (axis >= 0 && !context_.plan.exprs.IsConstant(target.valid[static_cast<size_t>(axis)], 1)) return false;
    const std::vector<Dependency>& order = graph_.nodes[store].order;
    return std::all_of(order.begin(), order.end(), [&](const Dependency& dependency) {
      return dependency.node <= operation || partition_.group_of[dependency.node] != partition_.group_of[store];
    });
  }

  ValueRef InputRef(uint32_t index, const NodeInput& input, LeafOperands& operands) {
    using Operand = program::Operand;
    switch (input.operand.kind) {
      case Operand::Kind::kFloat: return {ValueRef::Kind::kFloat, 0, input.operand.float_value, 0};
      case Operand::Kind::kInt: return {ValueRef::Kind::kInt, 0, 0, input.operand.int_value};
      case Operand::Kind::kExpr: return {ValueRef::Kind::kExpr, input.operand.expr};
      case Operand::Kind::kScalar: return {ValueRef::Kind::kScalar, input.operand.scalar};
      case Operand::Kind::kFloatExpr: return {ValueRef::Kind::kFloatExpr, input.operand.expr};
      case Operand::Kind::kTensor: break;
    }
    if (IsLocal(index, input)) return {ValueRef::Kind::kLocal, values_[input.value].local};
    const Node& node = graph_.nodes[index];
    const uint32_t storage = StorageOf(input);
    // A store goes through the dims of the value, not through those of the tensor that was written.
    if (node.kind == NodeKind::kStore) {
      return {ValueRef::Kind::kAccess, operands.Add(MemoryOf(graph_.values[input.value]), storage)};
    }
    return {ValueRef::Kind::kAccess, operands.Read(node, input, storage)};
  }

  void DoneReading(uint32_t index, LeafOperands& operands) {
    for (const NodeInput& input : graph_.nodes[index].inputs) {
      if (!IsLocal(index, input)) continue;
      ValueState& state = values_[input.value];
      if (--state.readers == 0 && state.local != kNone) operands.ReleaseLocal(state.local);
    }
  }

  void EmitOp(uint32_t index, program::Leaf& leaf, LeafOperands& operands) {
    const Node& node = graph_.nodes[index];
    const Value& value = graph_.values[node.value];
    ValueState& state = values_[node.value];
    program::LeafOp op = NewOp(node);
    for (const NodeInput& input : node.inputs) op.inputs.push_back(InputRef(index, input, operands));
    if (node.axis >= 0) {
      op.axis = node.axis + static_cast<int32_t>(leaf.extents.size() - node.grid.extents.size());
    }
    if (state.written_directly != kNone) {
      const Region& target = graph_.nodes[state.written_directly].target;
      const uint32_t storage = context_.variables[target.variable].storage;
      op.output = {ValueRef::Kind::kAccess, operands.Add(target, storage)};
    } else if (state.readers == 0) {
      op.output = {ValueRef::Kind::kAccess, operands.Add(MemoryOf(value), value.storage)};
    } else {
      state.local = operands.TakeLocal(context_.tensors[value.tensor].dtype, value.extents, value.valid);
      op.output = {ValueRef::Kind::kLocal, state.local};
    }
    const bool copied_out = state.local != kNone && value.storage != kNone;
    leaf.ops.push_back(std::move(op));
    if (copied_out) {
      AddCopy(node, {ValueRef::Kind::kLocal, state.local},
              {ValueRef::Kind::kAccess, operands.Add(MemoryOf(value), value.storage)},
              context_.tensors[value.tensor].dtype, leaf);
    }
    DoneReading(index, operands);
  }

  void EmitStore(uint32_t index, program::Leaf& leaf, LeafOperands& operands) {
    const Node& node = graph_.nodes[index];
    const NodeInput& input = node.inputs.front();
    if (values_[input.value].written_directly != index) {
      const uint32_t storage = context_.variables[node.target.variable].storage;
      const ValueRef from = InputRef(index, input, operands);
      const ValueRef to = {ValueRef::Kind::kAccess, operands.Add(node.target, storage)};
      AddCopy(node, from, to, context_.tensors[node.target.variable].dtype, leaf);
    }
    DoneReading(index, operands);
  }

  void AddCopy(const Node& node, ValueRef from, ValueRef to, DType dtype, program::Leaf& leaf) {
    program::LeafOp op;
    op.code = OpCode::kCopy;
    op.inputs = {from};
    op.output = to;
    op.compute_dtype = dtype;
    op.place = context_.PlaceIndex(node.step->place);
    leaf.ops.push_back(std::move(op));
  }

  Context& context_;
  const uint32_t run_;
  RootGraph& graph_;
  const LeafPartition& partition_;
  std::vector<ValueState> values_;
  program::RootFunction root_;
};

}  // namespace

base::Status EmitRoot(Context& context, uint32_t run, RootGraph& graph, const LeafPartition& partition) {
  RootEmitter emitter(context, run, graph, partition);
  return emitter.Emit();
}

}  // namespace pypto::compile
