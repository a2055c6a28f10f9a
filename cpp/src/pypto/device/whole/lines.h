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

inline int64_t StrideOf(const WholeArgs& args, const WholeOperand& operand) {
  return operand.view.strides[args.op.axis];
}

}  // namespace pypto::device
