// Device memory for the task entries of one handle's launches (program/launch_block.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pypto/acl/table.h"
#include "pypto/runtime/device_allocator.h"

namespace pypto::runtime {

// One block per launch in flight that records its tasks; kept and lent again. Nothing is allocated before the first.
// Owned by a Launcher. Thread rule: inside the worker's gate, context current.
class TaskBlocks {
 public:
  // `bytes`: of each block.
  TaskBlocks(const acl::Table& table, DeviceAllocator* allocator, uint64_t bytes, std::string label);

  uint64_t bytes() const noexcept { return bytes_; }
  // Address of a block that no launch writes.
  base::Result<uint64_t> Take();
  void Return(uint64_t address) { free_.push_back(address); }
  // Whether no launch holds one.
  bool all_free() const noexcept { return free_.size() == all_.size(); }
  // Frees all; first error.
  base::Status Release();

 private:
  const acl::Table& table_;
  DeviceAllocator* allocator_;
  uint64_t bytes_;
  std::string label_;
  std::vector<uint64_t> all_;
  std::vector<uint64_t> free_;
};

}  // namespace pypto::runtime
