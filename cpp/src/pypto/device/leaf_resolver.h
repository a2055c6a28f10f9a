// From a leaf program and the values of one root instance to a leaf record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pypto/device/fault.h"
#include "pypto/device/graph_builder.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/task.h"

namespace pypto::device {

// Where the data of a storage lies: kZeroSlot when nothing has been written yet.
struct Place {
  uint32_t slot = kZeroSlot;
  uint32_t space = 0;      // of GraphBuilder; differs for memory that does not overlap
  uint64_t offset = 0;     // bytes from the start of the slot
  int64_t space_base = 0;  // where the tensor begins in its space
};

struct Binding {
  Place before;  // what earlier instances left
  Place after;   // what this instance writes
};

// What leaves are resolved against, and into what. Owned by the stitcher.
struct ResolveTarget {
  LaunchState* launch = nullptr;
  const std::vector<Binding>* bindings = nullptr;  // per storage
  GraphBuilder* graph = nullptr;                   // null: nobody asks which bytes a leaf touches
  bool aliased = false;                            // parameters overlap: reads of all of them count
  RecordArena* arena = nullptr;
  Fault* fault = nullptr;
};

// Resolves `leaf`, number `number` of the task, into `record`. False with a fault: a failed expression, a view that
// starts before its base, or an access that leaves its storage. A leaf without tiles touches nothing.
bool ResolveLeaf(const LeafProgram& leaf, uint32_t number, const ResolveTarget& target, LeafRecord* record);

}  // namespace pypto::device
