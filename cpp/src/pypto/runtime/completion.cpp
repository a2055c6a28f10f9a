// Waiting for a submitted launch from any thread.
#include "pypto/runtime/completion.h"

#include <algorithm>

#include "pypto/base/clock.h"
#include "pypto/base/process.h"
#include "pypto/runtime/registration.h"
#include "pypto/runtime/worker.h"
#include "pypto/runtime/worker_state.h"

namespace pypto::runtime {
namespace {

using base::Status;
using base::StatusCode;

int64_t NowMs() { return base::MonotonicNanoseconds() / 1'000'000; }

}  // namespace

Completion::Completion(std::shared_ptr<Registration> registration, std::shared_ptr<PendingLaunch> pending)
    : registration_(std::move(registration)), pending_(std::move(pending)) {}

Completion::~Completion() {
  WorkerState& state = *registration_->worker().state_;
  if (finished()) return;
  if (base::ProcessExiting() || state.IsForked()) {
    // Its event belongs to a library that must not be called any more.
    new std::shared_ptr<PendingLaunch>(std::move(pending_));
    return;
  }
  if (interrupted_.load(std::memory_order_relaxed)) AbortUnlessEnded();
  const Status ignored = Wait(std::nullopt);
  static_cast<void>(ignored);
}

void Completion::AbortUnlessEnded() {
  Worker& worker = registration_->worker();
  WorkerState& state = *worker.state_;
  const WorkerEntry entry(worker);
  if (finished() || !state.is_open() || state.PollPending(pending_.get())) return;
  const acl::ContextScope scope(state.table(), state.session().context());
  if (scope.status().ok()) state.AbortWork();
}

bool Completion::finished() const noexcept { return pending_->finished.load(std::memory_order_acquire); }

bool Completion::Done() {
  if (finished()) return true;
  Worker& worker = registration_->worker();
  WorkerState& state = *worker.state_;
  if (state.IsForked() || !worker.TryEnter()) return false;
  const bool ended = finished() || (state.is_open() && state.PollPending(pending_.get()));
  if (ended && !finished()) state.FinishPending(pending_);
  worker.Leave();
  return ended;
}

Status Completion::Wait(std::optional<int64_t> timeout_ms, const Interrupt& interrupt) {
  Worker& worker = registration_->worker();
  WorkerState& state = *worker.state_;
  const int64_t end = timeout_ms ? NowMs() + *timeout_ms : 0;
  while (!finished()) {
    if (state.IsForked()) return state.CheckUsable();
    const acl::Table* table = nullptr;
    {
      const WorkerEntry entry(worker, interrupt);
      if (!entry.status().ok()) interrupted_.store(true, std::memory_order_relaxed);
      PYPTO_RETURN_IF_ERROR(entry.status());
      if (finished()) break;
      if ((!timeout_ms && state.WaitUnsealed(pending_.get())) || state.PollPending(pending_.get())) {
        state.FinishPending(pending_);
        break;
      }
      table = &state.table();
      pending_->waiters.fetch_add(1, std::memory_order_relaxed);
    }
    acl::aclError code = acl_abi::kSuccess;
    {
      const acl::ContextScope scope(*table, state.session().context());
      const int64_t left = timeout_ms ? std::clamp<int64_t>(end - NowMs(), 1, kWaitSliceMs) : kWaitSliceMs;
      if (scope.status().ok()) {
        code = WorkerState::WaitForEventSlice(*table, pending_->event.view(), static_cast<int32_t>(left));
      }
    }
    pending_->waiters.fetch_sub(1, std::memory_order_release);
    if (code != acl_abi::kSuccess && code != acl_abi::kErrorRtEventSyncTimeout) {
      const WorkerEntry entry(worker);
      if (!finished()) static_cast<void>(state.EndPendingOnFailure(pending_.get(), code));
    }
    if (interrupt.Asked()) {
      interrupted_.store(true, std::memory_order_relaxed);
      return Status(StatusCode::kFailedPrecondition, "waiting was interrupted; the work goes on");
    }
    if (timeout_ms && NowMs() >= end && !Done()) {
      const WorkerEntry entry(worker);
      return state.TimeoutStatus(*timeout_ms, pending_->kernel);
    }
  }
  return pending_->status;
}

}  // namespace pypto::runtime
