// Validation of plans: signature, expressions, storages, workspace, options and root functions.
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "pypto/program/validate.h"

namespace pypto::program {
namespace {

using base::OkStatus;
using base::Status;

constexpr uint32_t kMaxLoops = uint32_t{1} << 20;
constexpr uint32_t kMaxStitch = 1024;
constexpr uint32_t kMaxParallelism = 8;

Status CheckParameters(const Plan& plan) {
  std::vector<bool> scalar_used(plan.scalars.size(), false);
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const PlanParameter& parameter = plan.parameters[i];
    if (!parameter.is_tensor) {
      const uint32_t scalar = parameter.scalar;
      const bool fits = scalar < plan.scalars.size() && !scalar_used[scalar] &&
                        plan.scalars[scalar].kind == parameter.scalar_kind && parameter.dims.empty();
      if (!fits) return Unsound("parameter %zu does not fit its scalar", i);
      scalar_used[scalar] = true;
      continue;
    }
    if (parameter.dims.empty() || parameter.dims.size() > kMaxRank) {
      return Unsound("parameter %zu has rank %zu", i, parameter.dims.size());
    }
    for (const Dim& dim : parameter.dims) {
      const bool fits = dim.symbol < 0 ? dim.symbol == -1 && dim.value >= 1
                                       : static_cast<size_t>(dim.symbol) < plan.symbols.size() && dim.value == 0;
      if (!fits) return Unsound("a dim of parameter %zu is neither a size nor a symbol", i);
    }
  }
  const bool all_used = std::find(scalar_used.begin(), scalar_used.end(), false) == scalar_used.end();
  return all_used ? OkStatus() : Unsound("a scalar belongs to no parameter");
}

Status CheckSymbols(const Plan& plan) {
  for (size_t i = 0; i < plan.symbols.size(); ++i) {
    const Symbol& symbol = plan.symbols[i];
    const bool fits = symbol.parameter < plan.parameters.size() &&
                      symbol.axis < plan.parameters[symbol.parameter].dims.size() &&
                      plan.parameters[symbol.parameter].dims[symbol.axis].symbol == static_cast<int64_t>(i);
    if (!fits) return Unsound("symbol %zu does not stand where it is read from", i);
  }
  return OkStatus();
}

Status CheckExpressions(const Plan& plan) {
  for (const ExprNode& node : plan.exprs.nodes()) {
    const bool fits = node.op == ExprOp::kSymbol ? node.a < plan.symbols.size()
                      : node.op == ExprOp::kScalar
                          ? node.a < plan.scalars.size() && plan.scalars[node.a].kind == ScalarKind::kInt
                      : node.op == ExprOp::kFloatScalar
                          ? node.a < plan.scalars.size() && plan.scalars[node.a].kind == ScalarKind::kFloat
                      : node.op == ExprOp::kSlot      ? node.a < plan.slots.size()
                      : node.op == ExprOp::kLoopIndex ? node.a < plan.loop_count
                                                      : true;
    if (!fits) return Unsound("an expression names operand %u, which does not exist", node.a);
  }
  return OkStatus();
}

// Sizes exist and depend on dims and scalar parameters only: the host evaluates them before a launch.
Status CheckSizes(const Plan& plan, const std::vector<ExprId>& sizes) {
  for (const ExprId id : sizes) {
    if (id >= plan.exprs.size()) return Unsound("a size names expression %u", id);
    const auto value = plan.exprs.ConstantValue(id);
    if (value && *value < 0) return Unsound("a size is negative");
  }
  for (const ExprId id : CloseUnderChildren(plan.exprs.nodes(), sizes)) {
    const ExprOp op = plan.exprs.node(id).op;
    if (op == ExprOp::kLoopIndex || op == ExprOp::kSlot) return Unsound("a size depends on a loop index or a slot");
  }
  return OkStatus();
}

Status CheckStorages(const Plan& plan, std::vector<ExprId>& sizes) {
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (storage.dims.empty() || storage.dims.size() > kMaxRank) return Unsound("storage %zu has no fit rank", i);
    sizes.insert(sizes.end(), storage.dims.begin(), storage.dims.end());
    sizes.push_back(storage.bytes);
    if (storage.tensor_class != TensorClass::kParameter) {
      if (storage.parameter != -1) return Unsound("storage %zu is and is not a parameter", i);
      continue;
    }
    const auto parameter = static_cast<size_t>(storage.parameter);
    const bool fits = storage.parameter >= 0 && parameter < plan.parameters.size() &&
                      plan.parameters[parameter].is_tensor && plan.parameters[parameter].dtype == storage.dtype;
    if (!fits) return Unsound("storage %zu does not fit its parameter", i);
  }
  return OkStatus();
}

Status CheckWorkspace(const Plan& plan, std::vector<ExprId>& sizes) {
  const PlanWorkspace& workspace = plan.workspace;
  for (size_t i = 0; i < workspace.present.size(); ++i) {
    if (workspace.present[i] || workspace.unit_bytes[i] != kNoExpr) sizes.push_back(workspace.unit_bytes[i]);
  }
  if (workspace.boundary_bytes != kNoExpr) sizes.push_back(workspace.boundary_bytes);
  const PlanOptions& options = plan.options;
  const bool depths =
      std::all_of(options.stitch_function_num_per_pool.begin(), options.stitch_function_num_per_pool.end(),
                  [](uint32_t depth) { return depth <= kMaxStitch; });
  const bool fits = options.stitch_function_max_num >= 1 && options.stitch_function_max_num <= kMaxStitch && depths &&
                    options.parallelism >= 1 && options.parallelism <= kMaxParallelism;
  return fits ? OkStatus() : Unsound("a workspace option is outside of its range");
}

// Marks what a root function lists and checks the lists.
Status MarkLists(const Plan& plan, const RootFunction& root, RootMarks& marks) {
  ++marks.root;
  const auto class_of = [&](uint32_t id) { return plan.storages[id].tensor_class; };
  for (const uint32_t id : root.root_inner) {
    const bool fits =
        id < plan.storages.size() && class_of(id) == TensorClass::kRootInner && marks.inner[id] != marks.root;
    if (!fits) return Unsound("root function '%s' takes storage %u", root.name.c_str(), id);
    marks.inner[id] = marks.root;
  }
  for (const uint32_t id : root.reads) {
    const bool fits = id < plan.storages.size() && class_of(id) != TensorClass::kRootInner;
    if (!fits) return Unsound("root function '%s' reads storage %u", root.name.c_str(), id);
    marks.read[id] = marks.root;
  }
  for (const OutcastWrite& write : root.writes) {
    const bool fits = write.storage < plan.storages.size() && class_of(write.storage) != TensorClass::kRootInner;
    if (!fits) return Unsound("root function '%s' writes storage %u", root.name.c_str(), write.storage);
    marks.written[write.storage] = marks.root;
  }
  for (const uint32_t id : root.live_after) {
    const bool fits = id < plan.storages.size() && IsOutcast(class_of(id));
    if (!fits) return Unsound("root function '%s' leaves storage %u alive", root.name.c_str(), id);
  }
  return OkStatus();
}

// Ascending and closed under children: one pass evaluates them.
Status MarkExprs(const Plan& plan, const RootFunction& root, RootMarks& marks) {
  ExprId least = 0;
  for (const ExprId id : root.exprs) {
    if (id >= plan.exprs.size() || id < least)
      return Unsound("expressions of root function '%s' are out of order", root.name.c_str());
    least = id + 1;
    const ExprNode& node = plan.exprs.node(id);
    const auto missing = [&](ExprId child) { return marks.exprs[child] != marks.root; };
    const int children = ChildCount(node.op);
    if ((children > 0 && missing(node.a)) || (children > 1 && missing(node.b)) || (children > 2 && missing(node.c))) {
      return Unsound("expressions of root function '%s' lack an operand of %u", root.name.c_str(), id);
    }
    marks.exprs[id] = marks.root;
  }
  return OkStatus();
}

}  // namespace

Status Unsound(const char* format, ...) {
  std::array<char, 256> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return base::MakeStatus(base::StatusCode::kProgramFormat, "the plan is not sound: %s", text.data());
}

Status ValidatePlan(const Plan& plan) {
  if (plan.loop_count > kMaxLoops) return Unsound("%u loops", plan.loop_count);
  PYPTO_RETURN_IF_ERROR(CheckParameters(plan));
  PYPTO_RETURN_IF_ERROR(CheckSymbols(plan));
  PYPTO_RETURN_IF_ERROR(CheckExpressions(plan));
  std::vector<ExprId> sizes;
  PYPTO_RETURN_IF_ERROR(CheckStorages(plan, sizes));
  PYPTO_RETURN_IF_ERROR(CheckWorkspace(plan, sizes));
  PYPTO_RETURN_IF_ERROR(CheckSizes(plan, sizes));
  RootMarks marks;
  marks.inner.resize(plan.storages.size());
  marks.read.resize(plan.storages.size());
  marks.written.resize(plan.storages.size());
  marks.exprs.resize(plan.exprs.size());
  for (const RootFunction& root : plan.roots) {
    PYPTO_RETURN_IF_ERROR(MarkLists(plan, root, marks));
    PYPTO_RETURN_IF_ERROR(MarkExprs(plan, root, marks));
    for (const Leaf& leaf : root.leaves) PYPTO_RETURN_IF_ERROR(ValidateLeaf(plan, leaf, marks));
  }
  return ValidateControl(plan);
}

}  // namespace pypto::program
