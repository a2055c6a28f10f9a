// Entries of the task block.
#include "pypto/device/task_recorder.h"

#include <algorithm>
#include <new>

namespace pypto::device {

using program::TaskEntry;
using program::TaskPools;

// Inside a task nothing returns to a pool, so what it holds at the end is the most that it held.
void TaskRecorder::Write(uint64_t task, const TaskFigures& figures) noexcept {
  const uint64_t index = std::min(task, program::kMostTaskEntries);
  std::byte* place = block_ + program::kTaskBlockHeader + index * program::TaskEntryBytes(parallelism_);
  auto* entry = reinterpret_cast<TaskEntry*>(place);
  auto* usage = reinterpret_cast<TaskPools*>(place + sizeof(TaskEntry));
  if (task <= program::kMostTaskEntries) {
    new (entry) TaskEntry();
    for (uint32_t copy = 0; copy < parallelism_; ++copy) new (usage + copy) TaskPools();
  }
  entry->tasks += 1;
  entry->root_instances += figures.instances;
  if (figures.failed) {
    entry->alloc_failures += 1;
    entry->failed_pool = figures.failed_pool;
    entry->requested = figures.requested;
    entry->available = figures.available;
    entry->capacity = figures.capacity;
  }
  for (uint32_t copy = 0; copy < parallelism_; ++copy) {
    usage[copy].current = figures.held[copy];
    for (size_t pool = 0; pool < figures.held[copy].size(); ++pool) {
      usage[copy].peak[pool] = std::max(usage[copy].peak[pool], figures.held[copy][pool]);
    }
  }
}

}  // namespace pypto::device
