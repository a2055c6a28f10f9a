// Copies of one tile; views that swap dims are copied in blocks, so that every cache line is read once.
#include <algorithm>
#include <cstring>

#include "pypto/device/chunk.h"
#include "pypto/device/vector_ops.h"

namespace pypto::device {
namespace {

using Pointers = std::array<std::byte*, Nest::kMostOperands>;

// A block of rows × columns; 8 lines of the source are open at a time, which any first-level cache holds.
constexpr int64_t kBlockRows = 32;
constexpr int64_t kBlockColumns = 8;

template <typename T>
void CopyElements(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n) {
  auto* out = reinterpret_cast<T*>(to);
  const auto* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) out[i * to_step] = in[i * from_step];
}

void CopyRow(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n, int64_t bytes) {
  if (to_step == 1 && from_step == 1) {
    std::memmove(to, from, static_cast<size_t>(n * bytes));
    return;
  }
  switch (bytes) {
    case 1: return CopyElements<uint8_t>(to, to_step, from, from_step, n);
    case 2: return CopyElements<uint16_t>(to, to_step, from, from_step, n);
    case 8: return CopyElements<uint64_t>(to, to_step, from, from_step, n);
    default: return CopyElements<uint32_t>(to, to_step, from, from_step, n);
  }
}

void CopyRows(const Nest& nest) {
  const int64_t n = nest.counts[nest.rank - 1];
  nest.ForEachOuter(1, [&](const Pointers& at) {
    CopyRow(at[0], InnerStep(nest, 0), at[1], InnerStep(nest, 1), n, nest.element_bytes[0]);
  });
}

// The last two dims are dense in the output and in the input, but the other way round.
bool IsTransposed(const Nest& nest) {
  return nest.rank > 1 && nest.strides[1][nest.rank - 2] == 1 && nest.strides[1][nest.rank - 1] > 1;
}

void CopyTransposed(const Nest& nest) {
  const int64_t bytes = nest.element_bytes[0];
  const int64_t rows = nest.counts[nest.rank - 2];
  const int64_t columns = nest.counts[nest.rank - 1];
  const int64_t out_row = nest.strides[0][nest.rank - 2];
  const int64_t out_step = nest.strides[0][nest.rank - 1];
  const int64_t in_step = nest.strides[1][nest.rank - 1];
  nest.ForEachOuter(2, [&](const Pointers& at) {
    for (int64_t row = 0; row < rows; row += kBlockRows) {
      for (int64_t column = 0; column < columns; column += kBlockColumns) {
        const int64_t width = std::min(kBlockColumns, columns - column);
        for (int64_t i = row; i < std::min(row + kBlockRows, rows); ++i) {
          CopyRow(at[0] + (i * out_row + column * out_step) * bytes, out_step, at[1] + (i + column * in_step) * bytes,
                  in_step, width, bytes);
        }
      }
    }
  });
}

}  // namespace

void RunCopy(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
             const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 2)) return;
  const bool fits = !IsWide(views[0].format) || kernels.fit[op.result] == nullptr;
  if (views[0].format == views[1].format && fits) return IsTransposed(nest) ? CopyTransposed(nest) : CopyRows(nest);
  ChunkBuffer buffer;
  ForEachChunk(nest, [&](const Pointers& at, int64_t n) {
    kernels.load[views[1].format](buffer.bytes, at[1], InnerStep(nest, 1), n);
    FinishChunk(kernels, op.result, views[0].format, at[0], InnerStep(nest, 0), buffer.bytes, n);
  });
}

}  // namespace pypto::device
