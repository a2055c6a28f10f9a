// Windows and reshapes: free, or copies.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Resolves every view to its variable, offset and strides. A view is the value that its base has at its place in
// program order; where a write to the base may come between that place and a use, and where a reshape cannot be
// expressed by strides, its step becomes a copy into a variable of its own.
base::Status ResolveViews(Context& context);

}  // namespace pypto::compile
