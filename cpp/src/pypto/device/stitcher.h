// Joins root instances into device tasks and gives them memory from the pools (reference/workspace.md §4).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "pypto/device/executable.h"
#include "pypto/device/fault.h"
#include "pypto/device/graph_builder.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/leaf_resolver.h"
#include "pypto/device/pools.h"
#include "pypto/device/recording.h"
#include "pypto/device/task.h"
#include "pypto/device/task_recorder.h"

namespace pypto::device {

// Runs the leaves of a task. Implemented by TaskRunner.
class TaskSink {
 public:
  virtual ~TaskSink() = default;
  // Cores that may work on a task.
  virtual uint32_t cores() const noexcept = 0;
  // Whether every task runs in an order that a seed decides.
  virtual bool shaken() const noexcept = 0;
  // False when the launch was aborted.
  virtual bool Run(const Task& task) = 0;
};

// Makes instances; a task is handed to the sink when it is closed and has ended when Run returns. Owned by the engine
// and kept between launches. Thread rule: one thread at a time.
class Stitcher {
 public:
  Stitcher(RecordingStore* store, TaskRecorder* recorder) : store_(*store), recorder_(*recorder) {}

  // Begins a launch, which is kept in the store when it ends well.
  void Begin(const LoadedExecutable& executable, LaunchState* launch, TaskSink* sink, Fault* fault);
  // Adds an instance of `root` in workspace copy `copy`, for the present loop indices. False: the launch is over.
  bool AddInstance(uint32_t root, uint32_t copy);
  // Forgets what these outcasts held: the next instance that writes one takes a buffer for it.
  void BeginAnew(const std::vector<uint32_t>& outcasts);
  // The cell that control flow reads. Closes the task first when a pending instance writes the tensor. False: the
  // launch is over.
  bool ReadCell(const ControlProgram& node, int64_t* value);
  // Closes the present task unless it is empty. False: the launch is over.
  bool Submit();
  // The launch has ended well.
  void Keep() { store_.Keep(*executable_, *launch_, pools_); }

  const LaunchCounts& counts() const noexcept { return counts_; }
  PoolBytes peaks(uint32_t copy) const noexcept { return pools_.peaks(copy); }

 private:
  bool IsPending(uint32_t storage) const;
  bool IsGiven(uint32_t storage) const;
  bool CheckCell(const ControlProgram& node, int64_t* element);
  bool ChooseLeaves(const RootProgram& root);
  void ListNeeds(const RootProgram& root);
  bool MakeRoom(const RootProgram& root, uint32_t copy);
  void TakeMemory(const RootProgram& root, uint32_t copy);
  void NoteReaders(const RootProgram& root);
  bool ResolveLeaves(const RootProgram& root);
  bool TakeAlias(const InnerAlias& alias);
  void BindParameters();
  void DropDead(const RootProgram& root);
  void CloseTask();
  bool EndTask();

  const LoadedExecutable* executable_ = nullptr;
  LaunchState* launch_ = nullptr;
  TaskSink* sink_ = nullptr;
  Fault* fault_ = nullptr;
  RecordingStore& store_;
  TaskRecorder& recorder_;
  Pools pools_;
  GraphBuilder graph_;
  ResolveTarget target_;
  std::unique_ptr<Task> task_;
  uint32_t last_root_ = 0;        // of the present task
  std::vector<uint8_t> pending_;  // per storage: an instance of the present task writes it
  std::vector<uint32_t> pending_list_;
  LaunchCounts counts_;
  std::vector<Binding> bindings_;     // per storage
  std::vector<uint8_t> has_readers_;  // per outcast: instances of the present task read what it holds
  std::vector<uint8_t> runs_;         // per leaf of the root function at hand
  std::vector<uint64_t> seen_;        // per storage: number of the instance that listed it last
  uint64_t instance_number_ = 0;
  uint64_t inner_ = 0;                // where the root-inner memory of the instance begins in the workspace
  std::vector<uint32_t> needs_;       // storages that the instance takes memory for
  std::vector<uint32_t> writes_;      // outcasts that it writes
  workspace::Requirement requested_;  // bytes that it takes, per pool
};

}  // namespace pypto::device
