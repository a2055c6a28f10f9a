// The machine for plans.
#include <algorithm>
#include <memory>
#include <set>

#include "compile/machine.h"
#include "compile/machine_ops.h"

namespace pypto::compile::testing {
namespace {

using program::Plan;
using program::TensorClass;
using program::ValueRef;
using Buffer = std::shared_ptr<std::vector<double>>;
using Cells = std::vector<int64_t>;

class PlanMachine {
 public:
  PlanMachine(const Plan& plan, const Bindings& bindings, Memory& memory)
      : plan_(plan), bindings_(bindings), buffers_(plan.storages.size()) {
    size_t next = 0;
    std::map<int32_t, size_t> position;
    for (size_t i = 0; i < plan.parameters.size(); ++i) {
      if (plan.parameters[i].is_tensor) position[static_cast<int32_t>(i)] = next++;
    }
    for (size_t i = 0; i < plan.storages.size(); ++i) {
      if (plan.storages[i].tensor_class != TensorClass::kParameter) continue;
      std::vector<double>& cells = memory[position.at(plan.storages[i].parameter)];
      buffers_[i] = Buffer(&cells, [](std::vector<double>*) {});
    }
  }

  PlanRun Run() {
    RunNodes(plan_.control);
    return std::move(run_);
  }

 private:
  int64_t Value(program::ExprId id) const { return Eval(plan_.exprs, id, bindings_); }

  void Complain(const std::string& what) {
    if (run_.complaints.size() < 10) run_.complaints.push_back(what);
  }

  void RunNodes(const std::vector<program::ControlNode>& nodes) {
    for (const program::ControlNode& node : nodes) {
      switch (node.kind) {
        case program::ControlNode::Kind::kRoot: RunRoot(plan_.roots[node.root]); break;
        case program::ControlNode::Kind::kIf: RunNodes(Value(node.condition) != 0 ? node.body : node.otherwise); break;
        case program::ControlNode::Kind::kLoop: {
          const int64_t start = Value(node.start);
          const int64_t stop = Value(node.stop);
          const int64_t step = Value(node.step);
          for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
            bindings_.loops[node.loop] = i;
            for (const uint32_t storage : node.fresh) buffers_[storage] = nullptr;
            RunNodes(node.body);
          }
          break;
        }
        default:
          if (node.condition == program::kNoExpr || Value(node.condition) != 0) RunStep(node);
          break;
      }
    }
  }

  void RunStep(const program::ControlNode& node) {
    if (node.kind == program::ControlNode::Kind::kRead) {
      int64_t element = Value(node.read.offset);
      for (size_t i = 0; i < node.read.indices.size(); ++i) {
        const int64_t index = Value(node.read.indices[i]);
        if (index < 0 || index >= Value(node.read.valid[i])) Complain("a scalar read outside");
        element += index * Value(node.read.strides[i]);
      }
      const Buffer& buffer = buffers_[node.read.storage];
      if (buffer == nullptr)
        return Complain("a scalar read of " + plan_.storages[node.read.storage].name + ", given back");
      bindings_.slots[node.slot] = static_cast<int64_t>(buffer->at(static_cast<size_t>(element)));
    }
    std::vector<int64_t> values;
    for (const program::SlotValue& one : node.sets) values.push_back(Value(one.value));
    for (size_t i = 0; i < values.size(); ++i) bindings_.slots[node.sets[i].slot] = values[i];
    if (node.kind == program::ControlNode::Kind::kCheck && Value(node.checked) == 0) Complain(node.text);
  }

  Buffer NewBuffer(uint32_t storage) const {
    int64_t count = 1;
    for (const program::ExprId dim : plan_.storages[storage].dims) count *= Value(dim);
    return std::make_shared<std::vector<double>>(static_cast<size_t>(count), Poison());
  }

  bool IsOutcast(uint32_t storage) const { return program::IsOutcast(plan_.storages[storage].tensor_class); }

  void Take(uint32_t storage, std::array<int64_t, 3>& taken) {
    const auto pool = static_cast<size_t>(plan_.storages[storage].tensor_class) - 1;
    taken[pool] += Value(plan_.storages[storage].bytes);
  }

  void RunRoot(const program::RootFunction& root) {
    ++run_.instances;
    std::array<int64_t, 3> taken{};
    old_ = buffers_;
    written_.clear();
    for (const uint32_t storage : root.root_inner) old_[storage] = buffers_[storage] = nullptr;
    for (const program::Leaf& leaf : root.leaves) {
      if (leaf.guard != program::kNoExpr && Value(leaf.guard) == 0) continue;
      for (const program::Access& access : leaf.accesses) {
        const bool inner = plan_.storages[access.storage].tensor_class == TensorClass::kRootInner;
        if (!inner || buffers_[access.storage] != nullptr) continue;
        old_[access.storage] = buffers_[access.storage] = NewBuffer(access.storage);
        Take(access.storage, taken);
      }
    }
    for (const program::OutcastWrite& write : root.writes) {
      if (!IsOutcast(write.storage)) continue;
      const bool whole = write.kind == program::WriteKind::kWhole;
      if (!whole && buffers_[write.storage] != nullptr) continue;
      buffers_[write.storage] = NewBuffer(write.storage);
      if (!whole) old_[write.storage] = buffers_[write.storage];
      Take(write.storage, taken);
    }
    for (const program::Leaf& leaf : root.leaves) RunLeaf(leaf);
    const std::set<uint32_t> live(root.live_after.begin(), root.live_after.end());
    int64_t boundary = 0;
    for (uint32_t storage = 0; storage < buffers_.size(); ++storage) {
      if (!IsOutcast(storage)) continue;
      if (live.count(storage) == 0) {
        buffers_[storage] = nullptr;
      } else {
        boundary += Value(plan_.storages[storage].bytes);
      }
    }
    run_.most_boundary_bytes = std::max(run_.most_boundary_bytes, boundary);
    for (size_t pool = 0; pool < 3; ++pool) run_.most_bytes[pool] = std::max(run_.most_bytes[pool], taken[pool]);
  }

  // Reads see what was there before the instance until a leaf of it has written the tensor.
  const std::vector<double>& ReadBuffer(uint32_t storage) {
    const Buffer& buffer = written_.count(storage) != 0 ? buffers_[storage] : old_[storage];
    if (buffer != nullptr) return *buffer;
    old_[storage] = NewBuffer(storage);
    return *old_[storage];
  }

  void RunLeaf(const program::Leaf& leaf) {
    if (leaf.guard != program::kNoExpr && Value(leaf.guard) == 0) return;
    leaf_ = &leaf;
    offsets_.clear();
    strides_.clear();
    valid_.clear();
    for (const program::Access& access : leaf.accesses) {
      offsets_.push_back(Value(access.offset));
      strides_.push_back(Values(access.strides));
      valid_.push_back(Values(access.valid));
      for (const program::ExprId start : access.non_negative) {
        if (Value(start) < 0) Complain("a start is negative");
      }
    }
    Cells tiles;
    for (size_t i = 0; i < leaf.extents.size(); ++i)
      tiles.push_back((leaf.extents[i] + leaf.tile[i] - 1) / leaf.tile[i]);
    std::vector<Cells> order;
    ForEachCell(Cells(tiles.size(), 0), tiles, [&](const Cells& tile) { order.push_back(tile); });
    for (size_t i = order.size(); i-- > 0;) RunTile(order[i]);
    for (const program::LeafOp& op : leaf.ops) {
      if (op.output.kind == ValueRef::Kind::kAccess) written_.insert(leaf.accesses[op.output.index].storage);
    }
  }

  Cells Values(const std::vector<program::ExprId>& ids) const {
    Cells values;
    for (const program::ExprId id : ids) values.push_back(Value(id));
    return values;
  }

  void RunTile(const Cells& tile) {
    locals_.clear();
    for (const program::Local& local : leaf_->locals) {
      int64_t count = 1;
      for (const int64_t extent : local.extents) count *= extent;
      locals_.emplace_back(static_cast<size_t>(count), Poison());
    }
    low_.clear();
    high_.clear();
    for (size_t i = 0; i < tile.size(); ++i) {
      low_.push_back(tile[i] * leaf_->tile[i]);
      high_.push_back(std::min(low_[i] + leaf_->tile[i], leaf_->extents[i]));
    }
    for (const program::LeafOp& op : leaf_->ops) RunOp(op);
  }

  const Cells& ExtentsOf(const ValueRef& ref) const {
    return ref.kind == ValueRef::Kind::kAccess ? leaf_->accesses[ref.index].extents : leaf_->locals[ref.index].extents;
  }

  Cells ValidOf(const ValueRef& ref) const {
    return ref.kind == ValueRef::Kind::kAccess ? valid_[ref.index] : Values(leaf_->locals[ref.index].valid);
  }

  double Read(const ValueRef& ref, const Cells& at) {
    if (ref.kind == ValueRef::Kind::kFloat) return ref.float_value;
    if (ref.kind == ValueRef::Kind::kInt) return static_cast<double>(ref.int_value);
    if (ref.kind == ValueRef::Kind::kExpr) return static_cast<double>(Value(ref.index));
    return *Locate(ref, at, true);
  }

  const double* Locate(const ValueRef& ref, const Cells& at, bool read) {
    const Cells& extents = ExtentsOf(ref);
    int64_t index = 0;
    if (ref.kind == ValueRef::Kind::kLocal) {
      for (size_t i = 0; i < at.size(); ++i) index = index * extents[i] + (extents[i] == 1 ? 0 : at[i]);
      return &locals_[ref.index][static_cast<size_t>(index)];
    }
    const program::Access& access = leaf_->accesses[ref.index];
    index = offsets_[ref.index];
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t coordinate = extents[i] == 1 ? 0 : at[i];
      if (coordinate >= valid_[ref.index][i]) Complain("a cell past the valid extent");
      index += coordinate * strides_[ref.index][i];
    }
    const std::vector<double>& cells = read ? ReadBuffer(access.storage) : *buffers_[access.storage];
    if (index < 0 || static_cast<size_t>(index) >= cells.size()) {
      Complain("an access outside of storage " + plan_.storages[access.storage].name);
      return &outside_;
    }
    return &cells[static_cast<size_t>(index)];
  }

  void RunOp(const program::LeafOp& op) {
    const Cells& extents = ExtentsOf(op.output);
    const Cells valid = ValidOf(op.output);
    Cells low = low_;
    Cells high = high_;
    for (size_t i = 0; i < low.size(); ++i) {
      if (extents[i] == 1) low[i] = 0, high[i] = 1;
      high[i] = std::min(high[i], valid[i]);
    }
    ForEachCell(low, high, [&](const Cells& at) {
      double result = 0;
      if (op.code == program::OpCode::kMatmul) {
        result = Product(op, at);
      } else if (op.axis >= 0) {
        const auto axis = static_cast<size_t>(op.axis);
        result = ReduceStart(op.code);
        Cells from = at;
        for (int64_t i = 0; i < ValidOf(op.inputs[0])[axis]; ++i) {
          from[axis] = i;
          result = ReduceStep(op.code, result, Read(op.inputs[0], from));
        }
      } else {
        const double a = Read(op.inputs[0], at);
        result = ApplyOp(op.code, a, op.inputs.size() > 1 ? Read(op.inputs[1], at) : 0);
      }
      *const_cast<double*>(Locate(op.output, at, false)) = result;
    });
  }

  double Product(const program::LeafOp& op, const Cells& at) {
    const size_t last = at.size() - 1;
    Cells in_a = at;
    Cells in_b = at;
    const int64_t limit = std::min(valid_[op.inputs[0].index][last], valid_[op.inputs[1].index][last - 1]);
    double sum = 0;
    for (int64_t k = 0; k < limit; ++k) {
      in_a[last] = k;
      in_b[last - 1] = k;
      sum += Read(op.inputs[0], in_a) * Read(op.inputs[1], in_b);
    }
    return sum;
  }

  const Plan& plan_;
  Bindings bindings_;
  std::vector<Buffer> buffers_;  // present generations
  std::vector<Buffer> old_;      // as before the instance at work
  std::set<uint32_t> written_;   // by leaves of the instance at work
  PlanRun run_;
  const program::Leaf* leaf_ = nullptr;
  Cells offsets_;
  std::vector<Cells> strides_;
  std::vector<Cells> valid_;
  std::vector<std::vector<double>> locals_;
  Cells low_;
  Cells high_;
  double outside_ = Poison();
};

}  // namespace

PlanRun RunPlan(const Plan& plan, const Bindings& bindings, Memory& memory) {
  PlanMachine machine(plan, bindings, memory);
  return machine.Run();
}

}  // namespace pypto::compile::testing
