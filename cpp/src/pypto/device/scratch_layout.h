// Lays out a core's scratch arena for one leaf.
#pragma once

#include "pypto/base/status.h"
#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Access pointers first, then the locals (those that do not live at the same time share memory) or the packed blocks
// of a matrix product. A tile of a vector leaf with locals is cut into blocks for which they stay in the cache.
// kUnsupported when a tile is too large for a core.
base::Status LayOutScratch(const program::Leaf& leaf, const simd::KernelTable& kernels, LeafProgram* program);

}  // namespace pypto::device
