// Joins root instances into device tasks and gives them memory from the pools (reference/workspace.md §4).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pypto/device/executable.h"
#include "pypto/device/fault.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/leaf_resolver.h"
#include "pypto/device/pools.h"
#include "pypto/device/task.h"
#include "pypto/device/task_recorder.h"

namespace pypto::device {

// Runs the leaves of a task. Implemented by TaskRunner.
class TaskSink {
 public:
  virtual ~TaskSink() = default;
  // False when the launch was aborted.
  virtual bool Run(const Task& task) = 0;
};

struct LaunchCounts {
  uint64_t root_instances = 0;
  uint64_t device_tasks = 0;
  uint64_t leaf_tiles = 0;
  uint64_t alloc_failures = 0;
};

// Makes instances; a task is handed to the sink when it is closed and has ended when Run returns. Owned by the engine
// and kept between launches. Thread rule: one thread at a time.
class Stitcher {
 public:
  // Begins a launch.
  void Begin(const LoadedExecutable& executable, LaunchState* launch, TaskSink* sink, Fault* fault);
  // Adds an instance of `root` in workspace copy `copy`, for the present loop indices. False: the launch is over.
  bool AddInstance(uint32_t root, uint32_t copy);
  // Closes the present task unless it is empty. False: the launch is over.
  bool Submit();

  const LaunchCounts& counts() const noexcept { return counts_; }
  std::array<uint64_t, workspace::kPoolCount> peaks(uint32_t copy) const noexcept { return pools_.peaks(copy); }

 private:
  bool ChooseLeaves(const RootProgram& root);
  void ListNeeds(const RootProgram& root);
  bool MakeRoom(const RootProgram& root, uint32_t copy);
  void TakeMemory(const RootProgram& root, uint32_t copy);
  bool ResolveLeaves(const RootProgram& root);

  const LoadedExecutable* executable_ = nullptr;
  LaunchState* launch_ = nullptr;
  TaskSink* sink_ = nullptr;
  Fault* fault_ = nullptr;
  Pools pools_;
  Task task_;
  TaskRecorder recorder_;
  uint32_t last_root_ = 0;  // of the present task
  LaunchCounts counts_;
  std::vector<Binding> bindings_;  // per storage
  std::vector<uint8_t> runs_;      // per leaf of the root function at hand
  std::vector<uint64_t> seen_;     // per storage: number of the instance that listed it last
  uint64_t instance_number_ = 0;
  std::vector<uint32_t> needs_;       // storages that the instance takes memory for
  std::vector<uint32_t> writes_;      // outcasts that it writes
  workspace::Requirement requested_;  // bytes that it takes, per pool
};

}  // namespace pypto::device
