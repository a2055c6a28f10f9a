// Lending and freeing task blocks.
#include "pypto/runtime/task_blocks.h"

#include <utility>

#include "pypto/runtime/statistics_blocks.h"

namespace pypto::runtime {

using base::Result;
using base::Status;

TaskBlocks::TaskBlocks(const acl::Table& table, DeviceAllocator* allocator, uint64_t bytes, std::string label)
    : table_(table), allocator_(allocator), bytes_(bytes), label_(std::move(label)) {}

Result<uint64_t> TaskBlocks::Take() {
  if (!free_.empty()) [[likely]] {
    const uint64_t address = free_.back();
    free_.pop_back();
    return address;
  }
  PYPTO_ASSIGN_OR_RETURN(const uint64_t address, allocator_->Allocate(bytes_, MemoryKind::kPrograms, label_));
  Status zeroed = ZeroStatistics(table_, address);
  if (!zeroed.ok()) {
    zeroed.Attach(allocator_->Free(address));
    return zeroed;
  }
  all_.push_back(address);
  return address;
}

Status TaskBlocks::Release() {
  Status first;
  for (const uint64_t address : all_) first.Attach(allocator_->Free(address));
  all_.clear();
  free_.clear();
  return first;
}

}  // namespace pypto::runtime
