// What the device wrote about the last launch of a handle, and what it says about workspace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pypto/program/launch_block.h"
#include "pypto/workspace/recommendation.h"

namespace pypto::runtime {

// One device task of a launch; the last of a report may sum several.
struct TaskReport {
  uint64_t task_id = 0;
  uint64_t tasks = 0;           // 1, or how many it sums
  uint64_t stitch_count = 0;    // root instances in it
  uint64_t alloc_failures = 0;  // 1 when a full pool closed it; the next four are of the last failure
  workspace::Pool failed_pool = workspace::Pool::kRootInner;
  uint64_t requested = 0;  // bytes
  uint64_t available = 0;
  uint64_t capacity = 0;
  workspace::PerPoolDepths recommended_depths{};  // over this task
  std::vector<workspace::PoolUsage> copies;       // `current`: held when the task was closed
};

// Read on request only. Zero launches: everything else is zero.
struct LaunchReport {
  std::string kernel;
  uint64_t launches = 0;
  double device_wall_us = 0;                 // of the last launch
  workspace::Budget budget;                  // of the last launch
  workspace::PoolUsage usage;                // of the last launch, over all copies; current is 0: the launch has ended
  std::vector<workspace::PoolUsage> copies;  // the same per copy
  workspace::Recommendation recommendation;
  workspace::PerPoolDepths max_recommended_depths{};  // element-wise maximum over all launches of the handle
  std::vector<TaskReport> tasks;                      // of the last launch, when it ran with level INFO; else empty
  program::LaunchStatistics statistics;               // as read
};

}  // namespace pypto::runtime
