// Runs device tasks on the cores.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "pypto/device/core_scheduler.h"
#include "pypto/device/fault.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/leaf_profiler.h"
#include "pypto/device/ready_queue.h"
#include "pypto/device/scratch.h"
#include "pypto/device/shaken_queue.h"
#include "pypto/device/simd/kernel_table.h"
#include "pypto/device/stitcher.h"

namespace pypto::device {

// A shared task runs on all cores, leaves as soon as what they wait for has ended; any other one leaf after leaf in
// program order on the caller. Owned by the engine. Thread rule: one task at a time.
class TaskRunner final : public TaskSink {
 public:
  // `shake_seed` not 0: tasks run in an order that it decides.
  TaskRunner(const simd::KernelTable& kernels, CoreScheduler* scheduler, const ScratchArenas* scratch,
             uint64_t shake_seed)
      : kernels_(kernels),
        scheduler_(*scheduler),
        scratch_(*scratch),
        shaken_(shake_seed != 0),
        shaken_queue_(shake_seed) {}

  // Begins a launch. `profiler`: times its leaves; null: none does.
  void Begin(const std::atomic<bool>* abort, LaunchState* launch, LeafProfiler* profiler) noexcept {
    abort_ = abort;
    launch_ = launch;
    profiler_ = profiler;
    fault_.Clear();
  }
  uint32_t cores() const noexcept override { return scheduler_.cores(); }
  bool shaken() const noexcept override { return shaken_; }
  // False when the launch was aborted, or a tile met a fault.
  bool Run(const Task& task) override;
  const TileFault& fault() const noexcept { return fault_; }

 private:
  // Both give every piece of work to work(core, slots, leaf, first, last).
  template <typename Work>
  bool RunInOrder(const Task& task, const Work& work);
  template <typename Work>
  bool RunAsGraph(const Task& task, const Work& work);
  bool Stopped() const noexcept {
    return fault_.raised() || (abort_ != nullptr && abort_->load(std::memory_order_relaxed));
  }

  const simd::KernelTable& kernels_;
  CoreScheduler& scheduler_;
  const ScratchArenas& scratch_;
  const bool shaken_;
  LaunchState* launch_ = nullptr;
  std::vector<std::vector<std::byte*>> slots_;  // per core, of a shared task
  LeafProfiler* profiler_ = nullptr;
  const std::atomic<bool>* abort_ = nullptr;
  TileFault fault_;
  ReadyQueue queue_;
  ShakenQueue shaken_queue_;
};

}  // namespace pypto::device
