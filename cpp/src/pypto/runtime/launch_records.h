// A task block read back from the device, and the log records made of it (reference/workspace.md §5).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pypto/acl/table.h"
#include "pypto/program/launch_block.h"
#include "pypto/runtime/counters.h"
#include "pypto/runtime/launch_report.h"
#include "pypto/workspace/budget.h"

namespace pypto::runtime {

// What one launch wrote; kept for the next. Owned by a Launcher. Thread rule: inside the worker's gate.
class LaunchRecords {
 public:
  // Reads the block at `address`, which the launch with this budget has written to its end. Context current.
  base::Status Read(const acl::Table& table, uint64_t address, const workspace::Budget& budget, Counters* counters);
  // Writes all records of the launch at once, at level INFO; `preface` comes first unless it is empty.
  void Write(const std::string& kernel, const std::string& preface) const;

  // Zero launches: the device wrote nothing.
  const program::LaunchStatistics& statistics() const noexcept { return statistics_; }
  std::vector<TaskReport> Tasks() const;

 private:
  const program::TaskEntry& entry(size_t index) const noexcept;
  const program::TaskPools* pools(size_t index) const noexcept;
  workspace::PoolUsage UsageOf(size_t index, uint32_t copy) const noexcept;
  workspace::PerPoolDepths DepthsOf(size_t index) const noexcept;

  workspace::Budget budget_;
  program::LaunchStatistics statistics_;
  size_t entries_ = 0;
  std::vector<uint64_t> bytes_;  // the block, as far as it was read
};

// Peaks and capacities of a launch, per copy of the workspace.
std::vector<workspace::PoolUsage> UsagePerCopy(const workspace::Budget& budget,
                                               const program::LaunchStatistics& statistics);

}  // namespace pypto::runtime
