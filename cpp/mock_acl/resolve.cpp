// Texts of refused handles and reported stream errors.
#include "pypto/mock_acl/resolve.h"

namespace pypto::mock {

using namespace acl_abi;

Stream* FindStreamInTable(ThreadState& thread, const void* handle) {
  Stream* found = Instance::Get().streams.Find(handle);
  if (found != nullptr) thread.last_stream = found;
  return found;
}

Function* FindFunctionInTable(ThreadState& thread, const void* handle) {
  Function* found = Instance::Get().functions.Find(handle);
  if (found != nullptr) thread.last_function = found;
  return found;
}

aclError RefuseStream(const Stream* stream) {
  if (stream == nullptr) return Fail(kErrorRtInvalidHandle, "the stream is not alive");
  return Fail(kErrorRtStreamContext, "stream %d belongs to another context", stream->id());
}

aclError RefuseEvent(const Event* event) {
  if (event == nullptr) return Fail(kErrorRtInvalidHandle, "the event is not alive");
  return Fail(kErrorRtStreamContext, "the event belongs to another context");
}

std::optional<Deadline> DeadlineAfter(int32_t timeout_ms) {
  if (timeout_ms == -1) return kNoDeadline;
  if (timeout_ms <= 0) return std::nullopt;
  return SteadyClock::now() + std::chrono::milliseconds(timeout_ms);
}

aclError ResolveList(const ThreadState& thread, const void* handle, ArgumentList** list) {
  if (thread.arguments == nullptr || !thread.arguments->Is(handle)) {
    return Fail(kErrorRtInvalidHandle, "the argument list is not the live one of this thread");
  }
  *list = thread.arguments.get();
  return kSuccess;
}

aclError ReportStream(const Stream& stream, aclError code) {
  if (code == kErrorRtStreamSyncTimeout) return Fail(code, "stream %d is still busy", stream.id());
  // Refusals that did not come from the stream have their text already.
  if (code != stream.error()) return code;
  return Fail(code, "stream %d: %s", stream.id(), stream.error_text().c_str());
}

}  // namespace pypto::mock
