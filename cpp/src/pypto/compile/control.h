// The control tree of the plan.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Fills Plan::control from Context::control; pieces without a root function are left out. Also Plan::flops_hint.
void EmitControl(Context& context);

}  // namespace pypto::compile
