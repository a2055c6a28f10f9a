// Opening, closing and breaking a worker; its workspace and what was dropped.
#include "pypto/runtime/worker_state.h"

#include <algorithm>
#include <cinttypes>

#include "pypto/base/environment.h"
#include "pypto/runtime/fault_text.h"
#include "pypto/runtime/launcher.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

uint64_t NextSession() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// A strict mock looks for wrong addresses: a pool above it would hide them.
bool PoolingAllowed(const acl::Table& table) {
  if (!table.is_mock()) return true;
  const std::string strict = base::GetEnvironment("PYPTO_MOCK_STRICT").value_or("");
  return strict.empty() || strict == "0";
}

}  // namespace

WorkerState::WorkerState(const RunConfig& config, uint64_t worker_id)
    : config_(config), worker_id_(worker_id), registry_(worker_id) {}

WorkerState::~WorkerState() = default;

std::string WorkerState::name() const { return config_.platform + ":" + std::to_string(config_.device_id); }

Status WorkerState::Open() {
  if (is_open()) return base::OkStatus();
  return Adopt(DeviceSession::Open(config_));
}

Status WorkerState::OpenOn(acl::Session library) {
  return Adopt(DeviceSession::OpenOn(std::move(library), config_.device_id));
}

Status WorkerState::Adopt(Result<std::unique_ptr<DeviceSession>> session) {
  if (!session.ok()) return std::move(session).status();
  session_ = std::move(session).value();
  counters_ = {};
  allocator_ = std::make_unique<DeviceAllocator>(table(), PoolingAllowed(table()), &counters_);
  allocator_->NameHolders([this](uint64_t address) { return registry_.NameOf(address); });
  programs_ = std::make_unique<ProgramCache>(table(), allocator_.get(), &counters_);
  registry_.SetSession(NextSession());
  {
    const std::lock_guard<std::mutex> lock(outside_mutex_);
    broken_.reset();
  }
  SetFacts();
  stream_busy_ = false;
  workspace_address_ = 0;
  workspace_bytes_ = 0;
  generation_ = base::ProcessGeneration();
  usable_.store(true, std::memory_order_relaxed);
  open_.store(true, std::memory_order_release);
  PYPTO_LOG(kInfo, "opened worker %s on %s", name().c_str(), table().library_path().c_str());
  return base::OkStatus();
}

void WorkerState::SetFacts() {
  Facts facts;
  if (session_) facts = {table().is_mock(), table().library_path(), session_->device().SocName()};
  const std::lock_guard<std::mutex> lock(outside_mutex_);
  facts_ = std::move(facts);
  facts_table_ = session_ ? &table() : nullptr;
}

WorkerState::Facts WorkerState::facts() const {
  const std::lock_guard<std::mutex> lock(outside_mutex_);
  return facts_;
}

void* WorkerState::LibrarySymbol(const char* symbol) const noexcept {
  const std::lock_guard<std::mutex> lock(outside_mutex_);
  return facts_table_ != nullptr ? facts_table_->Symbol(symbol) : nullptr;
}

Status WorkerState::ExplainUnusable() const {
  if (IsForked()) {
    return MakeStatus(StatusCode::kFailedPrecondition,
                      "worker %s was opened before this process was forked; a device cannot be used across fork: open "
                      "a new worker in a process started with spawn",
                      name().c_str());
  }
  if (!is_open()) {
    return MakeStatus(StatusCode::kFailedPrecondition, "worker %s is closed; open it again with init()",
                      name().c_str());
  }
  const std::lock_guard<std::mutex> lock(outside_mutex_);
  return MakeStatus(
      StatusCode::kFailedPrecondition,
      "worker %s is broken by an earlier failure and cannot be used any more: close it and make a new one "
      "(%s)",
      name().c_str(), broken_ ? broken_->ToString().c_str() : "unknown");
}

Status WorkerState::OnDeviceFailure(Status cause) {
  const base::AclFailure* failure = cause.acl_failure();
  if (failure == nullptr || !acl::BreaksContext(failure->code) || broken()) return cause;
  Status found = FindFault(std::move(cause));
  Break(found);
  return found;
}

Status WorkerState::FindFault(Status cause) {
  for (Launcher* launcher : launchers_) {
    const Result<program::LaunchStatistics> statistics = launcher->ReadStatistics();
    if (statistics.ok() && statistics->fault != 0) return DescribeFault(launcher->image(), *statistics, cause);
  }
  return cause;
}

void WorkerState::Break(const Status& cause) {
  {
    const std::lock_guard<std::mutex> lock(outside_mutex_);
    broken_ = cause;
  }
  usable_.store(false, std::memory_order_relaxed);
  EndInOrder(cause);
  abandoned_.clear();
  PYPTO_LOG(kError, "worker %s is broken: %s", name().c_str(), cause.ToString().c_str());
}

Status WorkerState::GrowWorkspace(uint64_t bytes) {
  PYPTO_RETURN_IF_ERROR(WaitIdleIfBusy({}));
  const acl::ContextScope scope(table(), session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  if (workspace_bytes_ != 0) {
    workspace_bytes_ = 0;
    PYPTO_RETURN_IF_ERROR(allocator_->Free(std::exchange(workspace_address_, 0)));
  }
  PYPTO_ASSIGN_OR_RETURN(workspace_address_, allocator_->Allocate(bytes, MemoryKind::kWorkspace, "workspace"));
  workspace_bytes_ = bytes;
  return base::OkStatus();
}

void WorkerState::DropLauncher(std::unique_ptr<Launcher> launcher) {
  const std::lock_guard<std::mutex> lock(dropped_mutex_);
  if (!launcher->is_open()) return;  // deleted here
  dropped_launchers_.push_back(std::move(launcher));
  launchers_dropped_.store(true, std::memory_order_relaxed);
}

bool WorkerState::DroppedIsLight() {
  if (registry_.HasDropped()) return false;
  const std::lock_guard<std::mutex> lock(dropped_mutex_);
  const size_t count = dropped_launchers_.size();
  return std::all_of(dropped_launchers_.begin(), dropped_launchers_.end(),
                     [&](const auto& launcher) { return launcher->handles_of_program() > count; });
}

void WorkerState::FreeDropped() {
  // Work in flight whose wait timed out may still use a dropped tensor.
  if (!is_open() || !abandoned_.empty()) return;
  const acl::ContextScope scope(table(), session().context());
  if (!scope.status().ok()) return;
  std::vector<std::unique_ptr<Launcher>> launchers;
  {
    const std::lock_guard<std::mutex> lock(dropped_mutex_);
    launchers.swap(dropped_launchers_);
    launchers_dropped_.store(false, std::memory_order_relaxed);
  }
  Status first;
  for (std::unique_ptr<Launcher>& launcher : launchers) {
    first.Attach(launcher->Close());
    if (launcher->is_open()) DropLauncher(std::move(launcher));
  }
  for (const uint64_t address : registry_.TakeDropped()) first.Attach(allocator_->Free(address));
  if (!first.ok()) {
    PYPTO_LOG(kWarning, "worker %s: freeing what was dropped: %s", name().c_str(), first.ToString().c_str());
  }
}

Status WorkerState::Close() {
  if (!is_open()) return base::OkStatus();
  if (IsForked() || base::ProcessExiting()) {
    // The device belongs to the parent, or its library may be gone: everything is left to the operating system.
    for (Launcher* launcher : launchers_) launcher->Forget();
    launchers_.clear();
    registry_.KillAll();
    {
      const std::lock_guard<std::mutex> lock(outside_mutex_);
      facts_ = {};
      facts_table_ = nullptr;
    }
    usable_.store(false, std::memory_order_relaxed);
    open_.store(false, std::memory_order_release);
    return base::OkStatus();
  }
  Status first = FinishWork();
  first.Attach(ReleaseEverything());
  usable_.store(false, std::memory_order_relaxed);
  open_.store(false, std::memory_order_release);
  if (!broken()) return first;
  // A broken device answers most calls with its fault; that it was told already.
  if (!first.ok()) PYPTO_LOG(kWarning, "closing broken worker %s: %s", name().c_str(), first.ToString().c_str());
  return base::OkStatus();
}

Status WorkerState::FinishWork() {
  const acl::ContextScope scope(table(), session().context());
  Status first = scope.status();
  if (stream_busy_ && !broken()) {
    Status waited = WaitIdle(config_.timeout_ms, {});
    if (!waited.ok() && !broken()) AbortWork();
    first.Attach(waited);
  }
  // What is left could not be waited for; its outputs are lost.
  const Status lost =
      first.ok() ? MakeStatus(StatusCode::kFailedPrecondition, "worker %s was closed", name().c_str()) : first;
  EndInOrder(lost);
  while (!pending_.empty()) FinishPending(std::shared_ptr<PendingLaunch>(pending_.front()));
  abandoned_.clear();
  stream_busy_ = false;
  return first;
}

Status WorkerState::ReleaseEverything() {
  Status first;
  {
    const acl::ContextScope scope(table(), session().context());
    first = scope.status();
    FreeDropped();
    while (!launchers_.empty()) first.Attach(launchers_.back()->Close());
    const TensorRegistry::Held held = registry_.KillAll();
    if (held.count != 0) ReportHeld(held);
    for (acl::Event& event : events_) first.Attach(event.Close());
    events_.clear();
    first.Attach(allocator_->ReleaseAll());
  }
  programs_.reset();
  allocator_.reset();
  workspace_bytes_ = 0;
  workspace_address_ = 0;
  const std::unique_ptr<DeviceSession> session = std::move(session_);
  SetFacts();
  first.Attach(session->Close());
  return first;
}

void WorkerState::ReportHeld(const TensorRegistry::Held& held) const {
  PYPTO_LOG(kWarning, "closing worker %s: %zu tensor%s or raw buffer%s still held, %" PRIu64 " bytes; they were freed",
            name().c_str(), held.count, held.count == 1 ? "" : "s", held.count == 1 ? " was" : "s were", held.bytes);
}

}  // namespace pypto::runtime
