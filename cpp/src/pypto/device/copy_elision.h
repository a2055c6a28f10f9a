// Drops copies inside a leaf.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Operations of a vector leaf that only hand a floating value on go away: readers of such a local read the memory that
// it was copied from, and what makes a local that is only stored stores it itself. Results stay the same bits. Needs
// the constant strides of the accesses.
void DropCopies(LeafProgram* program);

}  // namespace pypto::device
