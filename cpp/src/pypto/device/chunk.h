// Rows of a tile in chunks that fit a kernel's buffers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "pypto/device/simd/kernel_table.h"
#include "pypto/device/tile.h"

namespace pypto::device {

// Whether memory of this format already holds what kernels compute with.
inline bool IsWide(simd::Format format) {
  return format == simd::kF32 || format == simd::kI32 || format == simd::kI64 || format == simd::kU64;
}

// Room for one chunk of any kind of elements.
struct alignas(64) ChunkBuffer {
  std::byte bytes[kChunk * 8];
  float* floats() { return reinterpret_cast<float*>(bytes); }
  int32_t* integers() { return reinterpret_cast<int32_t*>(bytes); }
  int64_t* wide() { return reinterpret_cast<int64_t*>(bytes); }
};

// Step between neighbours in the innermost dim; 1 where there is only one.
inline int64_t InnerStep(const Nest& nest, int operand) {
  return nest.counts[nest.rank - 1] == 1 ? 1 : nest.strides[operand][nest.rank - 1];
}

// Calls body(output, inputs…, n) for chunks of the innermost dim.
template <typename Body>
void ForEachChunk(const Nest& nest, const Body& body) {
  const int64_t n = nest.counts[nest.rank - 1];
  nest.ForEachOuter(1, [&](const std::array<std::byte*, Nest::kMostOperands>& at) {
    for (int64_t first = 0; first < n; first += kChunk) {
      std::array<std::byte*, Nest::kMostOperands> chunk = at;
      for (int i = 0; i < nest.operands; ++i) chunk[i] += first * InnerStep(nest, i) * nest.element_bytes[i];
      body(chunk, std::min(kChunk, n - first));
    }
  });
}

// Rounds n wide results to `result` and puts them at `to`, unless they lie there already.
inline void FinishChunk(const simd::KernelTable& kernels, simd::Format result, simd::Format memory, std::byte* to,
                        int64_t step, void* values, int64_t n) {
  if (IsWide(memory)) {
    if (kernels.fit[result] != nullptr) kernels.fit[result](values, n);
    if (to != values) kernels.store[memory](to, step, values, n);
    return;
  }
  kernels.store[memory](to, step, values, n);
}

}  // namespace pypto::device
