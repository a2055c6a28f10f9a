// Operations that read what was just computed, moved next to it.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Operations of a vector leaf that work on the same cells and read one another's values become neighbours where no
// other order is asked for, so that a chain takes them. Called once per leaf, before its chains are built.
void GatherReaders(LeafProgram* program);

}  // namespace pypto::device
