// Which chains ask for the memory of the next block.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// For the accesses that are marked: chains share the asking, so that memory is busy as long as they run.
void ShareAsks(const simd::ChainKernels& stages, LeafProgram* program);

}  // namespace pypto::device
