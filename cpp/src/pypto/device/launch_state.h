// One launch as read from its block: parameters, sizes, workspace and budget, all checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pypto/device/engine.h"
#include "pypto/device/executable.h"
#include "pypto/device/expr_frame.h"
#include "pypto/device/fault.h"
#include "pypto/program/launch_block.h"
#include "pypto/workspace/budget.h"

namespace pypto::device {

struct StorageSize {
  uint64_t bytes = 0;    // what it takes in the workspace
  int64_t elements = 0;  // that may be addressed
};

// Owned by the engine and kept between launches: what depends only on the executable, the symbols and the scalars is
// not computed again. Thread rule: one thread at a time.
class LaunchState {
 public:
  // False with a fault when the launch cannot run. statistics() is valid afterwards in either case.
  bool Prepare(const LoadedExecutable& executable, std::span<const std::byte> block, const AddressMap& memory,
               Fault* fault);

  const program::LaunchHeader& header() const noexcept { return header_; }
  const workspace::Budget& budget() const noexcept { return budget_; }
  ExprFrame& frame() noexcept { return frame_; }
  const std::vector<double>& float_scalars() const noexcept { return float_scalars_; }
  const StorageSize& storage_size(uint32_t storage) const noexcept { return storage_sizes_[storage]; }
  // Null for a parameter without elements or without use.
  std::byte* parameter(uint32_t index) const noexcept { return parameters_[index]; }
  std::byte* workspace() const noexcept { return workspace_; }
  program::LaunchStatistics* statistics() const noexcept { return statistics_; }
  // Null when the launch records no tasks.
  std::byte* task_block() const noexcept { return task_block_; }

 private:
  bool ReadHeader(const LoadedExecutable& executable, std::span<const std::byte> block, const AddressMap& memory,
                  Fault* fault);
  bool TranslateTaskBlock(const AddressMap& memory, Fault* fault);
  bool ReadValues(const LoadedExecutable& executable, std::span<const std::byte> block, bool* changed, Fault* fault);
  bool ComputeSizes(const LoadedExecutable& executable, Fault* fault);
  bool ComputeBudget(const LoadedExecutable& executable, Fault* fault);
  bool CompareBudget(Fault* fault) const;
  bool TranslateParameters(const LoadedExecutable& executable, std::span<const std::byte> block,
                           const AddressMap& memory, Fault* fault);
  bool TranslateWorkspace(const AddressMap& memory, Fault* fault);

  program::LaunchHeader header_;
  workspace::Budget budget_;
  ExprFrame frame_;
  std::vector<int64_t> symbols_;
  std::vector<int64_t> scalars_;  // integers; bits of the floating ones
  std::vector<double> float_scalars_;
  std::vector<uint64_t> parameter_bytes_;
  std::vector<std::byte*> parameters_;
  std::vector<StorageSize> storage_sizes_;
  std::byte* workspace_ = nullptr;
  program::LaunchStatistics* statistics_ = nullptr;
  std::byte* task_block_ = nullptr;
  uint64_t serial_ = 0;  // of the executable that sizes and budget are of; 0: none
};

}  // namespace pypto::device
