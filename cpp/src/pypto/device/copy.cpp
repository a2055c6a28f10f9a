// Copies of one tile: runs of elements as they lie, and dims that change places two at a time.
#include <cstring>
#include <utility>

#include "pypto/device/chunk.h"
#include "pypto/device/vector_ops.h"

namespace pypto::device {
namespace {

using Pointers = std::array<std::byte*, Nest::kMostOperands>;

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

// Nothing that one writes is read by the other, or they are the same cells.
bool Apart(const Nest& nest) {
  int64_t reach[2];
  for (int i = 0; i < 2; ++i) {
    int64_t elements = 1;
    for (int dim = 0; dim < nest.rank; ++dim) elements += (nest.counts[dim] - 1) * nest.strides[i][dim];
    reach[i] = elements * nest.element_bytes[i];
  }
  return nest.data[0] + reach[0] <= nest.data[1] || nest.data[1] + reach[1] <= nest.data[0];
}

// Streaming pays where a row holds some lines.
constexpr int64_t kLeastStreamed = 256;

void CopyRuns(const Nest& nest, const simd::KernelTable& kernels, bool streams, bool asks) {
  const int64_t n = nest.counts[nest.rank - 1];
  const int64_t bytes = nest.element_bytes[0];
  const bool runs = InnerStep(nest, 0) == 1 && InnerStep(nest, 1) == 1;
  if (!runs || !Apart(nest)) {
    return nest.ForEachOuter(
        1, [&](const Pointers& at) { CopyRow(at[0], InnerStep(nest, 0), at[1], InnerStep(nest, 1), n, bytes); });
  }
  streams = streams && n * bytes >= kLeastStreamed;
  if (nest.rank == 1) return kernels.copy_rows(nest.data[0], 0, nest.data[1], 0, 1, n * bytes, streams, false);
  const int dim = nest.rank - 2;
  const auto& to = nest.strides[0];
  const auto& from = nest.strides[1];
  // The dims outside of the runs change places.
  if (dim > 0 && to[dim - 1] > to[dim] && from[dim - 1] > 0 && from[dim - 1] < from[dim]) {
    return nest.ForEachOuter(3, [&](const Pointers& at) {
      const simd::RunGrid grid = {at[0],
                                  to[dim] * bytes,
                                  to[dim - 1] * bytes,
                                  at[1],
                                  from[dim] * bytes,
                                  from[dim - 1] * bytes,
                                  nest.counts[dim],
                                  nest.counts[dim - 1],
                                  n * bytes,
                                  streams,
                                  asks};
      kernels.copy_grid(&grid);
    });
  }
  nest.ForEachOuter(2, [&](const Pointers& at) {
    kernels.copy_rows(at[0], nest.strides[0][dim] * bytes, at[1], nest.strides[1][dim] * bytes, nest.counts[dim],
                      n * bytes, streams, asks);
  });
}

// The dim along which the input's elements stand side by side, when the output's do so along the last one; else -1.
int TurnedDim(const Nest& nest) {
  const int last = nest.rank - 1;
  if (last < 1 || nest.strides[0][last] != 1 || nest.strides[1][last] <= 1) return -1;
  for (int dim = last - 1; dim >= 0; --dim) {
    if (nest.strides[1][dim] == 1) return dim;
  }
  return -1;
}

// The other dims are walked outside of two dims that are turned at a time.
void CopyTurned(Nest nest, int turned, const simd::KernelTable& kernels, bool streams) {
  const int last = nest.rank - 1;
  for (int dim = turned; dim + 1 < last; ++dim) {
    std::swap(nest.counts[dim], nest.counts[dim + 1]);
    for (int i = 0; i < 2; ++i) std::swap(nest.strides[i][dim], nest.strides[i][dim + 1]);
  }
  const int64_t bytes = nest.element_bytes[0];
  const auto transpose = kernels.transpose[bytes == 8 ? 3 : bytes / 2];
  streams = streams && nest.counts[last] * bytes >= kLeastStreamed;
  nest.ForEachOuter(2, [&](const Pointers& at) {
    transpose(at[0], nest.strides[0][last - 1] * bytes, at[1], nest.strides[1][last] * bytes, nest.counts[last],
              nest.counts[last - 1], streams);
  });
}

}  // namespace

void RunCopy(const OpProgram& op, const simd::KernelTable& kernels, int rank, const int64_t* cells,
             const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 2)) return;
  const bool fits = !IsWide(views[0].format) || kernels.fit[op.result] == nullptr;
  if (views[0].format == views[1].format && fits) {
    const int turned = TurnedDim(nest);
    if (turned >= 0 && Apart(nest)) return CopyTurned(nest, turned, kernels, op.streams_turned);
    return CopyRuns(nest, kernels, op.streams, op.asks);
  }
  ChunkBuffer buffer;
  ForEachChunk(nest, [&](const Pointers& at, int64_t n) {
    kernels.load[views[1].format](buffer.bytes, at[1], InnerStep(nest, 1), n);
    FinishChunk(kernels, op.result, views[0].format, at[0], InnerStep(nest, 0), buffer.bytes, n);
  });
}

}  // namespace pypto::device
