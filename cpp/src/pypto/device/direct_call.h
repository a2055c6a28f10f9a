// Operations of a vector leaf as single calls of their kernels.
#pragma once

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Fills program->direct. The layout of the leaf is settled.
void BindDirectCalls(const simd::KernelTable& kernels, LeafProgram* program);

}  // namespace pypto::device
