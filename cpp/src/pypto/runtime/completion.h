// A dispatch that was submitted and may still be running.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "pypto/base/status.h"
#include "pypto/runtime/interrupt.h"

namespace pypto::runtime {

struct PendingLaunch;
class Registration;

// Made by Registration::Submit. Host outputs are written by the thread whose Wait or Done first sees the end; a worker
// that closes finishes what is left. Destroying an unfinished one waits for it (unless the process is ending); when a
// wait for it was interrupted, the work is aborted instead, as that of an interrupted synchronous call.
// The caller keeps the host arguments alive until it is finished. Thread-safe: enters the worker by itself, so a
// holder of a lock that a worker's user may want (the GIL) releases it first.
class PYPTO_API Completion {
 public:
  Completion(std::shared_ptr<Registration> registration, std::shared_ptr<PendingLaunch> pending);
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion();

  // Waits for the end and fetches host outputs; returns the status of the launch, the same each time.
  // Not finished in time: kTimeout, and the work goes on. Interrupted: kFailedPrecondition, and the work goes on.
  base::Status Wait(std::optional<int64_t> timeout_ms, const Interrupt& interrupt = {});
  // Whether it has ended; the first true fetches host outputs. A failed launch counts as ended. Does not block: false
  // while another thread is inside the worker.
  bool Done();
  // Whether outputs are fetched, without looking at the device.
  bool finished() const noexcept;
  // Whether a wait was interrupted: destroying it aborts the work then.
  bool interrupted() const noexcept { return interrupted_.load(std::memory_order_relaxed); }

 private:
  void AbortUnlessEnded();

  std::shared_ptr<Registration> registration_;
  std::shared_ptr<PendingLaunch> pending_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace pypto::runtime
