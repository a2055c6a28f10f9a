// Writes what a launch wants to know about its device tasks into the task block (program/launch_block.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pypto/device/pools.h"
#include "pypto/program/launch_block.h"
#include "pypto/workspace/arena.h"

namespace pypto::device {

// Owned by the stitcher. Thread rule: one thread at a time. Does nothing when the launch names no task block.
class TaskRecorder {
 public:
  // `block` may be null; else it holds TaskBlockBytes(parallelism).
  void Begin(std::byte* block, uint32_t parallelism) noexcept {
    block_ = block;
    parallelism_ = parallelism;
    failed_ = false;
  }
  // The pool cannot serve an instance of `requested` bytes, and the present task is closed for that.
  void NoteFailure(workspace::Pool pool, uint64_t requested, const workspace::PoolArena& arena) noexcept {
    if (block_ != nullptr) [[unlikely]]
      KeepFailure(pool, requested, arena);
  }
  // Task number `task` is closed with what the pools hold now.
  void Close(uint64_t task, uint32_t instances, const Pools& pools) noexcept {
    if (block_ != nullptr) [[unlikely]]
      Write(task, instances, pools);
  }

 private:
  void KeepFailure(workspace::Pool pool, uint64_t requested, const workspace::PoolArena& arena) noexcept;
  void Write(uint64_t task, uint32_t instances, const Pools& pools) noexcept;

  std::byte* block_ = nullptr;
  uint32_t parallelism_ = 1;
  bool failed_ = false;
  program::TaskEntry failure_;  // its failure fields alone are of use
};

}  // namespace pypto::device
