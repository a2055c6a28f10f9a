// Where tensors go whose last reference is gone: any thread puts, the worker takes at its next entry.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "pypto/runtime/resident_tensor.h"

namespace pypto::runtime {

// Shared by a worker and the records of its tensors, so that it outlives both. Thread-safe.
class FreeQueue {
 public:
  FreeQueue() = default;
  FreeQueue(const FreeQueue&) = delete;
  FreeQueue& operator=(const FreeQueue&) = delete;
  ~FreeQueue();

  // Takes over a record without references: a dead one is deleted, a live one waits for the worker.
  void Put(ResidentTensor* tensor) noexcept;
  // Whether something waits: one relaxed load.
  bool pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
  // Hands the waiting records over.
  std::vector<ResidentTensor*> Take();
  // Held while a worker declares its tensors dead: no last reference can go in between.
  std::mutex& mutex() noexcept { return mutex_; }
  // With the mutex held.
  std::vector<ResidentTensor*> TakeLocked();

 private:
  std::mutex mutex_;
  std::atomic<bool> pending_{false};
  std::vector<ResidentTensor*> waiting_;
};

}  // namespace pypto::runtime
