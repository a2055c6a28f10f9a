// Runs device tasks on the cores.
#pragma once

#include <atomic>

#include "pypto/device/core_scheduler.h"
#include "pypto/device/scratch.h"
#include "pypto/device/simd/kernel_table.h"
#include "pypto/device/stitcher.h"

namespace pypto::device {

// The leaves of a task run one after another in program order, the tiles of a leaf over all cores. Owned by the
// engine. Thread rule: one task at a time.
class TaskRunner final : public TaskSink {
 public:
  TaskRunner(const simd::KernelTable& kernels, CoreScheduler* scheduler, const ScratchArenas* scratch)
      : kernels_(kernels), scheduler_(*scheduler), scratch_(*scratch) {}

  void Begin(const std::atomic<bool>* abort) noexcept { abort_ = abort; }
  bool Run(const Task& task) override;

 private:
  struct Job {
    TaskRunner* runner;
    const LeafRecord* leaf;
  };
  static void RunItems(void* context, uint32_t core, int64_t first, int64_t last);

  const simd::KernelTable& kernels_;
  CoreScheduler& scheduler_;
  const ScratchArenas& scratch_;
  const std::atomic<bool>* abort_ = nullptr;
};

}  // namespace pypto::device
