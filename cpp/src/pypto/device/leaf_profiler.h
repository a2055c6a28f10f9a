// Times the leaves of a launch that asks for it (program/launch_block.h, kRecordLeaves).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pypto/base/clock.h"
#include "pypto/device/executable.h"
#include "pypto/device/task.h"
#include "pypto/program/launch_block.h"

namespace pypto::device {

// Owned by the engine. Thread rule: Begin, BeginTask and End by the launching thread while no core works; Run by any
// core, with its own number.
class LeafProfiler {
 public:
  // `place`: of the launch, holds the sums at least.
  void Begin(const LoadedExecutable& executable, uint32_t cores, std::span<std::byte> place);
  // The next task of the launch begins.
  void BeginTask(const Task& task);
  // Calls run(ticks), which carries out tiles [first, last) of leaf number `number` of the task and adds to ticks, of
  // each of its operations, how long it took.
  template <typename Work>
  void Run(uint32_t core, uint32_t number, int64_t first, int64_t last, const Work& work);
  // Writes the profile.
  void End();

 private:
  struct CoreLog {
    std::vector<program::OpEntry> operations;
    std::vector<uint64_t> leaf_ticks;
    std::vector<uint64_t> op_ticks;  // of the run at hand
    std::vector<uint64_t> op_bytes;
    std::vector<program::RunEntry> runs;
    uint64_t dropped = 0;
  };
  void Note(uint32_t core, uint32_t number, int64_t first, int64_t last, uint64_t begin, uint64_t end);

  const LoadedExecutable* executable_ = nullptr;
  std::span<std::byte> place_;
  size_t room_ = 0;  // run entries of one core
  const Task* task_ = nullptr;
  uint32_t tasks_ = 0;
  std::vector<program::LeafEntry> leaves_;
  std::vector<CoreLog> logs_;
};

template <typename Work>
void LeafProfiler::Run(uint32_t core, uint32_t number, int64_t first, int64_t last, const Work& work) {
  CoreLog& log = logs_[core];
  const LeafProgram& leaf = *task_->leaves[number].program;
  log.op_ticks.assign(leaf.ops.size(), 0);
  const uint64_t begin = base::Ticks();
  work(log.op_ticks.data());
  Note(core, number, first, last, begin, base::Ticks());
}

}  // namespace pypto::device
