// Finds the chains of a leaf.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Fills program->chains. Whether a chain can run as one is seen when strides are known; its operations one by one give
// the same bits.
void BuildChains(const simd::KernelTable& kernels, LeafProgram* program);

}  // namespace pypto::device
