// From a leaf program and the values of one root instance to a leaf record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pypto/device/fault.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/task.h"

namespace pypto::device {

// Where the data of a storage lies for one instance; null when nothing has been written yet.
struct Binding {
  std::byte* before = nullptr;  // what earlier instances left
  std::byte* after = nullptr;   // what this instance writes
};

// Resolves `leaf` into `record`, with memory from `arena`. False with a fault: a failed expression, a view that starts
// before its base, or an access that leaves its storage.
bool ResolveLeaf(const LeafProgram& leaf, LaunchState& launch, const std::vector<Binding>& bindings, RecordArena* arena,
                 LeafRecord* record, Fault* fault);

}  // namespace pypto::device
