// What a completion handle holds: an ordinary submitted launch, or a short one that is left to its waiter.
#include "objects.h"

namespace pypto::capi {

using base::Status;

void CompletionObject::End() {
  const uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  if (ticket == 0 || registration_->WaitLeft(ticket)) return;
  const Status ignored = BecomeOrdinary();
  static_cast<void>(ignored);
}

void CompletionObject::Empty() {
  End();
  ticket_.store(0, std::memory_order_relaxed);
  completion_.reset();
  registration_.reset();
}

Status CompletionObject::BecomeOrdinary() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  if (ticket == 0) return base::OkStatus();
  PYPTO_ASSIGN_OR_RETURN(completion_, registration_->TakeLeft(ticket));
  ticket_.store(0, std::memory_order_release);
  return base::OkStatus();
}

Status CompletionObject::Wait(std::optional<int64_t> timeout_ms) {
  if (!timeout_ms && RunLeft()) return base::OkStatus();
  if (ticket_.load(std::memory_order_acquire) != 0) PYPTO_RETURN_IF_ERROR(BecomeOrdinary());
  return completion_ != nullptr ? completion_->Wait(timeout_ms) : base::OkStatus();
}

bool CompletionObject::Poll() {
  if (ticket_.load(std::memory_order_acquire) != 0 && !TryBecomeOrdinary()) return false;
  return completion_ == nullptr || completion_->Done();
}

bool CompletionObject::TryBecomeOrdinary() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  if (ticket == 0) return true;
  if (!registration_->worker().TryEnter()) return false;
  completion_ = registration_->TakeLeftEntered(ticket);
  registration_->worker().Leave();
  ticket_.store(0, std::memory_order_release);
  return true;
}

bool CompletionObject::finished() const noexcept {
  if (ticket_.load(std::memory_order_acquire) != 0) return false;
  return completion_ == nullptr || completion_->finished();
}

}  // namespace pypto::capi
