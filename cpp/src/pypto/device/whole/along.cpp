// Operations along one axis: first extremes, running sums and products, sorting.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/whole/whole.h"

namespace pypto::device {
namespace {

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

int64_t Stride(const WholeArgs& args, const WholeOperand& operand) { return operand.view.strides[args.op.axis]; }

// The first NaN, else the first largest value (smallest with `sign` -1).
template <int kSign>
void FirstExtreme(const WholeArgs& args) {
  const int64_t n = args.in[0].cells[args.op.axis];
  std::vector<double> line(static_cast<size_t>(n));
  ForEachLine(args, [&](std::byte* to, const std::byte* from) {
    LoadReals(args, args.in[0], from, Stride(args, args.in[0]), n, line.data());
    int32_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      const double x = line[static_cast<size_t>(i)];
      const double held = line[static_cast<size_t>(best)];
      const bool better = std::isnan(x) ? !std::isnan(held) : kSign * x > kSign * held;
      if (better) best = static_cast<int32_t>(i);
    }
    *reinterpret_cast<int32_t*>(to) = best;
  });
}

// kProduct: products instead of sums. Kept in FP64 or INT64, rounded to the result for each cell.
template <bool kProduct>
void Running(const WholeArgs& args) {
  const int axis = args.op.axis;
  const int64_t n = std::min(args.in[0].cells[axis], args.out.cells[axis]);
  const simd::Format result = args.out.view.format;
  const int64_t step = Stride(args, args.out);
  ForEachLine(args, [&](std::byte* to, const std::byte* from) {
    double real = kProduct ? 1.0 : 0.0;
    int64_t whole = kProduct ? 1 : 0;
    double values[kChunk];
    ChunkBuffer buffer;
    for (int64_t first = 0; first < n; first += kChunk) {
      const int64_t part = std::min(kChunk, n - first);
      LoadReals(args, args.in[0], from + first * Stride(args, args.in[0]) * args.in[0].view.element_bytes,
                Stride(args, args.in[0]), part, values);
      for (int64_t i = 0; i < part; ++i) {
        if (IsFloat(result)) {
          real = kProduct ? real * values[i] : real + values[i];
          buffer.floats()[i] = static_cast<float>(real);
        } else {
          whole += static_cast<int64_t>(values[i]);
          buffer.wide()[i] = whole;
        }
      }
      args.kernels.store[result](to + first * step * args.out.view.element_bytes, step, buffer.bytes, part);
    }
  });
}

// Order of the first k of n values: equal ones keep theirs; NaN is the largest.
void Order(const double* values, int64_t n, int64_t k, bool descending, std::vector<int32_t>* order) {
  order->resize(static_cast<size_t>(n));
  std::iota(order->begin(), order->end(), 0);
  const auto before = [&](int32_t a, int32_t b) {
    const double x = values[a];
    const double y = values[b];
    const bool less = std::isnan(y) ? !std::isnan(x) : x < y;
    const bool more = std::isnan(x) ? !std::isnan(y) : x > y;
    if (less || more) return descending ? more : less;
    return a < b;
  };
  if (k < n) {
    std::partial_sort(order->begin(), order->begin() + k, order->end(), before);
  } else {
    std::sort(order->begin(), order->end(), before);
  }
}

template <bool kIndices>
void SortLines(const WholeArgs& args) {
  const int axis = args.op.axis;
  const int64_t n = args.in[0].cells[axis];
  const int64_t k = std::min({static_cast<int64_t>(args.numbers[1]), n, args.out.cells[axis]});
  const int64_t bytes = args.out.view.element_bytes;
  const int64_t to_step = Stride(args, args.out);
  const int64_t from_step = Stride(args, args.in[0]);
  std::vector<double> values(static_cast<size_t>(n));
  std::vector<int32_t> order;
  ForEachLine(args, [&](std::byte* to, const std::byte* from) {
    LoadReals(args, args.in[0], from, from_step, n, values.data());
    Order(values.data(), n, k, args.numbers[2] != 0, &order);
    for (int64_t i = 0; i < k; ++i) {
      const int32_t which = order[static_cast<size_t>(i)];
      std::byte* at = to + i * to_step * bytes;
      if (kIndices) {
        *reinterpret_cast<int32_t*>(at) = which;
      } else {
        CopyCells(at, 1, from + which * from_step * bytes, 1, 1, bytes);
      }
    }
  });
}

}  // namespace

void RunArgMax(const WholeArgs& args) { FirstExtreme<1>(args); }
void RunArgMin(const WholeArgs& args) { FirstExtreme<-1>(args); }
void RunCumSum(const WholeArgs& args) { Running<false>(args); }
void RunCumProd(const WholeArgs& args) { Running<true>(args); }
void RunSorted(const WholeArgs& args) { SortLines<false>(args); }
void RunSortedIndex(const WholeArgs& args) { SortLines<true>(args); }

}  // namespace pypto::device
