// Triangles, ranges, masks and reinterpreted bytes.
#include <algorithm>
#include <cstring>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/vector_ops.h"
#include "pypto/device/whole/whole.h"

namespace pypto::device {

// The cells with column - row <= diagonal, or >= where the upper side is kept.
void RunTriangle(const WholeArgs& args) {
  const int last = args.rank - 1;
  const int64_t bytes = args.out.view.element_bytes;
  const int64_t to_step = args.out.view.strides[last];
  const int64_t from_step = args.in[0].view.strides[last];
  const auto diagonal = static_cast<int64_t>(args.numbers[1]);
  const bool upper = args.numbers[2] != 0;
  Extents cells = args.out.cells;
  for (int dim = 0; dim < args.rank; ++dim) cells[dim] = std::min(cells[dim], args.in[0].cells[dim]);
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    std::byte* to = args.out.At(at, args.rank);
    const std::byte* from = args.in[0].At(at, args.rank);
    // Columns [0, split) lie on the lower side.
    const int64_t row = args.begin[last - 1] + at[last - 1];
    const int64_t edge = row + diagonal + (upper ? 0 : 1) - args.begin[last];
    const int64_t split = std::clamp<int64_t>(edge, 0, cells[last]);
    std::byte* to_right = to + split * to_step * bytes;
    const std::byte* from_right = from + split * from_step * bytes;
    const int64_t right = cells[last] - split;
    if (upper) {
      ZeroCells(to, to_step, split, bytes);
      CopyCells(to_right, to_step, from_right, from_step, right, bytes);
    } else {
      CopyCells(to, to_step, from, from_step, split, bytes);
      ZeroCells(to_right, to_step, right, bytes);
    }
    return true;
  });
}

void RunTriangleTile(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
                     const OperandView* views, const TriangleArgs& args) {
  const OperandView& out = views[0];
  const int64_t step = out.strides[rank - 1];
  // Of one number: what is not cleared is filled.
  const bool fills = op.inputs[0].source == Source::kNumber && op.result == simd::kF32 && step == 1;
  float number = 0;
  if (fills) {
    std::memcpy(&number, views[1].data, sizeof(number));
  } else {
    RunCopy(op, kernels, rank, cells, views);
  }
  Extents extents{};
  std::copy(cells, cells + rank, extents.begin());
  ForEachRow(rank, extents, [&](const Extents& at) {
    int64_t elements = 0;
    for (int dim = 0; dim < rank; ++dim) elements += at[dim] * out.strides[dim];
    const int64_t edge = args.row + at[rank - 2] + args.diagonal + (args.upper ? 0 : 1) - args.column;
    const int64_t split = std::clamp<int64_t>(edge, 0, cells[rank - 1]);
    const int64_t first = args.upper ? 0 : split;
    const int64_t count = args.upper ? split : cells[rank - 1] - split;
    if (fills) {
      float* const kept = reinterpret_cast<float*>(out.data + elements * out.element_bytes) + (args.upper ? split : 0);
      std::fill(kept, kept + (cells[rank - 1] - count), number);
    }
    ZeroCells(out.data + (elements + first * step) * out.element_bytes, step, count, out.element_bytes);
    return true;
  });
}

void RunArange(const WholeArgs& args) {
  const int last = args.rank - 1;
  const simd::Format format = args.out.view.format;
  const int64_t step = args.out.view.strides[last];
  ChunkBuffer buffer;
  for (int64_t first = 0; first < args.out.cells[last]; first += kChunk) {
    const int64_t part = std::min(kChunk, args.out.cells[last] - first);
    for (int64_t i = 0; i < part; ++i) {
      const double value = args.numbers[0] + static_cast<double>(args.begin[last] + first + i) * args.numbers[1];
      if (IsFloat(format)) {
        buffer.floats()[i] = static_cast<float>(value);
      } else {
        buffer.integers()[i] = static_cast<int32_t>(static_cast<int64_t>(value));
      }
    }
    args.kernels.store[format](args.out.view.data + first * step * args.out.view.element_bytes, step, buffer.bytes,
                               part);
  }
}

void RunGatherMask(const WholeArgs& args) {
  const int last = args.rank - 1;
  const auto mode = static_cast<int64_t>(args.numbers[1]);
  const int64_t distance = mode == 7 ? 1 : (mode <= 2 ? 2 : 4);
  const int64_t first = mode == 7 ? 0 : (mode <= 2 ? mode - 1 : mode - 3);
  const int64_t bytes = args.out.view.element_bytes;
  Extents cells = args.out.cells;
  for (int dim = 0; dim < last; ++dim) cells[dim] = std::min(cells[dim], args.in[0].cells[dim]);
  const int64_t reach = std::max<int64_t>(args.in[0].cells[last] - first, 0);
  cells[last] = std::min(cells[last], (reach + distance - 1) / distance);
  const int64_t step = args.in[0].view.strides[last];
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    const std::byte* from = args.in[0].At(Extents(at), args.rank) + first * step * bytes;
    CopyCells(args.out.At(at, args.rank), args.out.view.strides[last], from, step * distance, cells[last], bytes);
    return true;
  });
}

void RunDeinterleave(const WholeArgs& args) { RunGatherMask(args); }

namespace {

// Copies for each row the element of x or y that `source(i)` names: whether it is y, and where.
template <typename Source>
void CopyOfPair(const WholeArgs& args, const Source& source) {
  const int last = args.rank - 1;
  const int64_t bytes = args.out.view.element_bytes;
  Extents cells = args.out.cells;
  for (const WholeOperand& operand : {args.in[0], args.in[1]}) {
    if (operand.cells[last] == 0) return;
    for (int dim = 0; dim < last; ++dim) cells[dim] = std::min(cells[dim], operand.cells[dim]);
  }
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    std::byte* to = args.out.At(at, args.rank);
    const std::byte* from[] = {args.in[0].At(at, args.rank), args.in[1].At(at, args.rank)};
    for (int64_t i = 0; i < args.out.cells[last]; ++i) {
      const auto [second, place] = source(i);
      const WholeOperand& operand = args.in[second];
      const int64_t inside = std::min(place, std::max<int64_t>(operand.cells[last] - 1, 0));
      CopyCells(to + i * args.out.view.strides[last] * bytes, 1,
                from[second] + inside * operand.view.strides[last] * bytes, 1, 1, bytes);
    }
    return true;
  });
}

}  // namespace

void RunInterleave(const WholeArgs& args) {
  const int64_t n = args.leaf.extents[args.rank - 1];
  const int64_t start = args.numbers[2] != 0 ? n : 0;
  CopyOfPair(args, [&](int64_t i) { return std::pair(static_cast<size_t>((start + i) % 2), (start + i) / 2); });
}

void RunDeinterleaveTwo(const WholeArgs& args) {
  const int64_t n = args.leaf.extents[args.rank - 1];
  const int64_t parity = args.numbers[2] != 0 ? 1 : 0;
  CopyOfPair(args, [&](int64_t i) {
    const int64_t place = 2 * i + parity;
    return std::pair(static_cast<size_t>(place >= n), place >= n ? place - n : place);
  });
}

namespace {

// A row of the string of bytes that the cells of the input are, from byte `first` of it on.
struct BytesRow {
  const std::byte* from;
  int64_t first;
};

// The bytes [low, high) of the string into the tile, which starts at byte `begin` of it.
void CopyRow(const WholeArgs& args, const BytesRow& row, int64_t begin, int64_t low, int64_t high) {
  const int last = args.rank - 1;
  const int64_t in_bytes = args.in[0].view.element_bytes;
  const int64_t out_bytes = args.out.view.element_bytes;
  const int64_t in_step = args.in[0].view.strides[last];
  const int64_t out_step = args.out.view.strides[last];
  if (low >= high) return;
  if (in_step == 1 && out_step == 1) {
    std::memcpy(args.out.view.data + (low - begin), row.from + (low - row.first), static_cast<size_t>(high - low));
    return;
  }
  for (int64_t place = low; place < high; ++place) {
    const int64_t to = place - begin;
    const int64_t from = place - row.first;
    args.out.view.data[to / out_bytes * out_step * out_bytes + to % out_bytes] =
        row.from[from / in_bytes * in_step * in_bytes + from % in_bytes];
  }
}

}  // namespace

// The cells of the input in row-major order are one string of bytes, 0 where they are not valid; the output is 1-D.
void RunBytes(const WholeArgs& args) {
  const int last = args.rank - 1;
  const WholeOperand& in = args.in[0];
  const int64_t out_bytes = args.out.view.element_bytes;
  const Extents& extents = args.leaf.accesses[args.op.inputs[0].index].extents;
  ZeroCells(args.out.view.data, args.out.view.strides[last], args.out.cells[last], out_bytes);
  const int64_t begin = args.begin[last] * out_bytes;
  const int64_t end = begin + args.out.cells[last] * out_bytes;
  const int64_t row_bytes = extents[last] * in.view.element_bytes;
  for (int64_t row = begin / row_bytes; row * row_bytes < end; ++row) {
    Extents at{};
    int64_t rest = row;
    bool valid = true;
    for (int dim = last - 1; dim >= 0; --dim) {
      at[dim] = rest % extents[dim];
      rest /= extents[dim];
      valid = valid && at[dim] < in.cells[dim];
    }
    if (rest != 0) return;
    if (!valid) continue;
    const int64_t first = row * row_bytes;
    const int64_t past = first + in.cells[last] * in.view.element_bytes;
    CopyRow(args, {in.At(at, args.rank), first}, begin, std::max(begin, first), std::min(end, past));
  }
}

}  // namespace pypto::device
