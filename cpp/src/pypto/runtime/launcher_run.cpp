// Launching what was prepared: copies, launch, wait, and what follows when the wait does not succeed.
#include <algorithm>
#include <new>

#include "pypto/acl/errors.h"
#include "pypto/acl/event.h"
#include "pypto/base/checked.h"
#include "pypto/base/clock.h"
#include "pypto/runtime/launcher.h"
#include "pypto/runtime/trace.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

}  // namespace

Status Launcher::Run(const CallOptions& options) {
  if (!std::exchange(prepared_ok_, false)) return Status(StatusCode::kInternal, "Run without a successful Prepare");
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_RETURN_IF_ERROR(state_->SealLast(options.interrupt));
  if (options.times != nullptr || TraceOn()) [[unlikely]]
    return RunTimed(options);
  PYPTO_RETURN_IF_ERROR(CopyIn());
  const bool run_inline = RunsInline(options);
  PYPTO_RETURN_IF_ERROR(Launch());
  PYPTO_RETURN_IF_ERROR(WaitForEnd(options, run_inline));
  PYPTO_RETURN_IF_ERROR(CopyOut());
  if (header().flags != 0) [[unlikely]]
    WriteRecords(header().tasks_address, budget_);
  return base::OkStatus();
}

Status Launcher::RunTimed(const CallOptions& options) {
  const int64_t begin = base::MonotonicNanoseconds();
  PYPTO_RETURN_IF_ERROR(CopyIn());
  const int64_t copied = base::MonotonicNanoseconds();
  int64_t between_events = 0;
  const bool run_inline = RunsInline(options);
  if (packed_) {
    PYPTO_ASSIGN_OR_RETURN(between_events, RunBetweenEvents(options));
  } else {
    PYPTO_RETURN_IF_ERROR(Launch());
    PYPTO_RETURN_IF_ERROR(WaitForEnd(options, run_inline));
  }
  const int64_t ended = base::MonotonicNanoseconds();
  PYPTO_RETURN_IF_ERROR(CopyOut());
  const int64_t end = base::MonotonicNanoseconds();
  PYPTO_ASSIGN_OR_RETURN(const program::LaunchStatistics statistics, statistics_.ReadLast());
  RoundTimes times;
  times.host_ns = end - begin;
  times.copy_ns = (copied - begin) + (end - ended);
  times.launch_ns = ended - copied;
  const auto ticks = static_cast<double>(statistics.end_ticks - statistics.begin_ticks);
  times.device_ns = statistics.ticks_per_second > 0 ? static_cast<int64_t>(ticks / statistics.ticks_per_second * 1e9)
                                                    : between_events;
  if (options.times != nullptr) *options.times = times;
  if (TraceOn()) WriteSpans(times, begin, copied, ended);
  if (header().flags != 0) WriteRecords(header().tasks_address, budget_);
  return base::OkStatus();
}

Result<int64_t> Launcher::RunBetweenEvents(const CallOptions& options) {
  const acl::Table& table = state_->table();
  const acl::StreamView stream = state_->session().stream();
  PYPTO_ASSIGN_OR_RETURN(acl::Event begin, acl::Event::Create(table));
  PYPTO_ASSIGN_OR_RETURN(acl::Event end, acl::Event::Create(table));
  PYPTO_RETURN_IF_ERROR(acl::RecordEvent(table, begin, stream));
  PYPTO_RETURN_IF_ERROR(Launch());
  const Status recorded = acl::RecordEvent(table, end, stream);
  PYPTO_RETURN_IF_ERROR(WaitForEnd(options, false));
  PYPTO_RETURN_IF_ERROR(recorded);
  PYPTO_ASSIGN_OR_RETURN(const float milliseconds, acl::ElapsedMilliseconds(table, begin, end));
  Status closed = begin.Close();
  closed.Attach(end.Close());
  PYPTO_RETURN_IF_ERROR(closed);
  return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

void Launcher::WriteSpans(const RoundTimes& times, int64_t begin, int64_t launched, int64_t ended) const {
  const int64_t end = begin + times.host_ns;
  const int64_t start = marks_.begin != 0 ? marks_.begin : begin;
  const TraceSpan spans[] = {
      {"chip.run", 0, start, end - start, {}},
      {"chip.run.validate", 1, start, marks_.checked - marks_.begin, {}},
      {"chip.run.bind", 1, marks_.checked, marks_.placed - marks_.checked, {}},
      {"chip.run.h2d", 1, begin, launched - begin, {}},
      {"chip.run.launch", 1, launched, times.launch_ns, {}},
      {"chip.run.device_wall", 1, launched, times.device_ns, "clk=dev"},
      {"chip.run.d2h", 1, ended, end - ended, {}},
  };
  WriteTrace(image_->fingerprint, spans);
}

void Launcher::NoteCopies() {
  inline_bytes_ = 0;
  staged_in_.clear();
  staged_out_.clear();
  if (copied_bytes_ == 0) return;
  const std::span<const ParameterRule> rules = signature_.rules();
  for (uint32_t i = 0; i < prepared_.size(); ++i) {
    const Prepared& prepared = prepared_[i];
    if (prepared.place == Place::kInline) inline_bytes_ += prepared.bytes;
    if (prepared.place != Place::kStaged || prepared.bytes == 0) continue;
    if (rules[i].reads()) staged_in_.push_back(i);
    if (rules[i].writes()) staged_out_.push_back(i);
  }
}

Status Launcher::CopyIn() {
  Counters& counters = state_->counters();
  counters.inline_bytes += inline_bytes_;
  for (const uint32_t i : staged_in_) {
    const Prepared& prepared = prepared_[i];
    const acl::aclError code = table_.aclrtMemcpy(reinterpret_cast<void*>(prepared.address), prepared.bytes,
                                                  prepared.host, prepared.bytes, acl_abi::kMemcpyHostToDevice);
    if (code != acl_abi::kSuccess) [[unlikely]] {
      return state_->OnDeviceFailure(acl::ToStatus(table_, code, acl::CallId::aclrtMemcpy));
    }
    counters.h2d_copies += 1;
    counters.h2d_bytes += prepared.bytes;
  }
  return base::OkStatus();
}

Status Launcher::CopyOut() {
  Counters& counters = state_->counters();
  for (const uint32_t i : staged_out_) {
    const Prepared& prepared = prepared_[i];
    const acl::aclError code =
        table_.aclrtMemcpy(prepared.host, prepared.bytes, reinterpret_cast<const void*>(prepared.address),
                           prepared.bytes, acl_abi::kMemcpyDeviceToHost);
    if (code != acl_abi::kSuccess) [[unlikely]] {
      return state_->OnDeviceFailure(acl::ToStatus(table_, code, acl::CallId::aclrtMemcpy));
    }
    counters.d2h_copies += 1;
    counters.d2h_bytes += prepared.bytes;
  }
  return base::OkStatus();
}

Status Launcher::Launch() {
  const acl::Table& table = state_->table();
  if (table.launch_route() == acl::LaunchRoute::kKernelArgs) [[unlikely]] {
    PYPTO_RETURN_IF_ERROR(LaunchWithKernelArgs());
  } else {
    const std::span<std::byte> arguments = launch_bytes();
    const acl::aclError code =
        table.aclrtLaunchKernelWithHostArgs(program_->function().raw(), blocks(), state_->session().stream().raw(),
                                            nullptr, arguments.data(), arguments.size(), nullptr, 0);
    if (code != acl_abi::kSuccess) [[unlikely]] {
      return state_->OnDeviceFailure(acl::ToStatus(table, code, acl::CallId::aclrtLaunchKernelWithHostArgs));
    }
  }
  state_->MarkLaunched();
  statistics_.CountLaunch();
  return base::OkStatus();
}

Status Launcher::LaunchWithKernelArgs() {
  constexpr size_t kRoom = 64 * 1024;
  const std::span<std::byte> bytes = packed_ ? packed_->listed() : launch_bytes();
  if (bytes.size() > kRoom) {
    return MakeStatus(
        StatusCode::kUnsupported,
        "the launch of '%s' takes %zu argument bytes; this ACL library only offers KernelArgs, which take "
        "%zu: pass resident tensors in place of small host ones",
        image_->plan.name.c_str(), bytes.size(), kRoom);
  }
  const acl::Table& table = state_->table();
  acl_abi::aclrtArgsHandle list = nullptr;
  acl_abi::aclrtParamHandle parameter = nullptr;
  acl_abi::aclrtLaunchKernelCfg* no_config = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtKernelArgsInit, program_->function().raw(), &list));
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtKernelArgsAppend, list, bytes.data(), bytes.size(), &parameter));
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtKernelArgsFinalize, list));
  const acl::aclError code = table.aclrtLaunchKernelWithConfig(
      program_->function().raw(), blocks(), state_->session().stream().raw(), no_config, list, nullptr);
  if (code == acl_abi::kSuccess) return base::OkStatus();
  return state_->OnDeviceFailure(acl::ToStatus(table, code, acl::CallId::aclrtLaunchKernelWithConfig));
}

bool Launcher::RunsInline(const CallOptions& options) const noexcept {
  constexpr int64_t kLongest = 50'000'000;
  return options.may_run_here && state_->table().is_mock() && longest_ns_ < kLongest &&
         EstimatedMicroseconds() < kInlineMicroseconds;
}

Status Launcher::WaitForEnd(const CallOptions& options, bool run_inline) {
  Status cause;
  const bool sliced = options.interrupt.should_stop != nullptr;
  const int64_t begin = sliced ? base::MonotonicNanoseconds() : 0;
  const Interrupt& interrupt = run_inline ? Interrupt{} : options.interrupt;
  const WaitEnd end = state_->session().Wait(state_->config().timeout_ms, interrupt, &cause);
  if (end != WaitEnd::kDone) [[unlikely]]
    return Unfinished(end, std::move(cause));
  // What happened once is forgotten bit by bit: the machine may have been busy.
  if (sliced) longest_ns_ = std::max(longest_ns_ - longest_ns_ / 8, base::MonotonicNanoseconds() - begin);
  state_->MarkIdle();
  return base::OkStatus();
}

Status Launcher::Unfinished(WaitEnd end, Status cause) {
  const std::string& kernel = image_->plan.name;
  const bool profiled = profile_block_ != 0;
  LoseCount();
  state_->Abandon({program_, std::exchange(set_, nullptr), profiled ? &profile_blocks_ : &task_blocks_,
                   std::exchange(profiled ? profile_block_ : task_block_, 0), kernel});
  switch (end) {
    case WaitEnd::kDone: break;
    case WaitEnd::kTimedOut: return state_->TimeoutStatus(state_->config().timeout_ms.value_or(0), kernel);
    case WaitEnd::kInterrupted:
      state_->AbortWork();
      return MakeStatus(StatusCode::kFailedPrecondition,
                        "the call of '%s' was interrupted; its host outputs are undefined", kernel.c_str());
    case WaitEnd::kFailed: return state_->OnDeviceFailure(std::move(cause));
  }
  return base::OkStatus();
}

std::shared_ptr<PendingLaunch> Launcher::MakePending(acl::Event event) {
  auto pending = std::make_shared<PendingLaunch>();
  pending->kernel = image_->plan.name;
  pending->launcher = this;
  pending->program = program_;
  pending->set = std::exchange(set_, nullptr);
  if (header().flags != 0) [[unlikely]] {
    pending->recorded = std::make_unique<RecordedLaunch>(RecordedLaunch{std::exchange(task_block_, 0), budget_});
  }
  pending->event = std::move(event);
  pending->serial = header().serial;
  pending->statistics_address = header().statistics_address;
  const std::span<const ParameterRule> rules = signature_.rules();
  for (size_t i = 0; i < prepared_.size(); ++i) {
    const Prepared& prepared = prepared_[i];
    if (prepared.place == Place::kResident) pending->tensors.push_back(TensorRef::Share(prepared.tensor));
    if (prepared.place != Place::kStaged || !rules[i].writes() || prepared.bytes == 0) continue;
    pending->outputs.push_back({prepared.host, prepared.address, prepared.bytes, nullptr});
  }
  return pending;
}

Status Launcher::ReserveFetch() {
  const acl::Table& table = state_->table();
  if (!table.Has(acl::CallId::aclrtMallocHost) || !table.Has(acl::CallId::aclrtFreeHost)) return base::OkStatus();
  if (set_ == nullptr) set_ = program_->TakeSet();
  uint64_t bytes = sizeof(program::LaunchStatistics);
  for (size_t i = 0; i < prepared_.size(); ++i) {
    if (prepared_[i].place != Place::kStaged || !signature_.rules()[i].writes()) continue;
    bytes = base::AlignUp(bytes, program::kInlineAlignment) + prepared_[i].bytes;
  }
  return program_->ReserveHost(table, set_, bytes);
}

Status Launcher::QueueFetch(PendingLaunch* pending) {
  if (pending->set == nullptr || pending->set->host.bytes() == 0) return base::OkStatus();
  const acl::Table& table = state_->table();
  const acl_abi::aclrtStream stream = state_->session().stream().raw();
  std::byte* room = pending->set->host.data();
  const auto fetch = [&](std::byte* to, uint64_t from, uint64_t bytes) {
    return PYPTO_ACL_CALL(table, aclrtMemcpyAsync, to, bytes, reinterpret_cast<const void*>(from), bytes,
                          acl_abi::kMemcpyDeviceToHost, stream);
  };
  const auto* mark = new (room) program::LaunchStatistics();
  uint64_t end = sizeof(program::LaunchStatistics);
  for (PendingLaunch::Output& output : pending->outputs) {
    const uint64_t begin = base::AlignUp(end, program::kInlineAlignment);
    PYPTO_RETURN_IF_ERROR(fetch(room + begin, output.device, output.bytes));
    output.fetched = room + begin;
    end = begin + output.bytes;
  }
  PYPTO_RETURN_IF_ERROR(fetch(room, pending->statistics_address, sizeof(program::LaunchStatistics)));
  pending->mark = mark;
  return base::OkStatus();
}

Result<std::shared_ptr<PendingLaunch>> Launcher::RunAsync(const Interrupt& interrupt) {
  if (!std::exchange(prepared_ok_, false))
    return Status(StatusCode::kInternal, "RunAsync without a successful Prepare");
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_RETURN_IF_ERROR(state_->SealLast(interrupt));
  if (state_->running() >= kMostInFlight) PYPTO_RETURN_IF_ERROR(state_->WaitForOldest(interrupt));
  // Nothing else runs and the work is small: without an event the mock wakes nobody for it, and whoever waits runs it.
  const bool for_waiter =
      state_->table().is_mock() && header().flags == 0 && EstimatedMicroseconds() < kWaiterMicroseconds;
  if (for_waiter) statistics_.FindCount();
  acl::Event event;
  if (!for_waiter) {
    PYPTO_ASSIGN_OR_RETURN(event, state_->TakeEvent());
  }
  header().serial = state_->NextSerial();
  Status launched = ReserveFetch();
  if (launched.ok()) launched = CopyIn();
  if (launched.ok()) launched = Launch();
  if (!launched.ok()) {
    if (!state_->broken() && !for_waiter) state_->ReturnEvent(std::move(event));
    return launched;
  }
  const std::shared_ptr<PendingLaunch> pending = MakePending(std::move(event));
  state_->AddPending(pending);
  if (for_waiter) {
    state_->LeaveUnsealed(pending);
    return pending;
  }
  PYPTO_RETURN_IF_ERROR(Seal(pending, interrupt));
  return pending;
}

Status Launcher::Seal(const std::shared_ptr<PendingLaunch>& pending, const Interrupt& interrupt) {
  Status recorded;
  if (!pending->event.is_open()) {
    Result<acl::Event> event = state_->TakeEvent();
    recorded = event.status();
    if (event.ok()) pending->event = std::move(event).value();
  }
  if (recorded.ok()) recorded = QueueFetch(pending.get());
  if (recorded.ok()) recorded = acl::RecordEvent(state_->table(), pending->event, state_->session().stream());
  if (recorded.ok()) return recorded;
  // Without the event its end cannot be told apart: wait for it here.
  Status waited = state_->WaitIdle(state_->config().timeout_ms, interrupt);
  if (waited.ok()) return waited;
  waited.Attach(recorded);
  if (!pending->device_done) state_->MarkDeviceDone(pending.get(), waited);
  state_->FinishPending(pending);
  return waited;
}

}  // namespace pypto::runtime
