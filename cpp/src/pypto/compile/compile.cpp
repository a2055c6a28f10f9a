// The order of the passes.
#include "pypto/compile/compile.h"

#include <array>
#include <string_view>
#include <utility>

#include "pypto/compile/classify.h"
#include "pypto/compile/context.h"
#include "pypto/compile/control.h"
#include "pypto/compile/directions.h"
#include "pypto/compile/emit.h"
#include "pypto/compile/leaves.h"
#include "pypto/compile/nodes.h"
#include "pypto/compile/pieces.h"
#include "pypto/compile/requirements.h"
#include "pypto/compile/roots.h"
#include "pypto/compile/slots.h"
#include "pypto/compile/views.h"

namespace pypto::compile {
namespace {

constexpr std::array<std::string_view, 4> kPlatforms = {"a2a3", "a5", "a2a3sim", "a5sim"};

base::Status CheckPlatform(const std::string& platform) {
  for (const std::string_view known : kPlatforms) {
    if (platform == known) return base::OkStatus();
  }
  return base::MakeStatus(base::StatusCode::kInvalidArgument,
                          "platform '%s' is not known; it must be a2a3, a5, a2a3sim or a5sim", platform.c_str());
}

// What a dtype of an operation lacks on the platform.
base::Status CheckDType(const Context& context, const Step& step, const std::string& platform) {
  const program::OpInfo& info = *program::FindOperation(step.code);
  const auto is_tensor = [&](size_t i) { return step.inputs[i].kind == program::Operand::Kind::kTensor; };
  const int which = program::DTypeOperand(info, step.inputs.size(), is_tensor);
  const program::DTypeMask dtype = program::MaskOf(
      which < 0 ? step.attributes.dtype : context.tensors[step.inputs[static_cast<size_t>(which)].tensor].dtype);
  const bool a5 = platform.starts_with("a5");
  // A choice between numbers has no dtype of its own; a cast has two.
  program::DTypeMask wanted = which < 0 && info.family == program::OpFamily::kSelect ? 0 : dtype;
  if (info.family == program::OpFamily::kCast) wanted |= program::MaskOf(step.attributes.dtype);
  const program::DTypeMask missing = wanted & info.dtypes & ~(a5 ? info.a5 : info.a2a3);
  if (missing == 0) return base::OkStatus();
  int lacking = 0;
  while ((missing >> lacking & 1U) == 0) ++lacking;
  return context.At(
      step.place,
      base::MakeStatus(base::StatusCode::kCompile, "%s() of DT_%s is not available on platform %s; it is on %s",
                       std::string(info.name.substr(info.name.front() == '_' ? 1 : 0)).c_str(),
                       std::string(program::InfoOf(static_cast<program::DType>(lacking)).name).c_str(),
                       platform.c_str(), a5 ? "a2a3 and a2a3sim" : "a5 and a5sim"));
}

// A parameter of a dtype that no operation of the platform takes.
base::Status CheckParameters(const program::Program& program, const std::string& platform) {
  const program::DTypeMask known = program::FindOperation(OpCode::kCopy)->a2a3;
  if (platform.starts_with("a5")) return base::OkStatus();
  for (const program::Parameter& parameter : program.parameters) {
    if (!parameter.is_tensor || (known & program::MaskOf(parameter.dtype)) != 0) continue;
    return base::MakeStatus(
        base::StatusCode::kCompile, "parameter '%s': DT_%s is not available on platform %s; it is on a5 and a5sim",
        parameter.name.c_str(), std::string(program::InfoOf(parameter.dtype).name).c_str(), platform.c_str());
  }
  return base::OkStatus();
}

base::Status CheckDTypes(const Context& context, const std::string& platform) {
  for (const Step& step : context.steps) {
    if (step.kind == StepKind::kOp) PYPTO_RETURN_IF_ERROR(CheckDType(context, step, platform));
  }
  return base::OkStatus();
}

base::Status EmitRoots(Context& context) {
  context.run_uses.resize(context.runs.size());
  for (uint32_t run = 0; run < context.runs.size(); ++run) {
    RootGraph graph = BuildGraph(context, run);
    if (graph.nodes.empty()) continue;
    PYPTO_RETURN_IF_ERROR(EmitRoot(context, run, graph, PartitionLeaves(graph)));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<std::shared_ptr<const program::Image>> Compile(const program::Program& program,
                                                            const CompileOptions& options) {
  PYPTO_RETURN_IF_ERROR(CheckPlatform(options.platform));
  PYPTO_RETURN_IF_ERROR(program::Verify(program));
  Context context(program);
  context.plan.options = options.plan;
  PYPTO_RETURN_IF_ERROR(BuildSteps(context));
  WritePiecesInPlace(context);
  PYPTO_RETURN_IF_ERROR(ResolveViews(context));
  PlaceSlots(context);
  MarkLive(context);
  PYPTO_RETURN_IF_ERROR(CheckParameters(program, options.platform));
  PYPTO_RETURN_IF_ERROR(CheckDTypes(context, options.platform));
  Classify(context);
  PYPTO_RETURN_IF_ERROR(EmitRoots(context));
  FindDirections(context);
  FindRequirements(context);
  EmitControl(context);
  PYPTO_RETURN_IF_ERROR(CheckBudget(context.plan));
  return program::MakeImage(options.platform, std::move(context.plan), std::move(context.debug), {});
}

}  // namespace pypto::compile
