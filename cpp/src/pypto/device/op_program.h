// The kernels of one operation, from its code and dtypes.
#pragma once

#include "pypto/base/status.h"
#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Fills everything except the operands. `result` is the dtype of the output.
base::Result<OpProgram> BuildOp(const program::LeafOp& op, program::DType result, const simd::KernelTable& kernels);

// Rough nanoseconds for one element of the output (of the input, for a reduction).
double ElementCost(const program::LeafOp& op);

}  // namespace pypto::device
