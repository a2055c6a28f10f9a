// Operands of one tile, and the loop nest over their cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pypto/device/leaf_program.h"
#include "pypto/device/simd/kernel_table.h"

namespace pypto::device {

// Elements that a kernel converts at a time: its buffers stay in the first-level cache.
inline constexpr int64_t kChunk = 512;

// Where an operand's cells lie: the first cell of the tile, and strides in elements (0 where it does not vary).
struct OperandView {
  std::byte* data = nullptr;
  simd::Format format = simd::kF32;
  int64_t element_bytes = 4;
  const int64_t* strides = nullptr;
};

// A nest of loops over `operands` views. Dims of one cell are dropped and dims that are contiguous for all operands
// are joined. rank is at least 1.
struct Nest {
  static constexpr int kMostOperands = 4;
  int rank = 0;
  int operands = 0;
  std::array<int64_t, program::kMaxRank> counts;
  std::array<std::array<int64_t, program::kMaxRank>, kMostOperands> strides;
  std::array<std::byte*, kMostOperands> data;
  std::array<int64_t, kMostOperands> element_bytes;

  // `skip`: a dim left out, or -1. False when there are no cells.
  bool Make(int leaf_rank, const int64_t* cells, int skip, const OperandView* views, int view_count);

  // Calls body(pointers) for every position of the dims outside of the last `inner`.
  template <typename Body>
  void ForEachOuter(int inner, const Body& body) const {
    const int outer = rank - inner;
    std::array<std::byte*, kMostOperands> at = data;
    if (outer <= 0) return body(at);
    std::array<int64_t, program::kMaxRank> position{};
    for (;;) {
      body(at);
      int dim = outer - 1;
      for (; dim >= 0; --dim) {
        if (++position[dim] < counts[dim]) {
          for (int i = 0; i < operands; ++i) at[i] += strides[i][dim] * element_bytes[i];
          break;
        }
        for (int i = 0; i < operands; ++i) at[i] -= strides[i][dim] * element_bytes[i] * (counts[dim] - 1);
        position[dim] = 0;
      }
      if (dim < 0) return;
    }
  }
};

inline bool Nest::Make(int leaf_rank, const int64_t* cells, int skip, const OperandView* views, int view_count) {
  rank = 0;
  operands = view_count;
  for (int i = 0; i < view_count; ++i) {
    data[i] = views[i].data;
    element_bytes[i] = views[i].element_bytes;
  }
  for (int dim = 0; dim < leaf_rank; ++dim) {
    if (dim == skip) continue;
    if (cells[dim] <= 0) return false;
    if (cells[dim] == 1) continue;
    bool joins = rank > 0;
    for (int i = 0; joins && i < view_count; ++i) {
      joins = strides[i][rank - 1] == views[i].strides[dim] * cells[dim];
    }
    if (joins) {
      counts[rank - 1] *= cells[dim];
    } else {
      counts[rank++] = cells[dim];
    }
    for (int i = 0; i < view_count; ++i) strides[i][rank - 1] = views[i].strides[dim];
  }
  if (rank == 0) {
    counts[rank++] = 1;
    for (int i = 0; i < view_count; ++i) strides[i][0] = 1;
  }
  return true;
}

}  // namespace pypto::device
