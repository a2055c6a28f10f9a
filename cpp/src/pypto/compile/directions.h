// Direction of each parameter: in, out, inout or unused.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Fills the parameters of the plan. Out only where the kernel is proven to write the whole before it reads any of it.
void FindDirections(Context& context);

}  // namespace pypto::compile
