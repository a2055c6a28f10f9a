// The cores of one device: threads that work through the items of a leaf together with the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pypto::device {

// Owned by the engine. Thread rule: Run from one thread at a time; it is core 0. Other cores are threads that start
// when a Run first has work for them, spin for a moment after it and then sleep.
class CoreScheduler {
 public:
  // Works on items [first, last) as core `core`. Calls for disjoint ranges may overlap in time.
  using Function = void (*)(void* context, uint32_t core, int64_t first, int64_t last);

  // `shake_seed` not 0: every Run of two or more items is spread over all cores, in an order that the seed decides.
  CoreScheduler(uint32_t cores, uint64_t shake_seed);
  ~CoreScheduler();
  CoreScheduler(const CoreScheduler&) = delete;
  CoreScheduler& operator=(const CoreScheduler&) = delete;

  // Calls `function` for all items [0, count) and returns when they are done. Short work (count × item_ns) stays on the
  // caller.
  void Run(Function function, void* context, int64_t count, double item_ns);

  uint32_t cores() const noexcept { return cores_; }
  uint32_t threads_started() const noexcept { return static_cast<uint32_t>(threads_.size()); }
  uint64_t shared_runs() const noexcept { return shared_runs_; }  // Runs that woke other cores

 private:
  struct Shared;  // what threads and caller have in common; outlives whichever ends first
  void Start();
  void RunShared(Function function, void* context, int64_t count);
  void RunShaken(Function function, void* context, int64_t count);

  const uint32_t cores_;
  uint64_t shake_state_;
  const uint64_t generation_;  // of the process; threads do not survive a fork
  bool start_failed_ = false;
  uint64_t shared_runs_ = 0;
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace pypto::device
