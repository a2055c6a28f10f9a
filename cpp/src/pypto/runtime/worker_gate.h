// The one-at-a-time gate of a worker: first come, first served, without a lock on the free path.
#pragma once

#include <atomic>
#include <cstdint>

#include "pypto/base/export.h"
#include "pypto/base/process.h"

namespace pypto::runtime {

// Tickets: `next_` is handed out, `serving_` may go in. Only the thread inside writes `serving_`.
// Not recursive. Thread-safe. In a forked child nobody waits; what is called inside refuses there.
class PYPTO_API WorkerGate {
 public:
  // True when nobody is inside or waiting; the caller is inside then.
  bool TryEnter() noexcept {
    uint32_t ticket = serving_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Waits for its turn. Call it without holding anything that the thread inside may want.
  void Enter() noexcept {
    if (!TryEnter()) [[unlikely]]
      EnterSlow();
  }
  void Leave() noexcept {
    const uint32_t served = serving_.load(std::memory_order_relaxed) + 1;
    serving_.store(served, std::memory_order_release);
    if (next_.load(std::memory_order_relaxed) != served) [[unlikely]]
      WakeNext();
  }

 private:
  void EnterSlow() noexcept;
  void WakeNext() noexcept;
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> serving_{0};
  uint64_t generation_ = base::ProcessGeneration();
};

}  // namespace pypto::runtime
