// Runs tiles of a leaf on one core.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pypto/device/fault.h"
#include "pypto/device/simd/kernel_table.h"
#include "pypto/device/task.h"

namespace pypto::device {

// Tiles [first, last) of the grid (PlaceTile). `slots`: where the memory of the launch begins. `scratch` is the core's
// arena. Stops early when `abort` (may be null) is set, or `fault` is raised, as a tile itself may do. Thread-safe for
// disjoint tiles and different scratch.
void RunTiles(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels, std::byte* scratch,
              int64_t first, int64_t last, const std::atomic<bool>* abort, TileFault* fault);
// The same; adds to `ticks`, of each operation of the leaf, how long it takes.
void RunTilesTimed(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels,
                   std::byte* scratch, int64_t first, int64_t last, const std::atomic<bool>* abort, TileFault* fault,
                   uint64_t* ticks);

// One call of a kernel with everything it takes.
struct RowsCall {
  simd::RowsFunction rows = nullptr;
  simd::RowArgs args;
};
// Appends what RunTiles would do for all tiles as calls of kernels. False when it is more than that, or more than
// `most` calls in all.
bool BindTiles(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels, std::byte* scratch,
               size_t most, std::vector<RowsCall>* calls);

}  // namespace pypto::device
