// Walks the control tree of a plan and makes a root instance wherever one stands.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "pypto/device/executable.h"
#include "pypto/device/fault.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/stitcher.h"

namespace pypto::device {

// Lives for one launch, on the launching thread.
class ControlFlow {
 public:
  ControlFlow(LaunchState* launch, Stitcher* stitcher, const std::atomic<bool>* abort, Fault* fault)
      : launch_(*launch), stitcher_(*stitcher), abort_(abort), fault_(*fault) {}

  // Runs everything, the last task included. False with a fault.
  bool Run(const std::vector<ControlProgram>& nodes) { return Walk(nodes, {}) && stitcher_.Submit(); }

 private:
  // Which copy of the workspace instances use; set by the outermost parallel loop.
  struct Place {
    uint32_t copy = 0;
    bool in_parallel = false;
  };
  bool Walk(const std::vector<ControlProgram>& nodes, Place place);
  bool Loop(const ControlProgram& node, Place place);
  bool Branch(const ControlProgram& node, Place place);
  // Reads a cell, sets slots or checks a condition.
  bool Slots(const ControlProgram& node);
  // The value of an expression, or a fault.
  bool Value(const ControlProgram& node, ExprId id, int64_t* value);
  bool Aborted();

  LaunchState& launch_;
  Stitcher& stitcher_;
  const std::atomic<bool>* abort_;
  Fault& fault_;
  std::vector<int64_t> new_values_;  // of slots that are set at once
};

}  // namespace pypto::device
