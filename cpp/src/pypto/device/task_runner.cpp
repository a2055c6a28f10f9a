// Leaf after leaf.
#include "pypto/device/task_runner.h"

#include "pypto/device/leaf_runner.h"

namespace pypto::device {

void TaskRunner::RunItems(void* context, uint32_t core, int64_t first, int64_t last) {
  const auto& job = *static_cast<const Job*>(context);
  const TaskRunner& runner = *job.runner;
  RunTiles(*job.leaf, runner.kernels_, runner.scratch_.At(core), first, last, runner.abort_);
}

bool TaskRunner::Run(const Task& task) {
  for (const LeafRecord& leaf : task.leaves) {
    if (abort_ != nullptr && abort_->load(std::memory_order_relaxed)) return false;
    Job job{this, &leaf};
    scheduler_.Run(RunItems, &job, leaf.tiles, leaf.program->tile_ns);
  }
  return abort_ == nullptr || !abort_->load(std::memory_order_relaxed);
}

}  // namespace pypto::device
