// A wait without a limit for a queue of one short launch, which the waiter runs: what most calls do.
#pragma once

#include "pypto/mock_acl/device.h"
#include "pypto/mock_acl/stream.h"

namespace pypto::mock {

[[gnu::always_inline]] inline bool Stream::DrainOneAgain(uint64_t target) {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (head + 1 != target || discarding()) [[unlikely]]
    return false;
  const Task& task = TaskAt(head);
  if (task.kind != Task::Kind::kLaunch || task.device_arguments != 0) [[unlikely]]
    return false;
  Device& device = *context_->device;
  const LaunchBytes block{{task.arguments, task.argument_bytes}, task.argument_version};
  if (!device.RunShort(this, *task.function->image, block)) return false;
  head_.store(target, std::memory_order_release);
  progress_.NotifyCheap();
  return true;
}

[[gnu::always_inline]] inline acl_abi::aclError Stream::WaitHere() {
  const uint64_t target = tail_.load(std::memory_order_acquire);
  if (head_.load(std::memory_order_acquire) + 1 == target && services_.strict_seed == 0 &&
      execution_.TryAcquire(ExecutionLock::kShortLaunch)) [[likely]] {
    const bool drained = DrainOneAgain(target);
    if (!drained) [[unlikely]] {
      execution_.HoldOn();
      Drain(target, false);
    }
    execution_.Release();
    if (drained) [[likely]]
      return error();
  }
  return Synchronize(kNoDeadline);
}

}  // namespace pypto::mock
