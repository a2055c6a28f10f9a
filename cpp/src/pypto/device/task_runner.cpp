// Leaf after leaf, or as a graph.
#include "pypto/device/task_runner.h"

#include "pypto/device/leaf_runner.h"

namespace pypto::device {
namespace {

// Hands the claims of a queue to `work`, on every core.
template <typename Queue, typename Work>
void Share(CoreScheduler* scheduler, Queue* queue, const Work& work) {
  struct Job {
    Queue* queue;
    const Work* work;
  };
  Job job{queue, &work};
  scheduler->Run(
      [](void* context, uint32_t core) {
        const auto* shared = static_cast<Job*>(context);
        Claim claim;
        claim.back = core % 2 == 1;
        while (shared->queue->Next(&claim)) (*shared->work)(core, claim.node, claim.first, claim.last);
      },
      &job);
}

}  // namespace

template <typename Work>
bool TaskRunner::RunInOrder(const Task& task, const Work& work) {
  launch_->PlaceInner(task.inner_begin);
  for (uint32_t i = 0; i < task.leaves.size(); ++i) {
    work(0, launch_->slots(), i, 0, task.leaves[i].tiles);
    if (Stopped()) return false;
  }
  return true;
}

template <typename Work>
bool TaskRunner::RunAsGraph(const Task& task, const Work& work) {
  std::byte* workspace = launch_->workspace();
  slots_.resize(scheduler_.cores());
  for (auto& slots : slots_) slots.assign(launch_->slots(), launch_->slots() + launch_->slot_count());
  const auto by_leaf = [&](uint32_t core, uint32_t leaf, int64_t first, int64_t last) {
    slots_[core][kInnerSlot] = workspace + task.leaves[leaf].inner;
    work(core, slots_[core].data(), leaf, first, last);
  };
  const auto by_instance = [&](uint32_t core, uint32_t instance, int64_t, int64_t) {
    slots_[core][kInnerSlot] = workspace + task.inner_begin + core * task.inner_bytes;
    const auto [first, end] = task.LeavesOf(instance);
    for (uint32_t leaf = first; leaf < end; ++leaf) {
      work(core, slots_[core].data(), leaf, 0, task.leaves[leaf].tiles);
    }
  };
  if (shaken_) {
    shaken_queue_.Begin(task);
    Share(&scheduler_, &shaken_queue_, by_leaf);
  } else if (queue_.Begin(task, scheduler_.cores()); task.by_instance) {
    Share(&scheduler_, &queue_, by_instance);
  } else {
    Share(&scheduler_, &queue_, by_leaf);
  }
  return !Stopped();
}

bool TaskRunner::Run(const Task& task) {
  if (Stopped()) return false;
  const auto run = [&](uint32_t core, std::byte* const* slots, uint32_t leaf, int64_t first, int64_t last) {
    RunTiles(task.leaves[leaf], slots, kernels_, scratch_.At(core), first, last, abort_, &fault_);
  };
  if (profiler_ == nullptr) [[likely]]
    return task.shared ? RunAsGraph(task, run) : RunInOrder(task, run);
  profiler_->BeginTask(task);
  const auto timed = [&](uint32_t core, std::byte* const* slots, uint32_t leaf, int64_t first, int64_t last) {
    profiler_->Run(core, leaf, first, last, [&](uint64_t* ticks) {
      RunTilesTimed(task.leaves[leaf], slots, kernels_, scratch_.At(core), first, last, abort_, &fault_, ticks);
    });
  };
  return task.shared ? RunAsGraph(task, timed) : RunInOrder(task, timed);
}

}  // namespace pypto::device
