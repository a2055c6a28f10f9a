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
    }
    if (!alive) return false;
  }
  return true;
}

bool ControlFlow::Value(const ControlProgram& node, ExprId id, int64_t* value) {
  const ExprFrame& frame = launch_.frame();
  switch (frame.outcome(id)) {
    case EvalOutcome::kOk: *value = frame[id]; return true;
    case EvalOutcome::kDivisionByZero:
      return fault_.Set(FaultKind::kDivisionByZero, node.place, 0,
                        "division by zero in the bounds of a loop or branch");
    case EvalOutcome::kOverflow: break;
  }
  return fault_.Set(FaultKind::kOverflow, node.place, 0, "the bounds of a loop or branch exceed 64 bits");
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
