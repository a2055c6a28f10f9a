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

// Tensors of dtypes without operations can be parameters, but nothing moves them.
base::Status CheckDTypes(const Context& context) {
  for (const Step& step : context.steps) {
    if (!step.live || step.kind != StepKind::kStore) continue;
    const program::DTypeInfo& info = program::InfoOf(context.tensors[step.output].dtype);
    if (info.computes) continue;
    return context.At(step.place, base::MakeStatus(base::StatusCode::kCompile,
                                                   "tensors of DT_%s cannot be written in this version; cast to a "
                                                   "dtype that operations accept",
                                                   std::string(info.name).c_str()));
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
  PYPTO_RETURN_IF_ERROR(ResolveViews(context));
  PlaceSlots(context);
  MarkLive(context);
  PYPTO_RETURN_IF_ERROR(CheckDTypes(context));
  Classify(context);
  PYPTO_RETURN_IF_ERROR(EmitRoots(context));
  FindDirections(context);
  FindRequirements(context);
  EmitControl(context);
  PYPTO_RETURN_IF_ERROR(CheckBudget(context.plan));
  return program::MakeImage(options.platform, std::move(context.plan), std::move(context.debug), {});
}

}  // namespace pypto::compile
