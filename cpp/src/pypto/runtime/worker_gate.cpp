// Waiting for a ticket: a short spin, then a futex with a time limit.
#include "pypto/runtime/worker_gate.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "pypto/base/process.h"

namespace pypto::runtime {
namespace {

constexpr int kSpins = 64;
// A waiter may miss a wake-up (the leaver looks for waiters without a fence), so it looks again after this time.
constexpr long kRecheckNanoseconds = 2'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void FutexWait(std::atomic<uint32_t>* word, uint32_t seen) noexcept {
  const timespec limit{0, kRecheckNanoseconds};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
}

}  // namespace

void WorkerGate::EnterSlow() noexcept {
  // The thread that was inside does not exist in a forked child: nobody would ever leave.
  if (base::ProcessGeneration() != generation_) return;
  const uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
  for (int spin = 0; spin < kSpins; ++spin) {
    if (serving_.load(std::memory_order_acquire) == ticket) return;
    sched_yield();
  }
  while (true) {
    const uint32_t serving = serving_.load(std::memory_order_acquire);
    if (serving == ticket) return;
    FutexWait(&serving_, serving);
  }
}

void WorkerGate::WakeNext() noexcept {
  // All of them: each ticket waits for its own number.
  syscall(SYS_futex, &serving_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace pypto::runtime
