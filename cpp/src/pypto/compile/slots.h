// Where control flow reads cells, sets slots and checks conditions.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Puts each step of control flow in front of the run that it stands in. A run ends where that would be too early: at
// a read of a tensor that the run writes before it, and at a change of a slot that the run uses before it.
void PlaceSlots(Context& context);

}  // namespace pypto::compile
