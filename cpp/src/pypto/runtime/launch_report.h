// What the device wrote about the last launch of a handle, and what it says about workspace.
#pragma once

#include <cstdint>
#include <string>

#include "pypto/program/launch_block.h"
#include "pypto/workspace/recommendation.h"

namespace pypto::runtime {

// Read on request only. Zero launches: everything else is zero.
struct LaunchReport {
  std::string kernel;
  uint64_t launches = 0;
  double device_wall_us = 0;   // of the last launch
  workspace::Budget budget;    // of the last launch
  workspace::PoolUsage usage;  // of the last launch; current is 0: the launch has ended
  workspace::Recommendation recommendation;
  workspace::PerPoolDepths max_recommended_depths{};  // element-wise maximum over all launches of the handle
  program::LaunchStatistics statistics;               // as read
};

}  // namespace pypto::runtime
