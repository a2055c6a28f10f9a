// How many bytes the tiles of a leaf move between memory and a core.
#pragma once

#include <cstdint>

#include "pypto/device/task.h"

namespace pypto::device {

// Adds what tiles [first, last) read and write, each tile for itself, to `bytes`: one sum per operation of the leaf. An
// access that several operations use counts where it is used first; values in the core's local buffer are free. Gives
// the sum. Follows from shapes and tiles alone.
uint64_t AddTraffic(const LeafRecord& record, int64_t first, int64_t last, uint64_t* bytes);

}  // namespace pypto::device
