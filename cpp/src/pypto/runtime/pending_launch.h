// A launch that was submitted: what it still holds until its outputs are fetched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "pypto/acl/event.h"
#include "pypto/acl/memory.h"
#include "pypto/program/launch_block.h"
#include "pypto/runtime/device_program.h"
#include "pypto/runtime/resident_tensor.h"
#include "pypto/workspace/budget.h"

namespace pypto::runtime {

class Launcher;

// Of a launch that records its tasks.
struct RecordedLaunch {
  uint64_t task_block = 0;  // of its launcher's
  workspace::Budget budget;
};

// Shared by its Completion and, until it is finished, by the worker's list. Thread rule: inside the worker's gate,
// except `finished`, `waiters` and waiting for `event`, which a thread outside may do while it counts as a waiter.
struct PendingLaunch {
  struct Output {
    void* host = nullptr;
    uint64_t device = 0;
    uint64_t bytes = 0;
    const std::byte* fetched = nullptr;  // where the queue puts it on the host, when there is a mark
  };
  std::string kernel;
  Launcher* launcher = nullptr;
  DeviceProgram* program = nullptr;
  StagingSet* set = nullptr;
  acl::HostMemory fetched;  // the set's, once the device has ended and the set serves other launches
  std::vector<Output> outputs;
  std::vector<TensorRef> tensors;
  std::unique_ptr<RecordedLaunch> recorded;  // null: it records nothing
  acl::Event event;
  // What the device wrote of this launch, put on the host by the queue behind the outputs: once it is there, a later
  // fault takes nothing away. Null when the library has no page-locked memory.
  const program::LaunchStatistics* mark = nullptr;
  // Either tells the mark of this launch from those before it; 0: not this one.
  uint32_t serial = 0;
  uint64_t launches = 0;            // the device's count with this one
  uint64_t statistics_address = 0;  // where the device writes its mark
  bool device_done = false;
  base::Status status;  // read after `finished`
  std::atomic<bool> finished{false};
  std::atomic<int> waiters{0};
  std::list<std::shared_ptr<PendingLaunch>>::iterator place;  // in the worker's list until it is finished
};

}  // namespace pypto::runtime
