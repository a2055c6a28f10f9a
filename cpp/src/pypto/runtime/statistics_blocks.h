// The statistics blocks of one handle: one per workspace budget, written by the device, read on request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pypto/acl/table.h"
#include "pypto/program/launch_block.h"
#include "pypto/runtime/device_allocator.h"
#include "pypto/workspace/recommendation.h"

namespace pypto::runtime {

// Zeroes the first kStatisticsBytes at `address`. Context current.
base::Status ZeroStatistics(const acl::Table& table, uint64_t address);

// The device keeps maxima per block; launches with another budget get another block, so that maxima and units belong
// together. At most kMostBlocks: then the one unused for longest is read, remembered in sums, and used again.
// Owned by a Launcher. Thread rule: inside the worker's gate, context current.
class StatisticsBlocks {
 public:
  static constexpr size_t kMostBlocks = 16;

  StatisticsBlocks(const acl::Table& table, DeviceAllocator* allocator, Counters* counters, std::string label);
  StatisticsBlocks(const StatisticsBlocks&) = delete;
  StatisticsBlocks& operator=(const StatisticsBlocks&) = delete;

  // Whether Select would read a block back: then nothing may be running.
  bool MustEvict(const workspace::Budget& budget) const noexcept;
  // Device address of the block for launches with this budget.
  base::Result<uint64_t> Select(const workspace::Budget& budget);
  // Of the block selected last. Nothing may be running.
  base::Result<program::LaunchStatistics> ReadLast();

  // A launch that writes the block selected last has been queued.
  void CountLaunch() noexcept { selected_->launches += 1; }
  // What that block says once they have all run; 0: not known.
  uint64_t expected_launches() const noexcept { return selected_->counted ? selected_->launches : 0; }
  // Some of what was queued may never run: not known until the block is read.
  void LoseCount() noexcept;
  // Reads the block when that is so. Nothing may be running.
  void FindCount();

  struct Totals {
    uint64_t launches = 0;
    workspace::PerPoolDepths max_recommended{};
  };
  // Over all blocks, past and present. Nothing may be running.
  base::Result<Totals> ReadTotals();
  // Frees the blocks; first error.
  base::Status Release();

 private:
  struct Block {
    workspace::Budget budget;
    uint64_t address = 0;
    uint64_t last_use = 0;
    uint64_t launches = 0;  // queued for it, all of which have run or will; while `counted`
    bool counted = true;
  };
  Block* Find(const workspace::Budget& budget) noexcept;
  base::Result<program::LaunchStatistics> Read(uint64_t address);
  static void Add(const Block& block, const program::LaunchStatistics& statistics, Totals* totals);

  const acl::Table& table_;
  DeviceAllocator* allocator_;
  Counters* counters_;
  std::string label_;
  std::vector<Block> blocks_;
  uint64_t uses_ = 0;
  Block none_;
  Block* selected_ = &none_;
  Totals evicted_;
};

}  // namespace pypto::runtime
