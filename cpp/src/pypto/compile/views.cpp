// Windows and reshapes: free, or copies.
#include "pypto/compile/views.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pypto/program/reshape_valid.h"

namespace pypto::compile {
namespace {

// Strides of `view` over memory laid out as `shape` with `strides`; nothing when no strides express it.
std::optional<std::vector<ExprId>> ReshapedStrides(program::ExprPool& exprs, const std::vector<int64_t>& shape,
                                                   const std::vector<ExprId>& strides,
                                                   const std::vector<int64_t>& view) {
  std::vector<ExprId> result(view.size(), exprs.Const(0));
  auto open = static_cast<int64_t>(view.size()) - 1;
  int64_t base_count = 1;
  int64_t view_count = 1;
  ExprId unit = strides.back();
  for (size_t dim = shape.size(); dim-- > 0;) {
    base_count *= shape[dim];
    // The dim in front continues this piece when its stride is what the piece spans.
    const bool continues =
        dim > 0 && (shape[dim - 1] == 1 || strides[dim - 1] == exprs.Mul(unit, exprs.Const(base_count)));
    if (continues) continue;
    while (open >= 0 && (view_count < base_count || view[static_cast<size_t>(open)] == 1)) {
      const auto index = static_cast<size_t>(open--);
      result[index] = exprs.Mul(unit, exprs.Const(view_count));
      view_count *= view[index];
    }
    if (view_count != base_count) return std::nullopt;
    if (dim > 0) {
      unit = strides[dim - 1];
      base_count = 1;
      view_count = 1;
    }
  }
  return open < 0 ? std::optional(std::move(result)) : std::nullopt;
}

// Where tensors are read and variables are written. Owned by ResolveViews.
class ViewResolver {
 public:
  explicit ViewResolver(Context& context)
      : context_(context), uses_(context.tensors.size()), writes_(context.tensors.size()) {}

  base::Status Resolve() {
    IndexSteps();
    const auto count = static_cast<uint32_t>(context_.steps.size());
    for (uint32_t i = 0; i < count; ++i) {
      if (context_.steps[i].kind == StepKind::kView) ResolveStep(i);
    }
    return base::OkStatus();
  }

 private:
  void IndexSteps() {
    for (uint32_t i = 0; i < context_.steps.size(); ++i) {
      const Step& step = context_.steps[i];
      for (const program::Operand& input : step.inputs) {
        if (input.kind == program::Operand::Kind::kTensor) uses_[input.tensor].push_back(i);
      }
      // Only parameters and declared tensors are written after they come to exist.
      if (step.kind == StepKind::kStore || step.kind == StepKind::kDeclare)
        writes_[context_.ViewOf(step.output).variable].push_back(i);
    }
  }

  void ResolveStep(uint32_t index) {
    Step& step = context_.steps[index];
    const TensorId base = step.inputs[0].tensor;
    std::optional<View> view = step.reshape ? Reshaped(base, step.output) : Window(base, step);
    const bool padding = step.reshape && !PaddingStays(base, step.output);
    if (view && !padding && !WrittenBeforeUse(index, view->variable)) {
      context_.views[step.output] = *std::move(view);
      return;
    }
    Materialise(step, base, padding);
  }

  View Window(TensorId base, const Step& step) {
    program::ExprPool& exprs = context_.exprs();
    View view = context_.ViewOf(base);
    const program::Tensor& from = context_.tensors[base];
    const program::Tensor& to = context_.tensors[step.output];
    view.whole = view.whole && from.shape == to.shape;
    for (size_t i = 0; i < step.offsets.size(); ++i) {
      const ExprId offset = step.offsets[i];
      if (exprs.IsConstant(offset, 0)) continue;
      view.whole = false;
      view.offset = exprs.Add(view.offset, exprs.Mul(offset, view.strides[i]));
      if (!view.starts.empty()) view.starts[i] = exprs.Add(view.starts[i], offset);
      if (exprs.Range(offset).first < 0) view.non_negative.push_back(offset);
    }
    return view;
  }

  std::optional<View> Reshaped(TensorId base, TensorId output) {
    program::ExprPool& exprs = context_.exprs();
    const View& from = context_.ViewOf(base);
    auto strides = ReshapedStrides(exprs, StaticExtents(exprs, context_.tensors[base].shape), from.strides,
                                   StaticExtents(exprs, context_.tensors[output].shape));
    if (!strides) return std::nullopt;
    View view;
    view.variable = from.variable;
    view.offset = from.offset;
    view.strides = *std::move(strides);
    view.non_negative = from.non_negative;
    view.whole = from.whole;
    return view;
  }

  // Every valid cell of the reshaped tensor is a valid cell of its base.
  bool PaddingStays(TensorId base, TensorId output) {
    program::ExprPool& exprs = context_.exprs();
    const program::Tensor& from = context_.tensors[base];
    const program::Tensor& to = context_.tensors[output];
    if (from.valid == from.shape) return true;
    const auto box =
        program::ReshapeValid(exprs, StaticExtents(exprs, from.shape), from.valid, StaticExtents(exprs, to.shape));
    if (!box) return false;
    for (size_t i = 0; i < box->size(); ++i) {
      if (to.valid[i] != (*box)[i] && exprs.Range(exprs.Sub((*box)[i], to.valid[i])).first < 0) return false;
    }
    return true;
  }

  // A write to the variable may come between the view's place and one of its uses.
  bool WrittenBeforeUse(uint32_t index, TensorId variable) const {
    if (variable >= writes_.size() || writes_[variable].empty()) return false;
    const std::vector<uint32_t>& writes = writes_[variable];
    uint32_t end = index;
    for (const uint32_t use : uses_[context_.steps[index].output]) end = std::max(end, EndOfWindow(index, use));
    const auto next = std::upper_bound(writes.begin(), writes.end(), index);
    return next != writes.end() && *next < end;
  }

  // The use itself, or the end of the outermost loop around it that the view stands outside of: every write in that
  // loop comes before the use of some iteration.
  uint32_t EndOfWindow(uint32_t index, uint32_t use) const {
    uint32_t end = use;
    for (uint32_t loop = context_.steps[use].loop; loop != context_.steps[index].loop && loop != 0;
         loop = context_.loops[loop].parent) {
      end = context_.loops[loop].end_step;
    }
    return end;
  }

  // The step becomes a copy of the window, or of the base in its own shape; the view lies over that copy.
  void Materialise(Step& step, TensorId base, bool padding) {
    program::ExprPool& exprs = context_.exprs();
    TensorId source = base;
    if (!step.reshape) {
      source = context_.AddTensor(context_.tensors[step.output]);
      context_.views[source] = Window(base, step);
    }
    program::Tensor copy = context_.tensors[source];
    copy.origin = program::TensorOrigin::kTemporary;
    copy.name = context_.tensors[step.output].name;
    if (padding) copy.valid = copy.shape;
    const TensorId target = context_.AddTensor(std::move(copy));
    View view = context_.ViewOf(target);
    if (step.reshape) {
      view.strides = RowMajorStrides(exprs, context_.tensors[step.output].shape);
      view.starts.clear();
    }
    context_.views[step.output] = std::move(view);
    step.kind = StepKind::kOp;
    step.code = OpCode::kCopy;
    step.inputs[0].tensor = source;
    step.output = target;
    step.zero_fill = padding;
    step.offsets.clear();
  }

  Context& context_;
  std::vector<std::vector<uint32_t>> uses_;    // per tensor of the program: steps that read it
  std::vector<std::vector<uint32_t>> writes_;  // per tensor of the program: steps that change it
};

}  // namespace

base::Status ResolveViews(Context& context) {
  ViewResolver resolver(context);
  return resolver.Resolve();
}

}  // namespace pypto::compile
