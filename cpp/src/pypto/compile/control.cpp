// The control tree of the plan, and a rough count of the work of one launch.
#include "pypto/compile/control.h"

#include <algorithm>
#include <utility>

namespace pypto::compile {
namespace {

constexpr double kMostFlops = 1e18;

std::vector<program::ControlNode> EmitItems(Context& context, const std::vector<Control>& items);

program::ControlNode EmitLoop(Context& context, const Control& item) {
  const Loop& loop = context.loops[item.loop];
  program::ControlNode node;
  node.kind = program::ControlNode::Kind::kLoop;
  node.loop = loop.id;
  node.start = loop.start;
  node.stop = loop.stop;
  node.step = loop.step;
  node.parallel = loop.parallel;
  node.submit_before = loop.submit_before;
  node.fresh = loop.fresh;
  node.body = EmitItems(context, item.body);
  return node;
}

program::CellRead EmitCell(Context& context, const Step& step) {
  const TensorId tensor = step.inputs[0].tensor;
  const View& view = context.ViewOf(tensor);
  program::CellRead read;
  read.storage = context.variables[view.variable].storage;
  read.offset = view.offset;
  read.strides = view.strides;
  read.indices = step.offsets;
  read.valid = context.tensors[tensor].valid;
  read.non_negative = view.non_negative;
  return read;
}

program::ControlNode EmitStep(Context& context, const Step& step) {
  program::ControlNode node;
  node.condition = step.guard;
  if (step.kind == StepKind::kRead) {
    node.kind = program::ControlNode::Kind::kRead;
    node.slot = step.slot;
    node.read = EmitCell(context, step);
    context.plan.reads_tensors = true;
  } else if (step.kind == StepKind::kSet) {
    node.kind = program::ControlNode::Kind::kSet;
    node.sets = step.set->values;
  } else {
    node.kind = program::ControlNode::Kind::kCheck;
    node.checked = step.check->condition;
    node.text = step.check->text;
  }
  return node;
}

std::vector<program::ControlNode> EmitItems(Context& context, const std::vector<Control>& items) {
  std::vector<program::ControlNode> nodes;
  for (const Control& item : items) {
    program::ControlNode node;
    if (item.kind == Control::Kind::kRun) {
      node.root = context.runs[item.run].root;
      if (node.root == kNone) continue;
    } else if (item.kind == Control::Kind::kLoop) {
      node = EmitLoop(context, item);
      if (node.body.empty()) continue;
    } else if (item.kind == Control::Kind::kStep) {
      node = EmitStep(context, context.steps[item.step]);
    } else {
      node.kind = program::ControlNode::Kind::kIf;
      node.condition = item.condition;
      node.body = EmitItems(context, item.body);
      node.otherwise = EmitItems(context, item.otherwise);
      if (node.body.empty() && node.otherwise.empty()) continue;
    }
    node.place = context.PlaceIndex(item.place);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Work in element-wise operations, of which a core does about 5 in a nanosecond; not exact.
class WorkCounter {
 public:
  explicit WorkCounter(const program::Plan& plan)
      : plan_(plan), symbols_(plan.symbols.size(), 1), scalars_(plan.scalars.size(), 1), indices_(plan.loop_count, 0) {
    for (const program::RootFunction& root : plan.roots) {
      double flops = 0;
      for (const program::Leaf& leaf : root.leaves) {
        double volume = 1;
        for (const int64_t extent : leaf.extents) volume *= static_cast<double>(extent);
        const bool cube = leaf.kind == program::LeafKind::kCube;
        flops += cube ? CountProduct(leaf, volume) : volume * static_cast<double>(leaf.ops.size());
      }
      root_flops_.push_back(flops);
    }
  }

  double Count(const std::vector<program::ControlNode>& nodes) {
    double flops = 0;
    for (const program::ControlNode& node : nodes) {
      switch (node.kind) {
        case program::ControlNode::Kind::kRoot: flops += root_flops_[node.root]; break;
        case program::ControlNode::Kind::kLoop: flops += TripCount(node) * Count(node.body); break;
        case program::ControlNode::Kind::kIf: flops += std::max(Count(node.body), Count(node.otherwise)); break;
        default: break;
      }
    }
    return flops;
  }

 private:
  // A term of a sum is a tenth of an operation, of half types with arithmetic of their own and INT8 less; reading the
  // operands takes a quarter per byte, which decides where there are few rows.
  double CountProduct(const program::Leaf& leaf, double volume) const {
    const size_t rank = leaf.extents.size();
    const program::DType dtype = leaf.ops[0].compute_dtype;
    const double bytes = program::BytesOf(dtype);
    const double share = dtype == program::DType::kInt8 ? 0.025 : dtype == program::DType::kBf16 ? 0.05 : 0.1;
    const auto m = static_cast<double>(leaf.extents[rank - 2]);
    const auto n = static_cast<double>(leaf.extents[rank - 1]);
    const auto k = static_cast<double>(leaf.k_extent);
    return volume * k * std::max(share, (1 / m + 1 / n) * bytes / 4);
  }

  // With every dim and scalar at 1 and outer loops at their first iteration.
  double TripCount(const program::ControlNode& node) {
    const program::ExprEnvironment environment{symbols_, scalars_, indices_};
    const auto start = program::Evaluate(plan_.exprs, node.start, environment);
    const auto stop = program::Evaluate(plan_.exprs, node.stop, environment);
    const auto step = program::Evaluate(plan_.exprs, node.step, environment);
    if (!start.ok() || !stop.ok() || !step.ok() || *step == 0) return 1;
    indices_[node.loop] = *start;
    const double span = static_cast<double>(*stop) - static_cast<double>(*start);
    return std::max(span / static_cast<double>(*step), 0.0);
  }

  const program::Plan& plan_;
  std::vector<int64_t> symbols_;
  std::vector<int64_t> scalars_;
  std::vector<int64_t> indices_;  // per loop
  std::vector<double> root_flops_;
};

}  // namespace

void EmitControl(Context& context) {
  context.plan.control = EmitItems(context, context.control);
  const double flops = WorkCounter(context.plan).Count(context.plan.control);
  context.plan.flops_hint = static_cast<uint64_t>(std::min(flops, kMostFlops));
}

}  // namespace pypto::compile
