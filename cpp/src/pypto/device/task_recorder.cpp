// Entries of the task block.
#include "pypto/device/task_recorder.h"

#include <algorithm>
#include <new>

namespace pypto::device {

using program::TaskEntry;
using program::TaskPools;

void TaskRecorder::KeepFailure(workspace::Pool pool, uint64_t requested, const workspace::PoolArena& arena) noexcept {
  failed_ = true;
  failure_.failed_pool = static_cast<uint32_t>(pool);
  failure_.requested = requested;
  failure_.available = arena.available();
  failure_.capacity = arena.capacity();
}

// Inside a task nothing returns to a pool, so what it holds at the end is the most that it held.
void TaskRecorder::Write(uint64_t task, uint32_t instances, const Pools& pools) noexcept {
  const uint64_t index = std::min(task, program::kMostTaskEntries);
  std::byte* place = block_ + program::kTaskBlockHeader + index * program::TaskEntryBytes(parallelism_);
  auto* entry = reinterpret_cast<TaskEntry*>(place);
  auto* usage = reinterpret_cast<TaskPools*>(place + sizeof(TaskEntry));
  if (task <= program::kMostTaskEntries) {
    new (entry) TaskEntry();
    for (uint32_t copy = 0; copy < parallelism_; ++copy) new (usage + copy) TaskPools();
  }
  entry->tasks += 1;
  entry->root_instances += instances;
  if (failed_) {
    entry->alloc_failures += 1;
    entry->failed_pool = failure_.failed_pool;
    entry->requested = failure_.requested;
    entry->available = failure_.available;
    entry->capacity = failure_.capacity;
    failed_ = false;
  }
  for (uint32_t copy = 0; copy < parallelism_; ++copy) {
    for (int pool = 0; pool < workspace::kPoolCount; ++pool) {
      const uint64_t held = pools.arena(copy, static_cast<workspace::Pool>(pool)).current();
      usage[copy].current[pool] = held;
      usage[copy].peak[pool] = std::max(usage[copy].peak[pool], held);
    }
  }
}

}  // namespace pypto::device
