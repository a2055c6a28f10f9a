// Evaluates the workspace expressions of a plan for named values.
#include "pypto/runtime/program_budget.h"

#include <optional>
#include <vector>

#include "pypto/program/expr.h"

namespace pypto::runtime {
namespace {

using base::Result;

// Values of the symbols in order.
Result<std::vector<int64_t>> SymbolValues(const program::Plan& plan, const NamedValues& values) {
  std::vector<int64_t> ordered;
  for (const program::Symbol& symbol : plan.symbols) {
    const auto found = values.find(symbol.name);
    if (found == values.end()) {
      return base::MakeStatus(base::StatusCode::kInvalidArgument,
                              "the workspace depends on the dim '%s'; give its value by name", symbol.name.c_str());
    }
    ordered.push_back(found->second);
  }
  return ordered;
}

Result<uint64_t> EvaluateBytes(const program::Plan& plan, program::ExprId id, const NamedValues& values) {
  if (id == program::kNoExpr) return uint64_t{0};
  if (const std::optional<int64_t> constant = plan.exprs.ConstantValue(id)) return static_cast<uint64_t>(*constant);
  PYPTO_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, SymbolValues(plan, values));
  std::vector<int64_t> scalars(plan.scalars.size(), 0);
  for (size_t i = 0; i < plan.scalars.size(); ++i) {
    const auto found = values.find(plan.scalars[i].name);
    if (found != values.end()) scalars[i] = found->second;
  }
  const program::ExprEnvironment environment{symbols, scalars, {}};
  PYPTO_ASSIGN_OR_RETURN(const int64_t bytes, program::Evaluate(plan.exprs, id, environment));
  return static_cast<uint64_t>(bytes);
}

}  // namespace

workspace::BudgetOptions BudgetOptionsOf(const program::PlanOptions& options) noexcept {
  workspace::BudgetOptions budget;
  budget.stitch_function_max_num = options.stitch_function_max_num;
  budget.max_workspace_kb = options.max_workspace_kb;
  budget.num_per_pool = options.stitch_function_num_per_pool;
  budget.parallelism = options.parallelism;
  return budget;
}

Result<workspace::Budget> ResolveProgramBudget(const program::Plan& plan, const NamedValues& values,
                                               uint64_t engine_bytes) {
  workspace::Requirement requirement;
  for (size_t pool = 0; pool < workspace::kPoolCount; ++pool) {
    PYPTO_ASSIGN_OR_RETURN(requirement.unit_bytes[pool], EvaluateBytes(plan, plan.workspace.unit_bytes[pool], values));
    requirement.present[pool] = plan.workspace.present[pool];
  }
  PYPTO_ASSIGN_OR_RETURN(requirement.boundary_bytes, EvaluateBytes(plan, plan.workspace.boundary_bytes, values));
  return workspace::ResolveBudget(requirement, BudgetOptionsOf(plan.options), engine_bytes);
}

}  // namespace pypto::runtime
