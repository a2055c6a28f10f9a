// The one-at-a-time gate of a worker: first come, first served, without a lock on the free path.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/base/process.h"
#include "pypto/runtime/interrupt.h"

namespace pypto::runtime {

// Tickets: `next_` is handed out, `serving_` may go in. Only the thread inside writes `serving_`; when nobody is,
// because it stands at a ticket whose owner gave up waiting, the next to look moves it on. Not recursive. Thread-safe.
// In a forked child nobody waits; what is called inside refuses there.
class PYPTO_API WorkerGate {
 public:
  // True when nobody is inside or waiting; the caller is inside then.
  bool TryEnter() noexcept {
    uint32_t ticket = serving_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Waits for its turn. Call it without holding anything that the thread inside may want. False: `interrupt`, asked
  // every kWaitSliceMs at least, wanted to stop; the caller is not inside and its turn is given up.
  bool Enter(const Interrupt& interrupt = {}) noexcept { return TryEnter() || EnterSlow(interrupt); }
  void Leave() noexcept {
    const uint32_t served = serving_.load(std::memory_order_relaxed) + 1;
    serving_.store(served, std::memory_order_release);
    if (next_.load(std::memory_order_relaxed) != served) [[unlikely]]
      WakeNext();
  }

 private:
  [[gnu::cold]] bool EnterSlow(const Interrupt& interrupt) noexcept;
  void WakeNext() noexcept;
  void GiveUp(uint32_t ticket) noexcept;
  void SkipGivenUp() noexcept;
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> serving_{0};
  std::mutex given_up_mutex_;
  std::vector<uint32_t> given_up_;         // tickets that nobody waits with
  std::atomic<size_t> given_up_count_{0};  // of them; read without the mutex
  uint64_t generation_ = base::ProcessGeneration();
};

}  // namespace pypto::runtime
