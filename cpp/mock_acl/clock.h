// The device's clock: 50 MHz, as time stamps of events show it.
#pragma once

#include <atomic>
#include <cstdint>

#include "pypto/base/clock.h"

namespace pypto::mock {

// Monotonic time in steps of 20 ns, plus what a test added. Thread-safe.
class DeviceClock {
 public:
  static constexpr int64_t kStepNs = 20;

  static int64_t Now() noexcept {
    const int64_t now = base::MonotonicNanoseconds() + advanced_.load(std::memory_order_relaxed);
    return now - now % kStepNs;
  }
  static void Advance(int64_t nanoseconds) noexcept { advanced_.fetch_add(nanoseconds, std::memory_order_relaxed); }
  static void Reset() noexcept { advanced_.store(0, std::memory_order_relaxed); }

 private:
  static inline std::atomic<int64_t> advanced_{0};
};

}  // namespace pypto::mock
