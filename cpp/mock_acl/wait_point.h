// Sleeping until something has changed, and the lock that hands out the right to execute.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace pypto::mock {

using SteadyClock = std::chrono::steady_clock;
using Deadline = SteadyClock::time_point;

inline constexpr Deadline kNoDeadline = Deadline::max();

inline void Pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waiters sleep until their condition holds; whoever changes something the condition reads calls Notify.
// A change followed by NotifyCheap may be missed for at most kRecheck: it costs one load when nobody waits.
// Thread-safe.
class WaitPoint {
 public:
  static constexpr std::chrono::milliseconds kRecheck{1};

  void NotifyCheap() noexcept {
    if (waiters_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      Wake();
  }
  void Notify() noexcept {
    // A read-modify-write orders this after the change and sees every waiter whose look at the condition came before.
    if (waiters_.fetch_add(0, std::memory_order_seq_cst) != 0) [[unlikely]]
      Wake();
  }

  // Returns what the condition says at the end: false when the deadline passed first.
  template <typename Condition>
  bool WaitUntil(Deadline deadline, Condition&& condition) {
    return Wait(deadline, condition, [this](auto& lock, Deadline until) {
      const auto now = SteadyClock::now();
      changed_.wait_until(lock, until - now < kRecheck ? until : now + kRecheck);
    });
  }
  // For conditions whose changes are all followed by Notify: sleeps without looking again.
  template <typename Condition>
  bool SleepUntil(Deadline deadline, Condition&& condition) {
    return Wait(deadline, condition, [this](auto& lock, Deadline until) {
      until == kNoDeadline ? changed_.wait(lock) : static_cast<void>(changed_.wait_until(lock, until));
    });
  }

 private:
  template <typename Condition, typename Sleep>
  bool Wait(Deadline deadline, Condition& condition, Sleep&& sleep) {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    std::unique_lock lock(mutex_);
    bool met = condition();
    while (!met && SteadyClock::now() < deadline) {
      sleep(lock, deadline);
      met = condition();
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return met;
  }
  void Wake() noexcept {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  std::atomic<int> waiters_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Held while something executes, possibly for long: one atomic exchange to take, one store to give back. Who takes it
// says whether it is for one short launch, which others may wait for without taking the lock.
class ExecutionLock {
 public:
  enum State : uint8_t { kFree, kHeld, kShortLaunch };

  // The exchange comes before what the holder looks at next, in the one order of all threads.
  bool TryAcquire(State as = kHeld) noexcept {
    uint8_t free = kFree;
    return state_.compare_exchange_strong(free, as, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  void Acquire() {
    if (TryAcquire()) [[likely]]
      return;
    released_.WaitUntil(kNoDeadline, [this] { return TryAcquire(); });
  }
  // It turned out to be more than one short launch.
  void HoldOn() noexcept { state_.store(kHeld, std::memory_order_release); }
  void Release() noexcept {
    state_.store(kFree, std::memory_order_release);
    released_.NotifyCheap();
  }
  bool held() const noexcept { return state_.load(std::memory_order_acquire) != kFree; }
  // Until the holder, if any, runs no short launch.
  void WaitForShortLaunch() const noexcept {
    while (state_.load(std::memory_order_seq_cst) == kShortLaunch) Pause();
  }

 private:
  std::atomic<uint8_t> state_{kFree};
  WaitPoint released_;
};

// For sections of a few instructions.
class SpinLock {
 public:
  void lock() noexcept {
    while (held_.exchange(true, std::memory_order_acquire)) Wait();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void Wait() noexcept;
  std::atomic<bool> held_{false};
};

}  // namespace pypto::mock
