// The workspace of a program for dims and scalars given by name, without a worker.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pypto/base/status.h"
#include "pypto/program/plan.h"
#include "pypto/workspace/budget.h"

namespace pypto::runtime {

// Dynamic dims and integer parameters.
using NamedValues = std::map<std::string, int64_t>;

// kInvalidArgument names a dim that the workspace depends on and that is missing. Thread-safe.
PYPTO_API base::Result<workspace::Budget> ResolveProgramBudget(const program::Plan& plan, const NamedValues& values,
                                                               uint64_t engine_bytes);

// The options that a plan was compiled with, as the budget wants them.
workspace::BudgetOptions BudgetOptionsOf(const program::PlanOptions& options) noexcept;

}  // namespace pypto::runtime
