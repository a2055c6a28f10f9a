// Direction of each parameter: in, out, inout or unused.
#include "pypto/compile/directions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pypto/compile/cover.h"

namespace pypto::compile {
namespace {

// What is known of one tensor parameter while the kernel is walked in order.
struct Progress {
  bool covered = false;
  bool read = false;
  int32_t read_first_line = -1;  // of a read before the whole was written
  int32_t write_line = -1;       // of the first write
};

// What boxes are counted in: a parameter in its own shape, or in another that it is written through.
struct Target {
  size_t parameter = 0;
  std::vector<ExprId> shape;
  Cover cover;
};

// New covers, one per target.
using Covers = std::vector<Cover>;

// Owned by FindDirections.
class DirectionFinder {
 public:
  explicit DirectionFinder(Context& context) : context_(context), progress_(context.program.parameters.size()) {
    for (size_t i = 0; i < progress_.size(); ++i) {
      const program::Parameter& parameter = context_.program.parameters[i];
      targets_.push_back(
          {i, parameter.is_tensor ? context_.tensors[parameter.tensor].shape : std::vector<ExprId>(), {}});
    }
  }

  void Find() {
    for (const Control& item : context_.control) VisitTopLevel(item);
    for (size_t i = 0; i < context_.program.parameters.size(); ++i) AddParameter(i);
  }

 private:
  // The parameter that lies under a tensor, or -1.
  int32_t ParameterOf(TensorId tensor) { return context_.tensors[context_.ViewOf(tensor).variable].parameter; }

  // What a store counts in.
  size_t TargetOf(TensorId tensor, size_t parameter) {
    if (context_.tensors[tensor].origin != program::TensorOrigin::kAlias) return parameter;
    const std::vector<ExprId>& shape = context_.tensors[tensor].shape;
    for (size_t i = progress_.size(); i < targets_.size(); ++i) {
      if (targets_[i].parameter == parameter && targets_[i].shape == shape) return i;
    }
    targets_.push_back({parameter, shape, {}});
    return targets_.size() - 1;
  }

  void Add(Covers& covers, size_t target, Box box) {
    if (covers.size() <= target) covers.resize(targets_.size());
    covers[target].Add(context_.exprs(), std::move(box));
    touched_.push_back(target);
  }

  void VisitTopLevel(const Control& item) {
    Covers covers;
    if (item.kind == Control::Kind::kStep) return;  // stands in the steps of a run as well
    if (item.kind == Control::Kind::kRun) {
      // Straight code takes effect step by step.
      const Run& run = context_.runs[item.run];
      for (uint32_t i = run.first_step; i < run.end_step; ++i) {
        NoteReads(context_.steps[i]);
        AddStore(context_.steps[i], covers);
        Take(covers);
      }
      return;
    }
    NoteAllReads(item);
    CollectItem(item, covers);
    Take(covers);
  }

  void NoteReads(const Step& step) {
    if (!step.live) return;
    for (const program::Operand& input : step.inputs) {
      if (input.kind != program::Operand::Kind::kTensor) continue;
      const int32_t parameter = ParameterOf(input.tensor);
      if (parameter < 0) continue;
      Progress& progress = progress_[static_cast<size_t>(parameter)];
      progress.read = true;
      if (!progress.covered && progress.read_first_line < 0) progress.read_first_line = step.place.line;
    }
  }

  void NoteAllReads(const Control& item) {
    if (item.kind == Control::Kind::kRun) {
      const Run& run = context_.runs[item.run];
      for (uint32_t i = run.first_step; i < run.end_step; ++i) NoteReads(context_.steps[i]);
    }
    for (const Control& inner : item.body) NoteAllReads(inner);
    for (const Control& inner : item.otherwise) NoteAllReads(inner);
  }

  // Adds what the step writes to the covers; notes the line in any case.
  void AddStore(const Step& step, Covers& covers) {
    if (!step.live || step.kind != StepKind::kStore) return;
    const int32_t parameter = ParameterOf(step.output);
    if (parameter < 0) return;
    const auto index = static_cast<size_t>(parameter);
    if (progress_[index].write_line < 0) progress_[index].write_line = step.place.line;
    if (auto box = BoxOfStore(context_, step)) Add(covers, TargetOf(step.output, index), *std::move(box));
  }

  // Both branches write the whole of it.
  void CollectIf(const Control& item, Covers& covers) {
    Covers sides[2];
    for (const Control& child : item.body) CollectItem(child, sides[0]);
    for (const Control& child : item.otherwise) CollectItem(child, sides[1]);
    for (size_t i = 0; i < std::min(sides[0].size(), sides[1].size()); ++i) {
      const std::vector<ExprId> shape = targets_[i].shape;
      if (!sides[0][i].Covers(context_.exprs(), shape) || !sides[1][i].Covers(context_.exprs(), shape)) continue;
      Add(covers, i, Box{std::vector<ExprId>(shape.size(), context_.exprs().Const(0)), shape});
    }
  }

  // What one item of the control tree is proven to write.
  void CollectItem(const Control& item, Covers& covers) {
    if (item.kind == Control::Kind::kRun) {
      const Run& run = context_.runs[item.run];
      for (uint32_t i = run.first_step; i < run.end_step; ++i) AddStore(context_.steps[i], covers);
      return;
    }
    if (item.kind == Control::Kind::kStep) return;
    if (item.kind == Control::Kind::kIf) return CollectIf(item, covers);
    Covers inner;
    for (const Control& child : item.body) CollectItem(child, inner);
    for (size_t i = 0; i < inner.size(); ++i) {
      for (const Box& box : inner[i].boxes()) {
        auto whole = BoxOverLoop(context_.exprs(), context_.loops[item.loop], box, !context_.plan.slots.empty());
        if (!whole) continue;
        Add(covers, i, *std::move(whole));
      }
    }
  }

  // Joins new covers into those of the kernel.
  void Take(Covers& covers) {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const size_t index : touched_) {
      if (index >= covers.size()) continue;  // of a branch that proves nothing
      Target& target = targets_[index];
      Progress& progress = progress_[target.parameter];
      for (const Box& box : covers[index].boxes()) target.cover.Add(context_.exprs(), box);
      covers[index] = Cover();
      if (!progress.covered) progress.covered = target.cover.Covers(context_.exprs(), target.shape);
    }
    touched_.clear();
  }

  void AddParameter(size_t index) {
    const program::Parameter& traced = context_.program.parameters[index];
    const Progress& progress = progress_[index];
    program::PlanParameter parameter;
    parameter.name = traced.name;
    parameter.is_tensor = traced.is_tensor;
    parameter.dtype = traced.dtype;
    parameter.dims = traced.dims;
    if (!traced.is_tensor) {
      parameter.scalar = traced.scalar;
      parameter.scalar_kind = context_.program.scalars[traced.scalar].kind;
    } else if (progress.write_line < 0) {
      parameter.direction = progress.read ? program::Direction::kIn : program::Direction::kUnused;
    } else if (progress.read_first_line >= 0) {
      parameter.direction = program::Direction::kInOut;
      parameter.partial_reason = "line " + std::to_string(progress.read_first_line) + " reads it before it is written";
    } else if (progress.covered) {
      parameter.direction = program::Direction::kOut;
    } else {
      parameter.direction = program::Direction::kInOut;
      parameter.partial_reason = "line " + std::to_string(progress.write_line) + " writes only part of it";
    }
    context_.plan.parameters.push_back(std::move(parameter));
  }

  Context& context_;
  std::vector<Progress> progress_;  // one per parameter
  std::vector<Target> targets_;     // parameters first
  std::vector<size_t> touched_;     // targets whose covers have grown since the last Take
};

}  // namespace

void FindDirections(Context& context) {
  DirectionFinder finder(context);
  finder.Find();
}

}  // namespace pypto::compile
