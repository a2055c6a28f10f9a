// A tensor that is put together from pieces and then copied is not made: its pieces go where the copy would.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Before the views are resolved. For declared tensors that are written by region stores only, covered by them, and read
// by one store into a parameter alone.
void WritePiecesInPlace(Context& context);

}  // namespace pypto::compile
