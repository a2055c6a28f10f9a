// Loops, branches and root functions.
#include "pypto/device/control_flow.h"

namespace pypto::device {

using program::ControlNode;
using program::EvalOutcome;
using program::FaultKind;

bool ControlFlow::Aborted() {
  if (abort_ == nullptr || !abort_->load(std::memory_order_relaxed)) return false;
  fault_.Set(FaultKind::kAborted, 0, 0, "the launch was aborted");
  return true;
}

bool ControlFlow::Walk(const std::vector<ControlProgram>& nodes, Place place) {
  for (const ControlProgram& node : nodes) {
    bool alive = false;
    switch (node.kind) {
      case ControlNode::Kind::kRoot: alive = !Aborted() && stitcher_.AddInstance(node.root, place.copy); break;
      case ControlNode::Kind::kLoop: alive = Loop(node, place); break;
      case ControlNode::Kind::kIf: alive = Branch(node, place); break;
      default: alive = Slots(node); break;
    }
    if (!alive) return false;
  }
  return true;
}

bool ControlFlow::Value(const ControlProgram& node, ExprId id, int64_t* value) {
  const ExprFrame& frame = launch_.frame();
  const bool bounds = node.kind == ControlNode::Kind::kLoop || node.kind == ControlNode::Kind::kIf;
  switch (frame.outcome(id)) {
    case EvalOutcome::kOk: *value = frame[id]; return true;
    case EvalOutcome::kDivisionByZero:
      return fault_.Set(FaultKind::kDivisionByZero, node.place, 0,
                        bounds ? "division by zero in the bounds of a loop or branch"
                               : "division by zero in a value that loops or branches carry");
    case EvalOutcome::kOverflow: break;
  }
  return fault_.Set(FaultKind::kOverflow, node.place, 0,
                    bounds ? "the bounds of a loop or branch exceed 64 bits"
                           : "a value that loops or branches carry exceeds 64 bits");
}

bool ControlFlow::Slots(const ControlProgram& node) {
  launch_.frame().Update(node.varying);
  int64_t value = 1;
  if (node.condition != program::kNoExpr && !Value(node, node.condition, &value)) return false;
  if (value == 0) return true;
  if (node.kind == ControlNode::Kind::kRead) {
    for (const auto* list : {&node.read.indices, &node.read.valid, &node.read.non_negative}) {
      for (const ExprId id : *list) {
        if (!Value(node, id, &value)) return false;
      }
    }
    if (!Value(node, node.read.offset, &value)) return false;
    return stitcher_.ReadCell(node, &launch_.frame().slot(node.slot));
  }
  if (node.kind == ControlNode::Kind::kCheck) {
    if (!Value(node, node.checked, &value)) return false;
    return value != 0 || fault_.Set(FaultKind::kUnbound, node.place, 0, node.text);
  }
  new_values_.clear();
  for (const program::SlotValue& set : node.sets) {
    if (!Value(node, set.value, &new_values_.emplace_back())) return false;
  }
  for (size_t i = 0; i < node.sets.size(); ++i) launch_.frame().slot(node.sets[i].slot) = new_values_[i];
  return true;
}

bool ControlFlow::Loop(const ControlProgram& node, Place place) {
  launch_.frame().Update(node.varying);
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 0;
  if (!Value(node, node.start, &start) || !Value(node, node.stop, &stop) || !Value(node, node.step, &step))
    return false;
  if (step == 0) return fault_.Set(FaultKind::kZeroStep, node.place, 0, "the step of a loop is 0");
  if (node.submit_before && !stitcher_.Submit()) return false;
  const bool assigns = node.parallel && !place.in_parallel;
  const uint32_t copies = launch_.budget().parallelism;
  uint32_t next_copy = 0;
  for (int64_t index = start; step > 0 ? index < stop : index > stop;) {
    if (Aborted()) return false;
    launch_.frame().loop_index(node.loop) = index;
    stitcher_.BeginAnew(node.fresh);
    if (!Walk(node.body, assigns ? Place{next_copy, true} : place)) return false;
    if (++next_copy == copies) next_copy = 0;
    if (__builtin_add_overflow(index, step, &index)) break;
  }
  return true;
}

bool ControlFlow::Branch(const ControlProgram& node, Place place) {
  launch_.frame().Update(node.varying);
  int64_t condition = 0;
  if (!Value(node, node.condition, &condition)) return false;
  return Walk(condition != 0 ? node.body : node.otherwise, place);
}

}  // namespace pypto::device
