// Evaluation that keeps failures with the value they belong to.
#include "pypto/device/expr_frame.h"

#include <algorithm>

namespace pypto::device {

using program::EvalOutcome;
using program::ExprNode;
using program::ExprOp;

void ExprFrame::Reset(const LoadedExecutable& executable, std::span<const int64_t> symbols,
                      std::span<const int64_t> scalars) {
  nodes_ = executable.plan().exprs.nodes();
  values_.resize(nodes_.size());
  outcomes_.assign(nodes_.size(), static_cast<uint8_t>(EvalOutcome::kOk));
  loop_indices_.assign(executable.plan().loop_count, 0);
  slots_.assign(executable.plan().slots.size(), 0);
  environment_ = {symbols, scalars, loop_indices_, slots_};
  sound_ = true;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].op == ExprOp::kConst) values_[id] = nodes_[id].value;
  }
  Update(executable.invariant());
}

void ExprFrame::UpdateSlowly(std::span<const ExprId> ids) {
  sound_ = false;
  for (const ExprId id : ids) outcomes_[id] = static_cast<uint8_t>(EvaluateOne(id));
}

EvalOutcome ExprFrame::EvaluateOne(ExprId id) {
  const ExprNode& node = nodes_[id];
  const auto failure = [this](ExprId child) { return static_cast<EvalOutcome>(outcomes_[child]); };
  const int children = program::ChildCount(node.op);
  if (node.op == ExprOp::kSelect) {
    if (failure(node.a) != EvalOutcome::kOk) return failure(node.a);
    const ExprId chosen = values_[node.a] != 0 ? node.b : node.c;
    values_[id] = values_[chosen];
    return failure(chosen);
  }
  if (node.op == ExprOp::kAnd || node.op == ExprOp::kOr) {
    // One side can decide alone.
    const bool deciding = node.op == ExprOp::kOr;
    for (const ExprId child : {node.a, node.b}) {
      if (failure(child) != EvalOutcome::kOk || (values_[child] != 0) != deciding) continue;
      values_[id] = deciding ? 1 : 0;
      return EvalOutcome::kOk;
    }
  }
  if (children > 0 && failure(node.a) != EvalOutcome::kOk) return failure(node.a);
  if (children > 1 && failure(node.b) != EvalOutcome::kOk) return failure(node.b);
  return program::EvaluateNodes(nodes_, std::span(&id, 1), environment_, values_);
}

}  // namespace pypto::device
