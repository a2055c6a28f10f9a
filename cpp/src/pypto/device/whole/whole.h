// Operations on whole operands: one function Run<id> per row of family Whole, and what they share.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "pypto/device/fault.h"
#include "pypto/device/leaf_program.h"
#include "pypto/device/tile.h"

namespace pypto::device {

struct WholeOperand {
  OperandView view;
  Extents cells{};  // valid ones: of this tile in the dims that it splits, all in the others

  std::byte* At(const Extents& at, int rank) const {
    int64_t elements = 0;
    for (int dim = 0; dim < rank; ++dim) elements += at[dim] * view.strides[dim];
    return view.data + elements * view.element_bytes;
  }
  bool given() const { return view.strides != nullptr; }
};

// One tile of one operation. An operand's dims stand side by side from the last one on.
struct WholeArgs {
  const OpProgram& op;
  const simd::KernelTable& kernels;
  const LeafProgram& leaf;
  TileFault& fault;
  int rank = 0;
  Extents begin = {};  // first cell of the tile
  WholeOperand out = {};
  std::array<WholeOperand, program::kMaxOperands> in = {};
  std::array<double, program::kMaxOperands> numbers = {};  // inputs that are numbers
};

// The name of an input, for faults.
std::string SubjectOf(const WholeArgs& args, size_t input);
// "<operation>(): <text>".
void RaiseIndexFault(const WholeArgs& args, int64_t index, const std::string& text);
// "gather(): index 7 is out of range for dim 1 of x, which has 5 elements there". Always false.
bool IndexFault(const WholeArgs& args, int64_t index, int dim, int64_t extent);
inline bool CheckIndex(const WholeArgs& args, int64_t index, int dim, int64_t extent) {
  if (index >= 0 && index < extent) [[likely]]
    return true;
  return IndexFault(args, index, dim, extent);
}

// Copies the cells that both have, unless they are the same ones.
void CopyWhole(const WholeArgs& args, const WholeOperand& to, const WholeOperand& from);
// n cells; formats are equal.
void CopyCells(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n, int64_t bytes);
// Zero is all bits clear in every format.
void ZeroCells(std::byte* to, int64_t step, int64_t n, int64_t bytes);
// to += factor * from (or to *= from) for n cells of a format, each sum rounded to it.
void AccumulateCells(const WholeArgs& args, std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step,
                     int64_t n, double factor, bool multiply);
// Indices as INT64, from INT32 or INT64.
void LoadIndices(const WholeOperand& index, const std::byte* from, int64_t step, int64_t n, int64_t* to);
// Values as FP64, from any format but INT64 and UINT64 without loss.
void LoadReals(const WholeArgs& args, const WholeOperand& from, const std::byte* at, int64_t step, int64_t n,
               double* to);

// Calls body(at) for each position of the dims before the last; false from body ends it.
template <typename Body>
bool ForEachRow(int rank, const Extents& cells, const Body& body) {
  for (int dim = 0; dim < rank; ++dim) {
    if (cells[dim] <= 0) return true;
  }
  Extents at{};
  for (;;) {
    if (!body(static_cast<const Extents&>(at))) return false;
    int dim = rank - 2;
    while (dim >= 0 && ++at[dim] == cells[dim]) at[dim--] = 0;
    if (dim < 0) return true;
  }
}

#define PYPTO_ROW_Whole(id) void Run##id(const WholeArgs& args);
#include "pypto/program/operation_rows.inc"

}  // namespace pypto::device
