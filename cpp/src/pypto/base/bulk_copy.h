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
// From here on BulkCopy streams: a quarter of the last-level cache, since source and target fill half of it then and
// others use it too; at least 2 MiB. SIZE_MAX where no way streams.
size_t StreamingCopyBytes() noexcept;

}  // namespace pypto::base
