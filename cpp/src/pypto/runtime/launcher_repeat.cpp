// A call that brings the tensors of the last one again: the launch block stands, and a short call takes no long way.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "pypto/acl/context.h"
#include "pypto/acl/errors.h"
#include "pypto/runtime/launcher.h"
#include "pypto/runtime/trace.h"

namespace pypto::runtime {

using base::Status;

[[gnu::always_inline]] inline bool Launcher::BlockStands() const noexcept {
  if (TraceOn() || log::Enabled(log::Level::kInfo)) return false;
  const auto& head = *reinterpret_cast<const program::LaunchHeader*>(block_);
  return budget_.total_bytes == 0 || head.workspace_address == state_->workspace_address();
}

bool Launcher::IsRepeat(std::span<const ArgumentView> arguments) const noexcept {
  if (!may_repeat_ || arguments.size() != prepared_.size() || !BlockStands()) return false;
  const uint64_t session = state_->registry().session();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != ArgumentKind::kResident) return false;
    const ResidentTensor& tensor = *arguments[i].tensor;
    if (tensor.serial() != prepared_[i].serial || tensor.session() != session) return false;
  }
  return true;
}

bool Launcher::MayRepeat() const noexcept {
  if (packed_ || reinterpret_cast<const program::LaunchHeader*>(block_)->flags != 0) return false;
  return std::all_of(prepared_.begin(), prepared_.end(),
                     [](const Prepared& prepared) { return prepared.place == Place::kResident; });
}

void Launcher::NoteLast() noexcept {
  may_repeat_ = MayRepeat();
  short_call_ = IsShort();
  if (!may_repeat_ || !short_call_ || prepared_.size() > RepeatKey::kMost) return;
  key_.number = prepared_number_;
  key_.session = state_->registry().session();
  for (size_t i = 0; i < prepared_.size(); ++i) key_.serials[i] = prepared_[i].serial;
  key_.count = prepared_.size();
}

bool Launcher::IsShort() const noexcept {
  const double microseconds = estimated_us_ + static_cast<double>(copied_bytes_) * kMicrosecondsPerByte;
  return !packed_ && reinterpret_cast<const program::LaunchHeader*>(block_)->flags == 0 &&
         microseconds < kShortMicroseconds && !state_->config().timeout_ms && WritesOneHostTensor() &&
         state_->table().launch_route() == acl::LaunchRoute::kHostArgs;
}

// Or none: host tensors that are written may not overlap each other.
bool Launcher::WritesOneHostTensor() const noexcept {
  size_t written = 0;
  for (size_t i = 0; i < prepared_.size(); ++i) {
    const bool host = prepared_[i].place == Place::kInline || prepared_[i].place == Place::kStaged;
    if (host && signature_.rules()[i].writes()) ++written;
  }
  return written <= 1;
}

[[gnu::always_inline]] inline bool Launcher::StandsForShortCall() const noexcept {
  return state_->IsQuiet() && BlockStands();
}

[[gnu::always_inline]] inline bool Launcher::LaunchAgain(Status* status) {
  acl_abi::aclrtLaunchKernelCfg* const no_config = nullptr;
  acl_abi::aclrtPlaceHolderInfo* const no_holders = nullptr;
  const acl::aclError code = table_.aclrtLaunchKernelWithHostArgs(function_, 1u, state_->session().stream().raw(),
                                                                  no_config, block_, header().bytes, no_holders, 0u);
  if (code != acl_abi::kSuccess) [[unlikely]]
    return LaunchRefused(code, status);
  state_->MarkLaunched();
  statistics_.CountLaunch();
  return true;
}

void Launcher::ForgetContext() noexcept {
  acl::ForgetCurrent();
  // The text of the refusal must not turn up in the message of a later failure.
  static_cast<void>(table_.aclGetRecentErrMsg());
}

bool Launcher::LaunchRefused(acl::aclError code, Status* status) {
  if (acl::RefusedByContext(code)) {
    ForgetContext();
    return false;
  }
  *status = state_->OnDeviceFailure(acl::ToStatus(table_, code, acl::CallId::aclrtLaunchKernelWithHostArgs));
  return true;
}

[[gnu::always_inline]] inline void Launcher::WaitAgain(Status* status) {
  const acl::aclError code = table_.aclrtSynchronizeStream(state_->session().stream().raw());
  if (code != acl_abi::kSuccess) [[unlikely]] {
    *status = Unfinished(WaitEnd::kFailed, acl::ToStatus(table_, code, acl::CallId::aclrtSynchronizeStream));
    return;
  }
  state_->MarkIdle();
}

[[gnu::always_inline]] inline bool Launcher::ContextMayBeCurrent() const noexcept {
  const acl::ContextView own = state_->session().context();
  return acl::WasCurrent(own) || acl::IsCurrent(table_, own);
}

bool Launcher::TryRepeat(Status* status) {
  if (!StandsForShortCall() || !ContextMayBeCurrent()) return false;
  if (!LaunchAgain(status)) return false;
  if (status->ok()) [[likely]]
    WaitAgain(status);
  return true;
}

[[gnu::always_inline]] inline bool Launcher::HostIsAsBefore(const Prepared& prepared, const ParameterRule& rule,
                                                            const ArgumentView& argument) const noexcept {
  if (argument.dtype != prepared.dtype || argument.rank != rule.rank) return false;
  for (size_t i = 0; i < argument.rank; ++i) {
    const int64_t dim = rule.dims[i];
    if (argument.shape[i] != (dim >= 0 ? dim : symbols_[static_cast<size_t>(~dim)])) return false;
  }
  return argument.data != nullptr;
}

[[gnu::always_inline]] inline bool Launcher::TakeResidentAgain(const Prepared& prepared,
                                                               const ResidentTensor* tensor) const noexcept {
  return prepared.place == Place::kResident && tensor->serial() == prepared.serial &&
         tensor->session() == state_->registry().session();
}

[[gnu::always_inline]] inline bool Launcher::TakeHostAgain(size_t index, void* data) noexcept {
  Prepared& prepared = prepared_[index];
  if (prepared.place == Place::kInline) {
    prepared.host = data;
    std::memcpy(block_ + (slots()[index] & ~program::kInlineFlag), data, prepared.bytes);
    return true;
  }
  // A submitted launch has taken the staging along.
  if (prepared.place != Place::kStaged || set_ == nullptr) return false;
  prepared.host = data;
  return true;
}

[[gnu::always_inline]] inline bool Launcher::TakeAgain(size_t index, const ParameterRule& rule,
                                                       const ArgumentView& argument) noexcept {
  const Prepared& prepared = prepared_[index];
  switch (argument.kind) {
    case ArgumentKind::kResident: return TakeResidentAgain(prepared, argument.tensor);
    case ArgumentKind::kHost: return HostIsAsBefore(prepared, rule, argument) && TakeHostAgain(index, argument.data);
    case ArgumentKind::kInt:
      return !rule.is_tensor && rule.scalar_kind == program::ScalarKind::kInt &&
             slots()[index] == static_cast<uint64_t>(argument.int_value);
    case ArgumentKind::kFloat:
      return !rule.is_tensor && rule.scalar_kind != program::ScalarKind::kInt &&
             slots()[index] == std::bit_cast<uint64_t>(argument.float_value);
  }
  return false;
}

// IsShort has let in one tensor at most.
[[gnu::always_inline]] inline void Launcher::CopyOutAgain(Status* status) {
  const Prepared& prepared = prepared_[staged_out_.front()];
  const acl::aclError code =
      table_.aclrtMemcpy(prepared.host, prepared.bytes, reinterpret_cast<const void*>(prepared.address), prepared.bytes,
                         acl_abi::kMemcpyDeviceToHost);
  if (code != acl_abi::kSuccess) [[unlikely]] {
    *status = state_->OnDeviceFailure(acl::ToStatus(table_, code, acl::CallId::aclrtMemcpy));
    return;
  }
  state_->counters().d2h_copies += 1;
  state_->counters().d2h_bytes += prepared.bytes;
}

[[gnu::always_inline]] inline bool Launcher::RunAgain(Status* status) {
  // A copy that comes first goes where the current context is: no guess.
  if (staged_in_.empty() ? !ContextMayBeCurrent() : !acl::IsCurrent(table_, state_->session().context())) return false;
  const bool copies_in = !staged_in_.empty();
  if (copies_in) {
    *status = CopyIn();
    if (!status->ok()) return true;
  }
  if (!LaunchAgain(status)) return false;
  if (!copies_in) state_->counters().inline_bytes += inline_bytes_;
  if (status->ok()) [[likely]]
    WaitAgain(status);
  if (status->ok() && !staged_out_.empty()) [[likely]]
    CopyOutAgain(status);
  return true;
}

bool Launcher::TryRepeat(std::span<const ArgumentView> arguments, Status* status) {
  if (!short_call_ || arguments.size() != prepared_.size() || !StandsForShortCall()) return false;
  // What is noted of a call that does not fit in the end is of no use to anybody: Prepare notes it all anew.
  const std::span<const ParameterRule> rules = signature_.rules();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!TakeAgain(i, rules[i], arguments[i])) return false;
  }
  return RunAgain(status);
}

bool Launcher::TryRepeat(std::span<const RepeatArgument> arguments, uint64_t number, Status* status) {
  if (!short_call_ || number != prepared_number_ || !StandsForShortCall()) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const RepeatArgument& argument = arguments[i];
    const bool taken =
        argument.tensor != nullptr ? TakeResidentAgain(prepared_[i], argument.tensor) : TakeHostAgain(i, argument.host);
    if (!taken) return false;
  }
  return RunAgain(status);
}

bool Launcher::TryLeave(Status* status) {
  if (!StandsForShortCall() || !table_.is_mock() || !ContextMayBeCurrent()) return false;
  // The device's count of launches will tell it from the ones before; a new number in the block would cost more.
  if (statistics_.expected_launches() == 0) [[unlikely]]
    return false;
  return LaunchAgain(status);
}

bool Launcher::WaitLeft() {
  if (!state_->CheckUsable().ok() || !ContextMayBeCurrent()) return false;
  // A failure stays with the stream: it is found again with the record.
  const acl::aclError code = table_.aclrtSynchronizeStream(state_->session().stream().raw());
  if (code != acl_abi::kSuccess) [[unlikely]] {
    if (acl::RefusedByContext(code)) ForgetContext();
    return false;
  }
  state_->MarkIdle();
  return true;
}

std::shared_ptr<PendingLaunch> Launcher::MakeOrdinary() {
  if (state_->CheckUsable().ok()) {
    const acl::ContextScope scope(state_->table(), state_->session().context());
    // Without room for what the device writes, a later fault may take this launch along; it runs all the same.
    const Status ignored = scope.status().ok() ? ReserveFetch() : scope.status();
    static_cast<void>(ignored);
  }
  std::shared_ptr<PendingLaunch> pending = MakePending({});
  pending->serial = 0;  // that of a launch before it
  pending->launches = statistics_.expected_launches();
  state_->AddPending(pending);
  state_->LeaveUnsealed(pending);
  return pending;
}

}  // namespace pypto::runtime
