// The cores of one device: threads that work together with the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pypto::device {

// Owned by the engine. Thread rule: one thread at a time, which is core 0 of a Run. Other cores are threads that start
// when a Run first has work for them, spin for a moment after it and then sleep.
class CoreScheduler {
 public:
  // The work of one core; calls for different cores overlap in time.
  using Function = void (*)(void* context, uint32_t core);

  explicit CoreScheduler(uint32_t cores);
  ~CoreScheduler();
  CoreScheduler(const CoreScheduler&) = delete;
  CoreScheduler& operator=(const CoreScheduler&) = delete;

  // Calls `function` once as core 0 here and at most once on every other core; a core that comes when the call here has
  // returned stays away. Returns when all calls have.
  void Run(Function function, void* context);

  // Runs will follow soon, until Unexpect: cores that sleep wake up, and spin longer than a moment.
  void Expect() noexcept;
  void Unexpect() noexcept;

  // Whether threads are there, or could be started now, that may run on other processors than the caller's: a thread
  // that is tied to one processor hands that down to those it starts.
  bool HasOtherProcessors();

  uint32_t cores() const noexcept { return cores_; }
  uint32_t threads_started() const noexcept { return static_cast<uint32_t>(threads_.size()); }
  uint64_t runs() const noexcept { return runs_.load(std::memory_order_relaxed); }  // from any thread

 private:
  struct Shared;  // what threads and caller have in common; outlives whichever ends first
  void Start();

  const uint32_t cores_;
  const uint64_t generation_;  // of the process; threads do not survive a fork
  bool start_failed_ = false;
  bool tied_ = false;  // the threads, to one processor
  std::atomic<uint64_t> runs_{0};
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace pypto::device
