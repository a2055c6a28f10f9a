// Values that are computed again where they are needed, rather than kept in the core's local buffer.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// A reduction ends what registers hand on. An operand that is widened, and a sum, difference or product of an operand
// with something that a row shares, cost less behind it than a store and a load. Gives the same bits.
void RecomputeCheapValues(LeafProgram* program);

}  // namespace pypto::device
