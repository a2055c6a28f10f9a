// Which tensors need memory, and of which class.
#include "pypto/compile/classify.h"

#include <string>
#include <utility>

#include "pypto/workspace/budget.h"

namespace pypto::compile {
namespace {

// The variable that a step writes; kNoTensor when it writes none.
TensorId WrittenVariable(Context& context, const Step& step) {
  const bool writes = step.kind == StepKind::kOp || step.kind == StepKind::kStore;
  return writes ? context.ViewOf(step.output).variable : kNoTensor;
}

// Calls visit(variable) for each tensor that the step reads.
template <typename Visit>
void ForEachRead(Context& context, const Step& step, Visit visit) {
  if (step.kind == StepKind::kView || step.kind == StepKind::kDeclare) return;
  for (const program::Operand& input : step.inputs) {
    if (input.kind == program::Operand::Kind::kTensor) visit(context.ViewOf(input.tensor).variable);
  }
}

void See(Context& context, TensorId variable, const Step& step) {
  Variable& seen = context.variables[variable];
  if (seen.run == kNone) seen.run = step.run;
  if (seen.run != step.run) seen.several = true;
}

TensorClass ClassOf(Context& context, TensorId variable) {
  const Variable& seen = context.variables[variable];
  if (context.tensors[variable].origin == program::TensorOrigin::kParameter) return TensorClass::kParameter;
  if (seen.single_instance) return TensorClass::kRootInner;
  return seen.region_written ? TensorClass::kAssembleOutcast : TensorClass::kExclusiveOutcast;
}

}  // namespace

void MarkLive(Context& context) {
  std::vector<std::vector<uint32_t>> writers(context.tensors.size());
  std::vector<TensorId> work;
  const auto reach = [&](TensorId variable) {
    if (!context.variables[variable].live) work.push_back(variable);
    context.variables[variable].live = true;
  };
  for (uint32_t i = 0; i < context.steps.size(); ++i) {
    const TensorId variable = WrittenVariable(context, context.steps[i]);
    if (context.steps[i].kind == StepKind::kRead) {
      context.steps[i].live = true;
      ForEachRead(context, context.steps[i], reach);
    }
    if (variable == kNoTensor) continue;
    writers[variable].push_back(i);
    if (context.tensors[variable].origin == program::TensorOrigin::kParameter) reach(variable);
  }
  while (!work.empty()) {
    const TensorId variable = work.back();
    work.pop_back();
    for (const uint32_t writer : writers[variable]) {
      Step& step = context.steps[writer];
      step.live = true;
      ForEachRead(context, step, reach);
    }
  }
}

uint32_t AddStorage(Context& context, TensorId tensor, TensorClass tensor_class) {
  program::ExprPool& exprs = context.exprs();
  const program::Tensor& described = context.tensors[tensor];
  program::Storage storage;
  storage.name = described.name.empty() ? "%" + std::to_string(tensor) : described.name;
  storage.tensor_class = tensor_class;
  storage.dtype = described.dtype;
  storage.dims = described.shape;
  storage.parameter = tensor_class == TensorClass::kParameter ? described.parameter : -1;
  storage.place = context.PlaceIndex(described.place);
  storage.bytes = exprs.Const(program::BytesOf(described.dtype));
  for (const ExprId dim : described.shape) storage.bytes = exprs.Mul(storage.bytes, dim);
  if (tensor_class != TensorClass::kParameter) {
    storage.bytes = exprs.AlignUp(storage.bytes, static_cast<int64_t>(workspace::kBlockAlignment));
  }
  context.plan.storages.push_back(std::move(storage));
  return static_cast<uint32_t>(context.plan.storages.size() - 1);
}

void Classify(Context& context) {
  for (const Step& step : context.steps) {
    if (!step.live) continue;
    ForEachRead(context, step, [&](TensorId variable) { See(context, variable, step); });
    const TensorId written = WrittenVariable(context, step);
    if (written == kNoTensor) {
      // Control flow sees it from outside of all instances.
      ForEachRead(context, step, [&](TensorId variable) { context.variables[variable].several = true; });
      continue;
    }
    See(context, written, step);
    if (step.region || step.zero_fill) context.variables[written].region_written = true;
  }
  for (TensorId id = 0; id < context.tensors.size(); ++id) {
    Variable& variable = context.variables[id];
    if (context.tensors[id].origin == program::TensorOrigin::kParameter) {
      variable.tensor_class = TensorClass::kParameter;
      variable.storage = AddStorage(context, id, TensorClass::kParameter);
      continue;
    }
    if (!variable.live || variable.run == kNone) continue;
    const bool same_loop = variable.declared_loop == kNone || variable.declared_loop == context.runs[variable.run].loop;
    variable.single_instance = !variable.several && same_loop;
    variable.tensor_class = ClassOf(context, id);
    if (variable.single_instance) continue;
    variable.storage = AddStorage(context, id, variable.tensor_class);
    const bool in_loop = variable.declared_loop != kNone && variable.declared_loop != 0;
    if (in_loop) context.loops[variable.declared_loop].fresh.push_back(variable.storage);
  }
}

}  // namespace pypto::compile
