// Streams and host functions.
#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"
#include "pypto/mock_acl/wait_here.h"

namespace pypto::acl_abi {

using mock::CallId;
using mock::Context;
using mock::Enter;
using mock::EnterFast;
using mock::Fail;
using mock::Instance;
using mock::ResolveStream;
using mock::Stream;
using mock::Task;
using mock::ThreadState;

namespace {

constexpr uint32_t kKnownStreamFlags =
    kStreamFastLaunch | kStreamFastSync | kStreamPersistent | kStreamHuge | kStreamCpuSchedule | kStreamDeviceUseOnly;

aclError Create(ThreadState& thread, uint32_t flags, aclrtStream* stream) {
  Context* context = nullptr;
  const aclError code = mock::ResolveContext(thread, &context);
  return code != kSuccess ? code : Instance::Get().CreateStream(*context, flags, stream);
}

aclError Destroy(ThreadState& thread, aclrtStream handle, bool wait) {
  MOCK_REQUIRE(handle);
  Stream* stream = nullptr;
  const aclError code = ResolveStream(thread, handle, &stream);
  if (code != kSuccess) return code;
  if (stream == stream->context()->default_stream) {
    return Fail(kErrorRtParamInvalid, "the default stream ends with its context");
  }
  return Instance::Get().DestroyStream(*stream, wait);
}

aclError SetFailureMode(Stream& stream, uint64_t mode) {
  if (mode != kFailureModeContinue && mode != kFailureModeStop) {
    return Fail(kErrorRtParamInvalid, "failure mode %llu is unknown", static_cast<unsigned long long>(mode));
  }
  if (&stream == stream.context()->default_stream) {
    return Fail(kErrorRtParamInvalid, "the failure mode of the default stream cannot be set");
  }
  if (stream.failure_mode_set) return Fail(kErrorRtParamInvalid, "the failure mode can be set once only");
  stream.failure_mode_set = true;
  if (mode == kFailureModeStop) stream.context()->stop_on_failure.store(true);
  return kSuccess;
}

}  // namespace

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return Enter(
      CallId::aclrtCreateStream,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(stream);
        return Create(thread, 0, stream);
      },
      stream);
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return Enter(
      CallId::aclrtCreateStreamWithConfig,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(stream);
        if ((flag & kStreamCpuSchedule) != 0 && (flag & kStreamDeviceUseOnly) != 0) {
          return Fail(kErrorRtParamInvalid, "stream flags 0x%x cannot be combined", flag);
        }
        return Create(thread, flag & kKnownStreamFlags, stream);
      },
      stream, priority, flag);
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return Enter(CallId::aclrtDestroyStream, [&](ThreadState& thread) { return Destroy(thread, stream, true); }, stream);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return Enter(
      CallId::aclrtDestroyStreamForce, [&](ThreadState& thread) { return Destroy(thread, stream, false); }, stream);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return EnterFast(
      CallId::aclrtSynchronizeStream,
      [](ThreadState& thread, aclrtStream handle) __attribute__((always_inline)) -> aclError {
        Stream* found = nullptr;
        aclError code = ResolveStream(thread, handle, &found);
        if (code != kSuccess) [[unlikely]]
          return code;
        if (found->NeverWaitedFor()) [[unlikely]]
          return kSuccess;
        code = found->WaitHere();
        if (code != kSuccess) [[unlikely]]
          return mock::ReportStream(*found, code);
        return kSuccess;
      },
      stream);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout_ms) {
  return Enter(
      CallId::aclrtSynchronizeStreamWithTimeout,
      [&](ThreadState& thread) -> aclError {
        const auto deadline = mock::DeadlineAfter(timeout_ms);
        if (!deadline) return Fail(kErrorRtParamInvalid, "a time-out of %d ms is not allowed", timeout_ms);
        Stream* found = nullptr;
        aclError code = ResolveStream(thread, stream, &found);
        if (code != kSuccess || found->NeverWaitedFor()) return code;
        code = found->Synchronize(*deadline);
        return code == kSuccess ? code : mock::ReportStream(*found, code);
      },
      stream, timeout_ms);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return Enter(
      CallId::aclrtStreamQuery,
      [&](ThreadState& thread) -> aclError {
        MOCK_REQUIRE(status);
        Stream* found = nullptr;
        const aclError code = ResolveStream(thread, stream, &found);
        if (code != kSuccess) return code;
        const bool idle = found->Idle();
        if (!idle) found->KickThread();
        *status = idle ? kStreamComplete : kStreamNotReady;
        const aclError error = found->error();
        return error == kSuccess ? error : mock::ReportStream(*found, error);
      },
      stream, status);
}

aclError aclrtStreamAbort(aclrtStream stream) {
  return Enter(
      CallId::aclrtStreamAbort,
      [&](ThreadState& thread) {
        Stream* found = nullptr;
        const aclError code = ResolveStream(thread, stream, &found);
        if (code == kSuccess) found->Abort();
        return code;
      },
      stream);
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return Enter(
      CallId::aclrtSetStreamFailureMode,
      [&](ThreadState& thread) {
        Stream* found = nullptr;
        const aclError code = ResolveStream(thread, stream, &found);
        return code == kSuccess ? SetFailureMode(*found, mode) : code;
      },
      stream, mode);
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr attribute, aclrtStreamAttrValue* value) {
  return Enter(
      CallId::aclrtSetStreamAttribute,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(value);
        Stream* found = nullptr;
        const aclError code = ResolveStream(thread, stream, &found);
        if (code != kSuccess) return code;
        switch (attribute) {
          case kStreamAttrFailureMode: return SetFailureMode(*found, value->failureMode);
          case kStreamAttrFloatOverflow:
          case kStreamAttrUserTag:
          case kStreamAttrCacheOpInfo:
          case kStreamAttrPriority: return kSuccess;  // hints that change no result here
        }
        return Fail(kErrorRtParamInvalid, "unknown stream attribute %u", unsigned{attribute});
      },
      stream, attribute, value);
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
  return Enter(
      CallId::aclrtStreamGetId,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(id);
        Stream* found = nullptr;
        const aclError code = ResolveStream(thread, stream, &found);
        if (code == kSuccess) *id = found->id();
        return code;
      },
      stream, id);
}

aclError aclrtGetStreamAvailableNum(uint32_t* count) {
  return Enter(
      CallId::aclrtGetStreamAvailableNum,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(count);
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code == kSuccess) *count = mock::kMaxStreams - context->device->streams.load();
        return code;
      },
      count);
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc function, void* arguments) {
  return Enter(
      CallId::aclrtLaunchHostFunc,
      [&](ThreadState& thread) -> aclError {
        MOCK_REQUIRE(function);
        Stream* found = nullptr;
        const aclError code = ResolveStream(thread, stream, &found);
        if (code != kSuccess) return code;
        return found->Push(Stream::Kick::kYes, [&](Task& task) {
          task.kind = Task::Kind::kHostFunction;
          task.host_function = function;
          task.host_arguments = arguments;
          return kSuccess;
        });
      },
      stream, function, arguments);
}

}  // extern "C"

}  // namespace pypto::acl_abi
