// Reductions along one axis of a tile.
#pragma once

#include "pypto/device/leaf_program.h"
#include "pypto/device/tile.h"

namespace pypto::device {

// `views`: the output (one cell along op.axis) and the input. cells[op.axis] is the length reduced over; 0 gives 0 for
// a sum, 1 for a product, the lowest value of the dtype for a maximum and the highest for a minimum (finite ones for
// floats).
//
// Order of a sum, which depends on the extents alone: along the innermost dim, blocks of 512 elements whose sums are
// added pairwise; along any other dim, 32 rows, then 32 such sums, then all of those.
void RunReduce(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
               const OperandView* views);

}  // namespace pypto::device
