// From handles that callers pass to live objects, with the code and text of each refusal.
#pragma once

#include "pypto/mock_acl/instance.h"

namespace pypto::mock {

inline acl_abi::aclError ResolveContext(const ThreadState& thread, Context** context) {
  *context = CurrentContext(thread);
  return *context != nullptr ? acl_abi::kSuccess : NoContext();
}

acl_abi::aclError RefuseStream(const Stream* stream);
acl_abi::aclError RefuseEvent(const Event* event);

// The live object of a handle, or null; the one that the thread named last without a look into the table.
Stream* FindStreamInTable(ThreadState& thread, const void* handle);
Function* FindFunctionInTable(ThreadState& thread, const void* handle);
[[gnu::always_inline]] inline Stream* FindStream(ThreadState& thread, const void* handle) {
  Stream* last = thread.last_stream;
  return last != nullptr && last->pointer() == handle ? last : FindStreamInTable(thread, handle);
}
[[gnu::always_inline]] inline Function* FindFunction(ThreadState& thread, const void* handle) {
  Function* last = thread.last_function;
  return last != nullptr && last->pointer() == handle ? last : FindFunctionInTable(thread, handle);
}

// Null is the default stream of the current context.
[[gnu::always_inline]] inline acl_abi::aclError ResolveStream(ThreadState& thread, const void* handle,
                                                              Stream** stream) {
  Context* context = CurrentContext(thread);
  if (context == nullptr) [[unlikely]]
    return NoContext();
  *stream = handle == nullptr ? context->default_stream : FindStream(thread, handle);
  if (*stream == nullptr || (*stream)->context() != context) [[unlikely]]
    return RefuseStream(*stream);
  return acl_abi::kSuccess;
}

// An event of the current context.
inline acl_abi::aclError ResolveEvent(const ThreadState& thread, const void* handle, Event** event) {
  Context* context = CurrentContext(thread);
  if (context == nullptr) [[unlikely]]
    return NoContext();
  *event = Instance::Get().events.Find(handle);
  if (*event == nullptr || (*event)->context != context) [[unlikely]]
    return RefuseEvent(*event);
  return acl_abi::kSuccess;
}

// Milliseconds, -1 for ever; nothing when the value is not allowed.
std::optional<Deadline> DeadlineAfter(int32_t timeout_ms);

// The argument list under construction in this thread, when the handle names it.
acl_abi::aclError ResolveList(const ThreadState& thread, const void* handle, ArgumentList** list);

// The text that belongs to what a synchronise returned.
acl_abi::aclError ReportStream(const Stream& stream, acl_abi::aclError code);

}  // namespace pypto::mock
