// From the statement tree to steps, runs and the control tree.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Fills steps, loops, runs and control of the context. A branch without a loop inside becomes guards of its
// run.
base::Status BuildSteps(Context& context);

}  // namespace pypto::compile
