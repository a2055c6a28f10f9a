// Large copies between host and device memory by several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "pypto/device/core_scheduler.h"

namespace pypto::mock {

// Owned by the instance. Thread-safe: one copy at a time is shared, others that come meanwhile are the work of their
// caller alone.
class CopyTeam {
 public:
  // From here on a copy is shared: a sleeping thread takes about as long to come as one core needs for half of it.
  static constexpr size_t kLeastShared = size_t{4} << 20;
  // More threads than this find no more bandwidth.
  static constexpr uint32_t kMostThreads = 4;

  // Copies as memmove does. `cores`: how many threads may work, the caller's included. The others start with the first
  // large copy, unless its caller is tied to one processor, where they would stand in its way.
  void Copy(void* to, const void* from, size_t bytes, uint32_t cores);
  // Ends the threads; the next large copy starts new ones.
  void Stop();

  // Copies that other threads were invited to.
  uint64_t shared() const noexcept { return shared_.load(std::memory_order_relaxed); }

 private:
  bool Ready(uint32_t cores);

  std::mutex mutex_;  // of scheduler_, for the time of a copy
  std::unique_ptr<device::CoreScheduler> scheduler_;
  std::atomic<uint64_t> shared_{0};
};

}  // namespace pypto::mock
