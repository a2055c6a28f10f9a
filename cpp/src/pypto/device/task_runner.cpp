// Leaf after leaf, or as a graph.
#include "pypto/device/task_runner.h"

#include "pypto/device/leaf_runner.h"

namespace pypto::device {

template <typename Queue>
void TaskRunner::Work(Queue* queue, uint32_t core) {
  Claim claim;
  while (queue->Next(&claim)) {
    RunTiles(task_->leaves[claim.node], slots_, kernels_, scratch_.At(core), claim.first, claim.last, abort_, &fault_);
  }
}

bool TaskRunner::Run(const Task& task) {
  if (Stopped()) return false;
  if (!task.shared) {
    for (const LeafRecord& leaf : task.leaves) {
      RunTiles(leaf, slots_, kernels_, scratch_.At(0), 0, leaf.tiles, abort_, &fault_);
      if (Stopped()) return false;
    }
    return true;
  }
  task_ = &task;
  if (shaken_) {
    shaken_queue_.Begin(task);
    scheduler_.Run(
        [](void* self, uint32_t core) {
          auto* runner = static_cast<TaskRunner*>(self);
          runner->Work(&runner->shaken_queue_, core);
        },
        this);
  } else {
    queue_.Begin(task, scheduler_.cores());
    scheduler_.Run(
        [](void* self, uint32_t core) {
          auto* runner = static_cast<TaskRunner*>(self);
          runner->Work(&runner->queue_, core);
        },
        this);
  }
  return !Stopped();
}

}  // namespace pypto::device
