// Element-wise operations, casts and copies on one tile.
#pragma once

#include "pypto/device/leaf_program.h"
#include "pypto/device/tile.h"

namespace pypto::device {

// `views`: the output, then the inputs. `cells`: extents of the computed region. Inputs and output may be the same
// cells. Results are rounded once, to op.result.
void RunCompute(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
                const OperandView* views);
// The same as one call of a kernel, when it is that; false otherwise.
bool BindCompute(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
                 const OperandView* views, simd::RowArgs* args);
void RunCast(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
             const OperandView* views);
void RunCopy(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
             const OperandView* views);

// Copies, and clears one side of a diagonal: cells with column - row <= `diagonal` stay, of `upper` those with >=.
// `row`, `column`: where the region begins.
struct TriangleArgs {
  int64_t row = 0;
  int64_t column = 0;
  int64_t diagonal = 0;
  bool upper = false;
};
void RunTriangleTile(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
                     const OperandView* views, const TriangleArgs& args);

}  // namespace pypto::device
