// Opening and closing a device, sliced waits, aborting, and forwarding our log to the library's.
#include "pypto/runtime/device_session.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "pypto/base/clock.h"

namespace pypto::runtime {
namespace {

using base::Result;
using base::Status;

acl::LoadOptions OptionsFor(const RunConfig& config) {
  acl::LoadOptions options;
  options.mock_path = config.mock_library_path.empty() ? PackagedMockPath() : config.mock_library_path;
  options.platform = config.platform;
  return options;
}

acl_abi::aclLogLevel LevelForAcl(log::Level level) {
  return level >= log::Level::kError ? acl_abi::kLogError : acl_abi::kLogWarning;
}

int64_t NowMs() { return base::MonotonicNanoseconds() / 1'000'000; }

// Closes and forgets a handle; a refused one is tried again by its destructor.
template <typename Handle>
void CloseInto(Handle* handle, Status* first) {
  first->Attach(handle->Close());
  *handle = Handle();
}

}  // namespace

Result<std::unique_ptr<DeviceSession>> DeviceSession::Open(const RunConfig& config) {
  const auto kind = IsSimulatorPlatform(config.platform) ? acl::PlatformKind::kSimulator : acl::PlatformKind::kHardware;
  PYPTO_ASSIGN_OR_RETURN(acl::Session library, acl::Session::Open(kind, OptionsFor(config)));
  return OpenOn(std::move(library), config.device_id);
}

Result<std::unique_ptr<DeviceSession>> DeviceSession::OpenOn(acl::Session library, int32_t device_id) {
  auto session = std::make_unique<DeviceSession>();
  const acl::Table& table = library.table();
  PYPTO_ASSIGN_OR_RETURN(const acl::ContextView former, acl::CurrentContext(table));
  PYPTO_ASSIGN_OR_RETURN(session->device_, acl::Device::Open(std::move(library), device_id));
  PYPTO_ASSIGN_OR_RETURN(session->context_, acl::Context::Create(table, device_id));
  // A thread without a context of somebody else's keeps ours: later calls need not switch.
  std::optional<acl::ContextScope> scope;
  if (former) {
    scope.emplace(table, session->context());
    PYPTO_RETURN_IF_ERROR(scope->status());
  } else {
    acl::ForgetCurrent();
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtSetCurrentContext, session->context().raw()));
  }
  PYPTO_ASSIGN_OR_RETURN(session->stream_, acl::Stream::Create(table));
  session->ForwardLog();
  acl::RememberOwnContext(table, session->context());
  return session;
}

DeviceSession::~DeviceSession() {
  if (!device_.is_open()) return;
  const Status ignored = Close();
  static_cast<void>(ignored);
}

Status DeviceSession::Close() {
  if (log_sink_ != 0) log::RemoveSink(std::exchange(log_sink_, 0));
  if (!device_.is_open()) return base::OkStatus();
  if (!table().usable()) return base::OkStatus();
  Status first;
  if (context_.is_open()) {
    acl::ForgetOwnContext(table(), context());
    const acl::ContextScope scope(table(), context(), acl::ContextScope::Back::kAlways);
    first = scope.status();
    CloseInto(&stream_, &first);
    first.Attach(StepAside());
    CloseInto(&context_, &first);
  }
  CloseInto(&device_, &first);
  return first;
}

// The context that is going to be destroyed must not stay current in this thread. With that of another worker in its
// place that worker's calls here need no switch; but that one may be closing just now.
Status DeviceSession::StepAside() {
  acl::ForgetCurrent();
  const acl::ContextView other = acl::AnyOwnContext(table());
  if (other && table().aclrtSetCurrentContext(other.raw()) == acl_abi::kSuccess) return base::OkStatus();
  const acl::ContextView primary = device_.context();
  return primary ? PYPTO_ACL_CALL(table(), aclrtSetCurrentContext, primary.raw()) : base::OkStatus();
}

WaitEnd DeviceSession::Wait(std::optional<int64_t> timeout_ms, const Interrupt& interrupt, Status* status) {
  if (timeout_ms || interrupt.should_stop != nullptr) return WaitSliced(timeout_ms, interrupt, status);
  const acl::aclError code = table().aclrtSynchronizeStream(stream().raw());
  if (code == acl_abi::kSuccess) [[likely]]
    return WaitEnd::kDone;
  *status = acl::ToStatus(table(), code, acl::CallId::aclrtSynchronizeStream);
  return WaitEnd::kFailed;
}

acl::aclError DeviceSession::WaitSlice(int32_t slice_ms) {
  const acl::Table& acl_table = table();
  if (acl_table.Has(acl::CallId::aclrtSynchronizeStreamWithTimeout)) {
    return acl_table.aclrtSynchronizeStreamWithTimeout(stream().raw(), slice_ms);
  }
  if (!acl_table.Has(acl::CallId::aclrtStreamQuery)) return acl_table.aclrtSynchronizeStream(stream().raw());
  const int64_t end = NowMs() + slice_ms;
  std::chrono::microseconds pause(20);
  while (true) {
    acl_abi::aclrtStreamStatus state = acl_abi::kStreamNotReady;
    const acl::aclError code = acl_table.aclrtStreamQuery(stream().raw(), &state);
    if (code != acl_abi::kSuccess) return code;
    if (state == acl_abi::kStreamComplete) return acl_table.aclrtSynchronizeStream(stream().raw());
    if (NowMs() >= end) return acl_abi::kErrorRtStreamSyncTimeout;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
}

WaitEnd DeviceSession::WaitSliced(std::optional<int64_t> timeout_ms, const Interrupt& interrupt, Status* status) {
  const int64_t end = timeout_ms ? NowMs() + *timeout_ms : 0;
  while (true) {
    int64_t slice = kWaitSliceMs;
    if (timeout_ms) slice = std::clamp<int64_t>(end - NowMs(), 1, kWaitSliceMs);
    const acl::aclError code = WaitSlice(static_cast<int32_t>(slice));
    if (code == acl_abi::kSuccess) return WaitEnd::kDone;
    if (code != acl_abi::kErrorRtStreamSyncTimeout) {
      *status = acl::ToStatus(table(), code, acl::CallId::aclrtSynchronizeStreamWithTimeout);
      return WaitEnd::kFailed;
    }
    if (interrupt.Asked()) return WaitEnd::kInterrupted;
    if (timeout_ms && NowMs() >= end) return WaitEnd::kTimedOut;
  }
}

Result<bool> DeviceSession::Abort() {
  const acl::Table& acl_table = table();
  if (!acl_table.Has(acl::CallId::aclrtStreamAbort)) return false;
  if (acl_table.aclrtStreamAbort(stream().raw()) != acl_abi::kSuccess) return false;
  // Until the aborted work is off the device; the code of the abort itself is expected.
  static_cast<void>(acl_table.aclrtSynchronizeStream(stream().raw()));
  Status first;
  CloseInto(&stream_, &first);
  Result<acl::Stream> fresh = acl::Stream::Create(acl_table);
  if (!fresh.ok()) {
    first.Attach(fresh.status());
    return first;
  }
  stream_ = std::move(fresh).value();
  return true;
}

void DeviceSession::ForwardLog() {
  if (table().is_mock() || !table().Has(acl::CallId::aclAppLog)) return;
  const acl::Table* acl_table = &table();
  const auto forward = [acl_table](const log::RecordView& record) {
    const std::string text(record.text);
    acl_table->aclAppLog(LevelForAcl(record.level), "pypto", record.file != nullptr ? record.file : "",
                         static_cast<uint32_t>(record.line), "%s", text.c_str());
  };
  log_sink_ = log::AddSink(log::MakeCallbackSink(forward, log::Level::kWarning));
}

}  // namespace pypto::runtime
