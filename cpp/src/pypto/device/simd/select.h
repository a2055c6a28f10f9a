// Chooses the kernel table of this processor, once per process.
#pragma once

#include <string>
#include <string_view>

#include "pypto/device/simd/kernel_table.h"

namespace pypto::device::simd {

// A table, or why there is none.
struct Selection {
  const KernelTable* table = nullptr;
  std::string error;  // for the user; empty when there is a table
};

// The set called `name` ("plain", "avx2", "avx512", "avx512_bf16"; "neon"); the best one the processor runs when empty.
// Thread-safe.
Selection SelectKernels(std::string_view name);

// SelectKernels of the environment variable PYPTO_SIMD, read at the first call. Thread-safe.
const Selection& ActiveKernels();

}  // namespace pypto::device::simd
