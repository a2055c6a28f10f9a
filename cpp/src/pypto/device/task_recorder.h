// Writes what a launch wants to know about its device tasks into the task block (program/launch_block.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pypto/device/task.h"
#include "pypto/program/launch_block.h"

namespace pypto::device {

// Owned by the engine. Thread rule: one thread at a time. Does nothing when the launch names no task block.
class TaskRecorder {
 public:
  // `block` may be null; else it holds TaskBlockBytes(parallelism).
  void Begin(std::byte* block, uint32_t parallelism) noexcept {
    block_ = block;
    parallelism_ = parallelism;
  }
  // Task number `task` of the launch is closed.
  void Close(uint64_t task, const TaskFigures& figures) noexcept {
    if (block_ != nullptr) [[unlikely]]
      Write(task, figures);
  }

 private:
  void Write(uint64_t task, const TaskFigures& figures) noexcept;

  std::byte* block_ = nullptr;
  uint32_t parallelism_ = 1;
};

}  // namespace pypto::device
