// Large copies between host and device memory by several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "pypto/device/core_scheduler.h"

namespace pypto::mock {

class Device;

// Who helps with a copy: the cores of the device while they run nothing, as they are awake around a launch; else
// threads of the team's own. Owned by the instance. Thread-safe: copies that come while all of these are busy are the
// work of their caller alone.
class CopyTeam {
 public:
  // From here on a copy is shared: a sleeping thread takes about as long to come as one core needs for half of it.
  static constexpr size_t kLeastShared = size_t{4} << 20;
  // Up to here the cores of the device help: a launch that comes meanwhile waits for no more than this.
  static constexpr size_t kMostOnCores = size_t{64} << 20;
  // More threads than this find no more bandwidth.
  static constexpr uint32_t kMostThreads = 4;

  // Copies as memmove does. `device` may be null; `cores`: how many threads may work, the caller's included. Those of
  // the team start with the first large copy that needs them, unless its caller is tied to one processor, where they
  // would stand in its way.
  void Copy(void* to, const void* from, size_t bytes, uint32_t cores, Device* device = nullptr);
  // Ends the threads; the next large copy starts new ones.
  void Stop();

  // Copies that other threads were invited to.
  uint64_t shared() const noexcept { return shared_.load(std::memory_order_relaxed); }
  // Those of them that the cores of a device helped with.
  uint64_t on_cores() const noexcept { return on_cores_.load(std::memory_order_relaxed); }

 private:
  // With threads of its own. False, with nothing done, where they are busy or would not help.
  bool Share(void* job, uint32_t cores);

  std::mutex mutex_;  // of scheduler_, for the time of a copy
  std::unique_ptr<device::CoreScheduler> scheduler_;
  std::atomic<uint64_t> shared_{0};
  std::atomic<uint64_t> on_cores_{0};
};

}  // namespace pypto::mock
