// The matrix product of one tile.
#pragma once

#include <atomic>

#include "pypto/device/leaf_program.h"
#include "pypto/device/task.h"
#include "pypto/device/tile.h"

namespace pypto::device {

// C = A × B for the cells of one tile, or of several that make a rectangle. `views`: C, A, B at the first cell (A and B
// at k = 0); their strides are those of the accesses. `bounds`: batch…, M, N of the whole leaf and K, the terms of each
// sum. `cells`: batch…, M, N to compute. The sum of a cell is formed by one core: blocks of terms in ascending order,
// each summed from zero, added up in FP32 (INT32 for INT8), rounded once. It does not depend on which cells are
// computed together. Stops between blocks when `abort` (may be null) is set; cells of C then hold anything.
void RunMatmul(const LeafProgram& leaf, const simd::KernelTable& kernels, const int64_t* bounds, const int64_t* cells,
               const OperandView* views, std::byte* scratch, const std::atomic<bool>* abort);

}  // namespace pypto::device
