// Waiting for a ticket: a short spin, then a futex with a time limit.
#include "pypto/runtime/worker_gate.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "pypto/base/clock.h"
#include "pypto/base/process.h"

namespace pypto::runtime {
namespace {

constexpr int kSpins = 64;
// A waiter may miss a wake-up (the leaver looks for waiters without a fence), so it looks again after this time.
constexpr long kRecheckNanoseconds = 2'000'000;
// How often a waiter is asked whether it wants to stop; with the recheck below the promised slice.
constexpr int64_t kAskNanoseconds = (int64_t{kWaitSliceMs} - 10) * 1'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void FutexWait(std::atomic<uint32_t>* word, uint32_t seen) noexcept {
  const timespec limit{0, kRecheckNanoseconds};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
}

}  // namespace

bool WorkerGate::EnterSlow(const Interrupt& interrupt) noexcept {
  // The thread that was inside does not exist in a forked child: nobody would ever leave.
  if (base::ProcessGeneration() != generation_) return true;
  const uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
  for (int spin = 0; spin < kSpins; ++spin) {
    if (serving_.load(std::memory_order_acquire) == ticket) return true;
    sched_yield();
  }
  int64_t asked = base::MonotonicNanoseconds();
  while (true) {
    SkipGivenUp();
    const uint32_t serving = serving_.load(std::memory_order_acquire);
    if (serving == ticket) return true;
    FutexWait(&serving_, serving);
    if (base::MonotonicNanoseconds() - asked < kAskNanoseconds) continue;
    if (interrupt.Asked()) {
      GiveUp(ticket);
      return false;
    }
    asked = base::MonotonicNanoseconds();
  }
}

void WorkerGate::GiveUp(uint32_t ticket) noexcept {
  {
    const std::lock_guard<std::mutex> lock(given_up_mutex_);
    given_up_.push_back(ticket);
    given_up_count_.store(given_up_.size(), std::memory_order_seq_cst);
  }
  // Its turn may have come meanwhile, unseen by the thread that left.
  WakeNext();
}

void WorkerGate::SkipGivenUp() noexcept {
  if (given_up_count_.load(std::memory_order_seq_cst) == 0) [[likely]]
    return;
  const std::lock_guard<std::mutex> lock(given_up_mutex_);
  uint32_t serving = serving_.load(std::memory_order_acquire);
  while (std::erase(given_up_, serving) != 0) serving_.store(++serving, std::memory_order_release);
  given_up_count_.store(given_up_.size(), std::memory_order_seq_cst);
}

void WorkerGate::WakeNext() noexcept {
  // A forked child has no other threads, and the mutex may be held by one of the parent's.
  if (base::ProcessGeneration() != generation_) return;
  SkipGivenUp();
  // All of them: each ticket waits for its own number.
  syscall(SYS_futex, &serving_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace pypto::runtime
