// Where control flow reads cells, sets slots and checks conditions.
#include "pypto/compile/slots.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace pypto::compile {
namespace {

// Rewrites the control tree once. Owned by PlaceSlots.
class SlotPlacer {
 public:
  explicit SlotPlacer(Context& context) : context_(context) {}

  void Place(std::vector<Control>& items) {
    std::vector<Control> placed;
    for (Control& item : items) {
      if (item.kind == Control::Kind::kRun) {
        PlaceRun(std::move(item), placed);
        continue;
      }
      Place(item.body);
      Place(item.otherwise);
      placed.push_back(std::move(item));
    }
    items = std::move(placed);
  }

 private:
  void PlaceRun(Control item, std::vector<Control>& out) {
    const uint32_t end = context_.runs[item.run].end_step;
    std::vector<Control> in_front;
    Forget();
    for (uint32_t i = context_.runs[item.run].first_step; i < end; ++i) {
      Step& step = context_.steps[i];
      if (step.IsControl() && IsTooEarly(step)) {
        std::move(in_front.begin(), in_front.end(), std::back_inserter(out));
        in_front.clear();
        out.push_back(item);
        item.run = SplitRun(item.run, i);
        item.place = step.place;
        Forget();
      }
      step.run = item.run;
      if (!step.IsControl()) {
        Note(step);
        continue;
      }
      Control control;
      control.kind = Control::Kind::kStep;
      control.step = i;
      control.place = step.place;
      in_front.push_back(std::move(control));
    }
    context_.runs[item.run].end_step = end;
    std::move(in_front.begin(), in_front.end(), std::back_inserter(out));
    out.push_back(std::move(item));
  }

  // The run ends in front of the step; returns the one that begins there.
  uint32_t SplitRun(uint32_t run, uint32_t step) {
    context_.runs[run].end_step = step;
    Run next;
    next.first_step = step;
    next.loop = context_.runs[run].loop;
    context_.runs.push_back(next);
    return static_cast<uint32_t>(context_.runs.size() - 1);
  }

  void Forget() {
    written_.clear();
    used_.clear();
  }

  // In front of the present run it would see, or leave behind, something else.
  bool IsTooEarly(const Step& step) {
    if (step.kind == StepKind::kRead) return written_.count(context_.ViewOf(step.inputs[0].tensor).variable) != 0;
    if (step.kind != StepKind::kSet) return false;
    return std::any_of(step.set->values.begin(), step.set->values.end(),
                       [this](const program::SlotValue& value) { return used_.count(value.slot) != 0; });
  }

  void Note(const Step& step) {
    const bool writes = step.kind == StepKind::kOp || step.kind == StepKind::kStore;
    if (writes) written_.insert(context_.ViewOf(step.output).variable);
    if (step.guard != kNoExpr) Use(step.guard);
    UseAll(step.offsets);
    for (const program::Operand& input : step.inputs) {
      if (input.kind == program::Operand::Kind::kTensor) {
        UseTensor(input.tensor);
      } else if (input.expr != kNoExpr) {
        Use(input.expr);
      }
    }
    if (step.output != kNoTensor) UseTensor(step.output);
  }

  void UseTensor(TensorId tensor) {
    UseAll(context_.tensors[tensor].valid);
    const View& view = context_.ViewOf(tensor);
    Use(view.offset);
    UseAll(view.non_negative);
  }

  void UseAll(const std::vector<ExprId>& exprs) {
    for (const ExprId expr : exprs) Use(expr);
  }

  void Use(ExprId expr) {
    for (const uint32_t slot : SlotsOf(expr)) used_.insert(slot);
  }

  const std::vector<uint32_t>& SlotsOf(ExprId expr) {
    const auto nodes = context_.exprs().nodes();
    for (auto id = static_cast<ExprId>(slots_of_.size()); id < nodes.size(); ++id) {
      const program::ExprNode& node = nodes[id];
      std::vector<uint32_t> slots;
      if (node.op == program::ExprOp::kSlot) slots.push_back(node.a);
      const int count = program::ChildCount(node.op);
      const ExprId children[] = {node.a, node.b, node.c};
      for (int i = 0; i < count; ++i) {
        slots.insert(slots.end(), slots_of_[children[i]].begin(), slots_of_[children[i]].end());
      }
      std::sort(slots.begin(), slots.end());
      slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
      slots_of_.push_back(std::move(slots));
    }
    return slots_of_[expr];
  }

  Context& context_;
  std::unordered_set<TensorId> written_;         // variables that the present run has written so far
  std::unordered_set<uint32_t> used_;            // slots that it has used
  std::vector<std::vector<uint32_t>> slots_of_;  // per expression
};

}  // namespace

void PlaceSlots(Context& context) {
  if (context.plan.slots.empty() && context.program.slots.empty()) {
    const bool plain =
        std::none_of(context.steps.begin(), context.steps.end(), [](const Step& step) { return step.IsControl(); });
    if (plain) return;
  }
  SlotPlacer(context).Place(context.control);
}

}  // namespace pypto::compile
