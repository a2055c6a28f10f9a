// Lines along the axis of a whole operation.
#pragma once

#include <algorithm>

#include "pypto/device/whole/whole.h"

namespace pypto::device {

// Calls body(output, input) with the first cell of each line along the axis.
template <typename Body>
void ForEachLine(const WholeArgs& args, const Body& body) {
  Extents cells = args.out.cells;
  for (int dim = 0; dim < args.rank; ++dim) cells[dim] = std::min(cells[dim], args.in[0].cells[dim]);
  cells[args.op.axis] = 1;
  const OperandView views[] = {args.out.view, args.in[0].view};
  Nest nest;
  if (!nest.Make(args.rank, cells.data(), -1, views, 2)) return;
  nest.ForEachOuter(0, [&](const std::array<std::byte*, Nest::kMostOperands>& at) { body(at[0], at[1]); });
}

// Where the axis is not the last dim. Calls body(output, input, columns) with the first row of each block of columns.
template <typename Body>
void ForEachColumnBlock(const WholeArgs& args, const Body& body) {
  const int last = args.rank - 1;
  Extents cells = args.out.cells;
  for (int dim = 0; dim < args.rank; ++dim) cells[dim] = std::min(cells[dim], args.in[0].cells[dim]);
  const int64_t columns = cells[last];
  cells[args.op.axis] = 1;
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    for (int64_t first = 0; first < columns; first += kChunk) {
      Extents place = at;
      place[last] = first;
      body(args.out.At(place, args.rank), args.in[0].At(place, args.rank), std::min(kChunk, columns - first));
    }
    return true;
  });
}

inline int64_t StrideOf(const WholeArgs& args, const WholeOperand& operand) {
  return operand.view.strides[args.op.axis];
}

}  // namespace pypto::device
