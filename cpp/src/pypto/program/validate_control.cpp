// Validation of the control tree.
#include "pypto/program/validate.h"

namespace pypto::program {
namespace {

using base::OkStatus;
using base::Status;

constexpr int kMaxControlDepth = 64;

// Walks the control tree of one plan. Thread rule: one thread, one use.
class ControlValidator {
 public:
  explicit ControlValidator(const Plan& plan)
      : plan_(plan), used_(plan.loop_count, false), open_(plan.loop_count, false), loops_of_root_(plan.roots.size()) {
    for (size_t i = 0; i < plan.roots.size(); ++i) {
      for (const ExprId id : plan.roots[i].exprs) {
        const ExprNode& node = plan.exprs.node(id);
        if (node.op == ExprOp::kLoopIndex) loops_of_root_[i].push_back(node.a);
      }
    }
  }

  Status Check(const std::vector<ControlNode>& nodes, int depth) {
    if (depth > kMaxControlDepth) return Unsound("the control tree is more than %d deep", kMaxControlDepth);
    for (const ControlNode& node : nodes) {
      switch (node.kind) {
        case ControlNode::Kind::kRoot: PYPTO_RETURN_IF_ERROR(CheckRoot(node)); break;
        case ControlNode::Kind::kLoop: PYPTO_RETURN_IF_ERROR(CheckLoop(node, depth)); break;
        case ControlNode::Kind::kIf:
          PYPTO_RETURN_IF_ERROR(CheckExpr(node.condition));
          PYPTO_RETURN_IF_ERROR(Check(node.body, depth + 1));
          PYPTO_RETURN_IF_ERROR(Check(node.otherwise, depth + 1));
          break;
        case ControlNode::Kind::kRead:
          reads_ = true;
          PYPTO_RETURN_IF_ERROR(CheckGuard(node));
          PYPTO_RETURN_IF_ERROR(CheckCell(node));
          break;
        case ControlNode::Kind::kSet:
          PYPTO_RETURN_IF_ERROR(CheckGuard(node));
          for (const SlotValue& set : node.sets) {
            PYPTO_RETURN_IF_ERROR(CheckExpr(set.value));
            if (set.slot >= plan_.slots.size()) return Unsound("the control tree sets slot %u", set.slot);
          }
          break;
        case ControlNode::Kind::kCheck:
          PYPTO_RETURN_IF_ERROR(CheckGuard(node));
          PYPTO_RETURN_IF_ERROR(CheckExpr(node.checked));
          break;
      }
    }
    return OkStatus();
  }

  bool reads() const { return reads_; }

 private:
  Status CheckExpr(ExprId id) const {
    return id < plan_.exprs.size() ? OkStatus() : Unsound("the control tree names expression %u", id);
  }

  Status CheckGuard(const ControlNode& node) const {
    return node.condition == kNoExpr ? OkStatus() : CheckExpr(node.condition);
  }

  Status CheckCell(const ControlNode& node) const {
    const CellRead& read = node.read;
    const bool fits = read.storage < plan_.storages.size() && node.slot < plan_.slots.size() &&
                      plan_.slots[node.slot].kind == ScalarKind::kInt &&
                      plan_.storages[read.storage].tensor_class != TensorClass::kRootInner &&
                      IsInteger(plan_.storages[read.storage].dtype);
    if (!fits) return Unsound("the control tree reads storage %u into slot %u", read.storage, node.slot);
    const size_t rank = read.indices.size();
    if (rank == 0 || rank > kMaxRank || read.strides.size() != rank || read.valid.size() != rank ||
        read.non_negative.size() > kMaxRank * kMaxRank) {
      return Unsound("a read of the control tree has rank %zu", rank);
    }
    PYPTO_RETURN_IF_ERROR(CheckExpr(read.offset));
    for (const auto* list : {&read.strides, &read.indices, &read.valid, &read.non_negative}) {
      for (const ExprId id : *list) PYPTO_RETURN_IF_ERROR(CheckExpr(id));
    }
    return OkStatus();
  }

  Status CheckRoot(const ControlNode& node) const {
    if (node.root >= plan_.roots.size()) return Unsound("the control tree names root function %u", node.root);
    for (const uint32_t loop : loops_of_root_[node.root]) {
      if (!open_[loop]) return Unsound("root function %u uses the index of loop %u outside of it", node.root, loop);
    }
    return OkStatus();
  }

  Status CheckLoop(const ControlNode& node, int depth) {
    if (node.loop >= plan_.loop_count || used_[node.loop])
      return Unsound("loop %u is unknown or used twice", node.loop);
    for (const ExprId id : {node.start, node.stop, node.step}) PYPTO_RETURN_IF_ERROR(CheckExpr(id));
    if (plan_.exprs.IsConstant(node.step, 0)) return Unsound("the step of loop %u is zero", node.loop);
    for (const uint32_t storage : node.fresh) {
      if (storage >= plan_.storages.size() || !IsOutcast(plan_.storages[storage].tensor_class)) {
        return Unsound("loop %u begins storage %u anew, which is no outcast", node.loop, storage);
      }
    }
    used_[node.loop] = true;
    open_[node.loop] = true;
    PYPTO_RETURN_IF_ERROR(Check(node.body, depth + 1));
    open_[node.loop] = false;
    return OkStatus();
  }

  const Plan& plan_;
  std::vector<bool> used_;  // per loop
  std::vector<bool> open_;  // per loop
  bool reads_ = false;
  std::vector<std::vector<uint32_t>> loops_of_root_;  // loops whose indices a root function reads
};

}  // namespace

Status ValidateControl(const Plan& plan) {
  ControlValidator validator(plan);
  PYPTO_RETURN_IF_ERROR(validator.Check(plan.control, 0));
  if (validator.reads() == plan.reads_tensors) return OkStatus();
  return Unsound("the mark for reads of tensors does not fit the control tree");
}

}  // namespace pypto::program
