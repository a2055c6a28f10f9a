// Copies of host memory of any size: by the C library, or past the caches when they are large against them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pypto::base {

enum class CopyWay : uint8_t { kLibrary, kAvx2, kAvx512 };

// Copies as memmove does. From StreamingCopyBytes() on, ranges that do not overlap are copied with stores that pass the
// caches by; what was stored is visible to other threads as after memmove. Any thread.
void BulkCopy(void* to, const void* from, size_t bytes) noexcept;

// Whether this processor has the instructions of a way.
bool CopyWayRuns(CopyWay way) noexcept;
// The same by a chosen way, which runs here, whatever the size; the ranges do not overlap.
void CopyBy(CopyWay way, void* to, const void* from, size_t bytes) noexcept;
// From here on BulkCopy streams: 5/16 of the last-level cache, where source and target no longer fit into what others
// leave of it (measured: with 32 MiB of cache the library copies faster up to 9 MiB, slower from 11 MiB on); at least
// 2 MiB. SIZE_MAX where no way streams.
size_t StreamingCopyBytes() noexcept;
// The way of BulkCopy for ranges of that size that do not overlap.
CopyWay WayForBytes(size_t bytes) noexcept;
// Whether two ranges of that size have a byte in common.
bool RangesOverlap(const void* a, const void* b, size_t bytes) noexcept;

}  // namespace pypto::base
