// Root functions: a run of steps ends at every loop border and at branches that hold a loop.
#include "pypto/compile/roots.h"

#include <algorithm>
#include <utility>

namespace pypto::compile {
namespace {

using program::AssembleStatement;
using program::Block;
using program::DeclareStatement;
using program::IfStatement;
using program::LoopStatement;
using program::MoveStatement;
using program::OpStatement;
using program::Statement;
using program::ViewStatement;

program::Operand TensorOperand(TensorId tensor) {
  program::Operand operand;
  operand.tensor = tensor;
  return operand;
}

// Walks the statement tree once. Owned by BuildSteps.
class StepBuilder {
 public:
  explicit StepBuilder(Context& context) : context_(context) {}

  base::Status Build() {
    context_.control.clear();
    PYPTO_RETURN_IF_ERROR(AddBlock(context_.program.body, Frame{}, &context_.control));
    CloseRun();
    context_.loops[0].end_step = StepCount();
    return base::OkStatus();
  }

 private:
  // Where the walk stands: the branch inside a run, and the loop.
  struct Frame {
    ExprId guard = kNoExpr;
    uint32_t scope = 0;
    uint32_t loop = 0;
  };

  uint32_t StepCount() const { return static_cast<uint32_t>(context_.steps.size()); }

  base::Status AddBlock(const Block& block, const Frame& frame, std::vector<Control>* out) {
    for (const Statement& statement : block.statements) {
      PYPTO_RETURN_IF_ERROR(std::visit([&](const auto& s) { return Add(s, frame, out); }, statement));
    }
    return base::OkStatus();
  }

  base::Status Add(const OpStatement& statement, const Frame& frame, std::vector<Control>* out) {
    Step& step = NewStep(StepKind::kOp, frame, statement.place, out);
    step.code = statement.code;
    step.inputs = statement.inputs;
    step.output = statement.output;
    step.attributes = statement.attributes;
    step.tiles = &statement.tiles;
    return base::OkStatus();
  }

  base::Status Add(const ViewStatement& statement, const Frame& frame, std::vector<Control>* out) {
    Step& step = NewStep(StepKind::kView, frame, statement.place, out);
    step.reshape = statement.kind == program::ViewKind::kReshape;
    step.inputs = {TensorOperand(statement.base)};
    step.output = statement.output;
    step.offsets = statement.offsets;
    return base::OkStatus();
  }

  base::Status Add(const DeclareStatement& statement, const Frame& frame, std::vector<Control>* out) {
    Step& step = NewStep(StepKind::kDeclare, frame, statement.place, out);
    step.output = statement.tensor;
    context_.variables[statement.tensor].declared_loop = frame.loop;
    return base::OkStatus();
  }

  base::Status Add(const MoveStatement& statement, const Frame& frame, std::vector<Control>* out) {
    AddStore(statement.destination, statement.source, &statement.tiles, statement.place, frame, out);
    return base::OkStatus();
  }

  base::Status Add(const AssembleStatement& statement, const Frame& frame, std::vector<Control>* out) {
    Step& step = AddStore(statement.destination, statement.source, &statement.tiles, statement.place, frame, out);
    step.region = true;
    step.offsets = statement.offsets;
    return base::OkStatus();
  }

  base::Status Add(const program::ReadStatement& statement, const Frame& frame, std::vector<Control>* out) {
    Step& step = NewStep(StepKind::kRead, frame, statement.place, out);
    step.inputs = {TensorOperand(statement.tensor)};
    step.offsets = statement.indices;
    step.slot = statement.slot;
    return base::OkStatus();
  }

  base::Status Add(const program::SetStatement& statement, const Frame& frame, std::vector<Control>* out) {
    NewStep(StepKind::kSet, frame, statement.place, out).set = &statement;
    return base::OkStatus();
  }

  base::Status Add(const program::CheckStatement& statement, const Frame& frame, std::vector<Control>* out) {
    NewStep(StepKind::kCheck, frame, statement.place, out).check = &statement;
    return base::OkStatus();
  }

  base::Status Add(const LoopStatement& statement, const Frame& frame, std::vector<Control>* out) {
    CloseRun();
    Loop loop;
    loop.id = statement.loop;
    loop.name = statement.name;
    loop.start = statement.start;
    loop.stop = statement.stop;
    loop.step = statement.step;
    loop.parallel = statement.parallel;
    loop.submit_before = statement.submit_before;
    const uint32_t index = OpenLoop(std::move(loop), frame);
    Control control = LoopControl(index, statement.place);
    PYPTO_RETURN_IF_ERROR(AddBlock(*statement.body, Frame{kNoExpr, 0, index}, &control.body));
    CloseLoop(index);
    out->push_back(std::move(control));
    return base::OkStatus();
  }

  base::Status Add(const IfStatement& statement, const Frame& frame, std::vector<Control>* out) {
    if (const auto known = context_.exprs().ConstantValue(statement.condition)) {
      return AddBlock(*known != 0 ? *statement.then_block : *statement.else_block, frame, out);
    }
    if (HasLoop(*statement.then_block) || HasLoop(*statement.else_block)) return AddControlIf(statement, frame, out);
    PYPTO_ASSIGN_OR_RETURN(const ExprId otherwise, context_.exprs().Make(program::ExprOp::kNot, statement.condition));
    const uint32_t branch = branches_++;
    PYPTO_ASSIGN_OR_RETURN(const Frame then_frame, BranchFrame(statement.condition, branch, frame));
    PYPTO_RETURN_IF_ERROR(AddBlock(*statement.then_block, then_frame, out));
    PYPTO_ASSIGN_OR_RETURN(const Frame else_frame, BranchFrame(otherwise, branch, frame));
    return AddBlock(*statement.else_block, else_frame, out);
  }

  base::Status AddControlIf(const IfStatement& statement, const Frame& frame, std::vector<Control>* out) {
    CloseRun();
    Control control;
    control.kind = Control::Kind::kIf;
    control.condition = statement.condition;
    control.place = statement.place;
    PYPTO_RETURN_IF_ERROR(AddBlock(*statement.then_block, Frame{kNoExpr, 0, frame.loop}, &control.body));
    CloseRun();
    PYPTO_RETURN_IF_ERROR(AddBlock(*statement.else_block, Frame{kNoExpr, 0, frame.loop}, &control.otherwise));
    CloseRun();
    out->push_back(std::move(control));
    return base::OkStatus();
  }

  base::Result<Frame> BranchFrame(ExprId condition, uint32_t branch, const Frame& outer) {
    Frame frame = outer;
    frame.guard = condition;
    if (outer.guard != kNoExpr) {
      PYPTO_ASSIGN_OR_RETURN(frame.guard, context_.exprs().Make(program::ExprOp::kAnd, outer.guard, condition));
    }
    frame.scope = static_cast<uint32_t>(context_.scopes.size());
    context_.scopes.push_back({outer.scope, branch});
    return frame;
  }

  Step& NewStep(StepKind kind, const Frame& frame, const program::SourcePlace& place, std::vector<Control>* out) {
    if (!run_open_) OpenRun(frame.loop, place, out);
    Step& step = context_.steps.emplace_back();
    step.kind = kind;
    step.place = place;
    step.guard = frame.guard;
    step.scope = frame.scope;
    step.loop = frame.loop;
    step.run = static_cast<uint32_t>(context_.runs.size() - 1);
    return step;
  }

  Step& AddStore(TensorId destination, TensorId source, const program::TileShapes* tiles,
                 const program::SourcePlace& place, const Frame& frame, std::vector<Control>* out) {
    Step& step = NewStep(StepKind::kStore, frame, place, out);
    step.inputs = {TensorOperand(source)};
    step.output = destination;
    step.tiles = tiles;
    return step;
  }

  void OpenRun(uint32_t loop, const program::SourcePlace& place, std::vector<Control>* out) {
    Control control;
    control.run = static_cast<uint32_t>(context_.runs.size());
    control.place = place;
    out->push_back(std::move(control));
    Run& run = context_.runs.emplace_back();
    run.first_step = StepCount();
    run.loop = loop;
    run_open_ = true;
  }

  void CloseRun() {
    if (run_open_) context_.runs.back().end_step = StepCount();
    run_open_ = false;
  }

  uint32_t OpenLoop(Loop loop, const Frame& frame) {
    loop.parent = frame.loop;
    loop.first_step = StepCount();
    context_.loops.push_back(std::move(loop));
    return static_cast<uint32_t>(context_.loops.size() - 1);
  }

  void CloseLoop(uint32_t loop) {
    CloseRun();
    context_.loops[loop].end_step = StepCount();
  }

  static Control LoopControl(uint32_t loop, const program::SourcePlace& place) {
    Control control;
    control.kind = Control::Kind::kLoop;
    control.loop = loop;
    control.place = place;
    return control;
  }

  static bool HasLoop(const Block& block) {
    return std::any_of(block.statements.begin(), block.statements.end(), [](const Statement& statement) {
      if (const auto* branch = std::get_if<IfStatement>(&statement)) {
        return HasLoop(*branch->then_block) || HasLoop(*branch->else_block);
      }
      return std::holds_alternative<LoopStatement>(statement);
    });
  }

  Context& context_;
  bool run_open_ = false;
  uint32_t branches_ = 1;
};

}  // namespace

base::Status BuildSteps(Context& context) {
  StepBuilder builder(context);
  return builder.Build();
}

}  // namespace pypto::compile
