// Waiting for the stream, and the launches that were submitted.
#include <sched.h>

#include <map>

#include "pypto/acl/errors.h"
#include "pypto/base/bulk_copy.h"
#include "pypto/runtime/launcher.h"
#include "pypto/runtime/worker_state.h"

namespace pypto::runtime {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

Status WorkerState::WaitIdle(std::optional<int64_t> timeout_ms, const Interrupt& interrupt) {
  const acl::ContextScope scope(table(), session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  Status cause;
  switch (session_->Wait(timeout_ms, interrupt, &cause)) {
    case WaitEnd::kDone: MarkIdle(); return base::OkStatus();
    case WaitEnd::kTimedOut: return TimeoutStatus(timeout_ms.value_or(0), "");
    case WaitEnd::kInterrupted:
      AbortWork();
      return Status(StatusCode::kFailedPrecondition, "waiting for the device was interrupted");
    case WaitEnd::kFailed: break;
  }
  return OnDeviceFailure(std::move(cause));
}

Status WorkerState::TimeoutStatus(int64_t timeout_ms, const std::string& more) const {
  return MakeStatus(StatusCode::kTimeout,
                    "worker %s did not finish within %lld ms; in flight: %s. The work goes on; wait again or close the "
                    "worker",
                    name().c_str(), static_cast<long long>(timeout_ms), DescribeInFlight(more).c_str());
}

std::string WorkerState::DescribeInFlight(const std::string& more) const {
  std::map<std::string, int> kernels;
  for (const std::shared_ptr<PendingLaunch>& pending : pending_) {
    if (!pending->device_done) kernels[pending->kernel] += 1;
  }
  for (const Abandoned& abandoned : abandoned_) kernels[abandoned.kernel] += 1;
  if (!more.empty() && !kernels.contains(more)) kernels[more] += 1;
  std::string text;
  for (const auto& [kernel, count] : kernels) {
    if (!text.empty()) text += ", ";
    text += "'" + kernel + "' × " + std::to_string(count);
  }
  return text.empty() ? "nothing that is known" : text;
}

void WorkerState::SettleInFlight() {
  for (const std::shared_ptr<PendingLaunch>& pending : pending_) {
    if (!pending->device_done) MarkDeviceDone(pending.get(), base::OkStatus());
  }
  for (const Abandoned& abandoned : abandoned_) {
    if (abandoned.set != nullptr) abandoned.program->ReturnSet(abandoned.set);
    if (abandoned.task_block != 0) abandoned.task_blocks->Return(abandoned.task_block);
  }
  abandoned_.clear();
}

void WorkerState::AbortWork() {
  const Result<bool> aborted = session_->Abort();
  if (!aborted.ok()) {
    Break(aborted.status());
    return;
  }
  if (!*aborted) return;
  EndInOrder(Status(StatusCode::kFailedPrecondition, "the launch was aborted by an interrupt"));
  MarkIdle();
}

Result<acl::Event> WorkerState::TakeEvent() {
  if (events_.empty()) return acl::Event::Create(table());
  acl::Event event = std::move(events_.back());
  events_.pop_back();
  return event;
}

void WorkerState::AddPending(const std::shared_ptr<PendingLaunch>& pending) {
  pending_.push_back(pending);
  pending->place = std::prev(pending_.end());
  running_ += 1;
}

Status WorkerState::SealUnsealed(const Interrupt& interrupt) {
  const std::shared_ptr<PendingLaunch> pending = std::exchange(unsealed_, nullptr);
  return pending->launcher->Seal(pending, interrupt);
}

bool WorkerState::WaitUnsealed(PendingLaunch* pending) {
  if (pending != unsealed_.get()) return false;
  Status status = WaitIdle(std::nullopt, {});
  if (!pending->device_done) MarkDeviceDone(pending, std::move(status));
  return true;
}

void WorkerState::MarkDeviceDone(PendingLaunch* pending, Status status) {
  if (unsealed_.get() == pending) unsealed_ = nullptr;
  pending->device_done = true;
  pending->status = std::move(status);
  running_ -= 1;
  if (!pending->status.ok()) {
    pending->launcher->LoseCount();
    return;
  }
  // The queue is in order: when the last of it has ended, nothing runs.
  if (running_ == 0 && abandoned_.empty()) stream_busy_ = false;
  if (pending->mark != nullptr) KeepOnlyFetched(pending);
}

// All that is left to do lies in page-locked memory: device buffers and event serve other launches, however long nobody
// asks for this one.
void WorkerState::KeepOnlyFetched(PendingLaunch* pending) {
  if (pending->set != nullptr) {
    pending->fetched = std::move(pending->set->host);
    pending->program->ReturnSet(std::exchange(pending->set, nullptr));
  }
  const bool unused = pending->waiters.load(std::memory_order_acquire) == 0;
  if (unused && !broken() && pending->event.is_open()) ReturnEvent(std::move(pending->event));
}

bool WorkerState::HasEndedWell(const PendingLaunch& pending) const {
  if (pending.device_done) return pending.status.ok();
  if (pending.mark == nullptr) return false;
  // A broken context may not even say that an event is complete; the mark alone decides then.
  const Result<bool> complete = acl::QueryEvent(table(), pending.event);
  if (complete.ok() && !*complete) return false;
  const bool its_own = (pending.serial != 0 && pending.mark->serial == pending.serial) ||
                       (pending.launches != 0 && pending.mark->launches == pending.launches);
  return its_own && pending.mark->fault == 0;
}

void WorkerState::EndInOrder(const Status& cause) {
  const acl::ContextScope scope(table(), session().context());
  bool well = true;
  for (const std::shared_ptr<PendingLaunch>& pending : pending_) {
    well = well && HasEndedWell(*pending);
    if (!pending->device_done) MarkDeviceDone(pending.get(), well ? base::OkStatus() : cause);
  }
}

Status WorkerState::WaitForOldest(const Interrupt& interrupt) {
  const auto oldest = std::find_if(pending_.begin(), pending_.end(), [](const auto& p) { return !p->device_done; });
  if (oldest == pending_.end()) return base::OkStatus();
  const std::shared_ptr<PendingLaunch> pending = *oldest;
  while (!PollPending(pending.get())) {
    const acl::aclError code = WaitForEventSlice(table(), pending->event.view(), kWaitSliceMs);
    if (!EndPendingOnFailure(pending.get(), code) && interrupt.Asked()) {
      return Status(StatusCode::kFailedPrecondition, "submitting was interrupted");
    }
  }
  return CheckUsable();
}

bool WorkerState::EndPendingOnFailure(PendingLaunch* pending, acl::aclError code) {
  if (code == acl_abi::kSuccess || code == acl_abi::kErrorRtEventSyncTimeout || PollPending(pending)) return false;
  MarkDeviceDone(pending, OnDeviceFailure(acl::ToStatus(table(), code, acl::CallId::aclrtSynchronizeEvent)));
  return true;
}

acl::aclError WorkerState::WaitForEventSlice(const acl::Table& table, acl::EventView event, int32_t slice_ms) {
  if (table.Has(acl::CallId::aclrtSynchronizeEventWithTimeout)) {
    return table.aclrtSynchronizeEventWithTimeout(event.raw(), slice_ms);
  }
  return table.aclrtSynchronizeEvent(event.raw());
}

bool WorkerState::PollPending(PendingLaunch* pending) {
  if (pending->device_done) return true;
  const acl::ContextScope scope(table(), session().context());
  if (!scope.status().ok()) {
    MarkDeviceDone(pending, scope.status());
    return true;
  }
  if (pending == unsealed_.get()) {
    const Status ignored = SealLast({});  // it has ended then
    static_cast<void>(ignored);
    if (pending->device_done) return true;
  }
  const Result<bool> complete = acl::QueryEvent(table(), pending->event);
  if (complete.ok() && !*complete) return false;
  Status status = complete.status();
  if (complete.ok() && table().Has(acl::CallId::aclrtStreamQuery)) {
    // A fault of the device does not show in the event, but in the stream.
    status = acl::QueryStream(table(), session_->stream()).status();
  }
  if (!status.ok()) status = OnDeviceFailure(std::move(status));
  // The failure may be that of a later launch.
  if (!status.ok() && !pending->device_done) EndInOrder(status);
  if (!pending->device_done) MarkDeviceDone(pending, std::move(status));
  return true;
}

// When it is not known to have ended, its staging is in use until the stream is idle.
void WorkerState::ReleaseDeviceMemory(PendingLaunch* pending) {
  Abandoned held{pending->program, std::exchange(pending->set, nullptr), &pending->launcher->task_blocks(), 0,
                 pending->kernel};
  if (pending->recorded != nullptr) held.task_block = std::exchange(pending->recorded, nullptr)->task_block;
  const bool ended = pending->status.ok() || !stream_busy_ || broken();
  if (held.set == nullptr && held.task_block == 0) return;
  if (!ended) {
    Abandon(std::move(held));
    return;
  }
  if (held.set != nullptr) held.program->ReturnSet(held.set);
  if (held.task_block != 0) held.task_blocks->Return(held.task_block);
}

void WorkerState::FinishPending(const std::shared_ptr<PendingLaunch>& pending) {
  if (pending->finished.load(std::memory_order_relaxed)) return;
  const acl::ContextScope scope(table(), session().context());
  if (pending->status.ok() && pending->mark == nullptr) pending->status = scope.status();
  for (const PendingLaunch::Output& output : pending->outputs) {
    if (!pending->status.ok()) break;
    counters_.d2h_copies += 1;
    counters_.d2h_bytes += output.bytes;
    if (pending->mark != nullptr) {
      base::BulkCopy(output.host, output.fetched, output.bytes);
      continue;
    }
    Status copied =
        PYPTO_ACL_CALL(table(), aclrtMemcpy, output.host, output.bytes, reinterpret_cast<const void*>(output.device),
                       output.bytes, acl_abi::kMemcpyDeviceToHost);
    if (!copied.ok()) {
      pending->status = OnDeviceFailure(std::move(copied));
      break;
    }
  }
  if (pending->recorded != nullptr && pending->status.ok()) {
    pending->launcher->WriteRecords(pending->recorded->task_block, pending->recorded->budget);
  }
  ReleaseDeviceMemory(pending.get());
  if (pending->fetched.is_open()) pending->program->ReturnHost(std::move(pending->fetched));
  pending->tensors.clear();
  // Threads that wait for the event outside the gate leave within a slice.
  while (pending->waiters.load(std::memory_order_acquire) != 0) sched_yield();
  if (!broken() && pending->event.is_open()) ReturnEvent(std::move(pending->event));
  const Status ignored = pending->event.Close();
  static_cast<void>(ignored);
  pending_.erase(pending->place);
  pending->finished.store(true, std::memory_order_release);
}

void WorkerState::FinishAllOf(const Launcher* launcher) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const std::shared_ptr<PendingLaunch> pending = *it++;
    if (pending->launcher != launcher) continue;
    FinishPending(pending);
  }
}

}  // namespace pypto::runtime
