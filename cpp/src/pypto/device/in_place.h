// Outcasts of which a root function makes each cell from the same cell of what was there before, as loops that carry a
// value do.
#pragma once

#include <cstdint>
#include <vector>

#include "pypto/device/leaf_program.h"

namespace pypto::device {

struct OutcastUse {
  std::vector<uint32_t> read;  // outcasts of which leaves see what was there before
  std::vector<bool> updates;   // per storage: the new buffer may be the old one, when nobody else reads that
};

// `begins_new`: per storage, the root function writes it whole.
OutcastUse FindUses(const program::Plan& plan, const std::vector<LeafProgram>& leaves,
                    const std::vector<bool>& begins_new);

}  // namespace pypto::device
