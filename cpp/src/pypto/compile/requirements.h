// What workspace a plan needs: units of the pools, live outcasts, boundary memory.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Fills RootFunction::live_after and Plan::workspace. Needs the roots and Context::run_uses.
void FindRequirements(Context& context);

// Checks the plan's options against its needs as far as they are known without the sizes of a launch. kWorkspace,
// kInvalidArgument.
base::Status CheckBudget(const program::Plan& plan);

}  // namespace pypto::compile
