// Events.
#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::CallId;
using mock::Context;
using mock::Enter;
using mock::Event;
using mock::Fail;
using mock::Instance;
using mock::RecordRef;
using mock::ResolveEvent;
using mock::ResolveStream;
using mock::Stream;
using mock::Task;
using mock::ThreadState;

namespace {

constexpr uint32_t kPlainEventFlags = kEventSync | kEventCaptureStreamProgress | kEventTimeLine;
constexpr uint32_t kExtendedEventFlags = kPlainEventFlags | kEventDeviceUseOnly | kEventExternal | kEventIpc;
constexpr int64_t kNsPerSecond = 1000000000;

aclError Create(ThreadState& thread, uint32_t flags, uint32_t known, bool extended, aclrtEvent* event) {
  MOCK_REQUIRE(event);
  if (flags == 0 || (flags & ~known) != 0) {
    return Fail(kErrorRtParamInvalid, "event flags 0x%x: at least one of 0x%x and no other", flags, known);
  }
  Context* context = nullptr;
  const aclError code = mock::ResolveContext(thread, &context);
  return code != kSuccess ? code : Instance::Get().CreateEvent(*context, flags, extended, event);
}

aclError RefuseExtended(const char* call) {
  return Fail(kErrorRtFeatureNotSupported, "%s does not take events made by aclrtCreateEventExWithFlag", call);
}

aclError ResolveBoth(ThreadState& thread, aclrtStream stream, aclrtEvent event, Stream** found_stream, Event** found) {
  const aclError code = ResolveStream(thread, stream, found_stream);
  return code != kSuccess ? code : ResolveEvent(thread, event, found);
}

aclError WaitEvent(ThreadState& thread, aclrtStream stream_handle, aclrtEvent event_handle, int64_t limit_ns) {
  MOCK_REQUIRE(event_handle);
  Stream* stream = nullptr;
  Event* event = nullptr;
  const aclError code = ResolveBoth(thread, stream_handle, event_handle, &stream, &event);
  if (code != kSuccess) return code;
  if (event->extended && (event->flags & kEventSync) == 0) {
    return Fail(kErrorRtParamInvalid, "the event was made without the SYNC flag");
  }
  RecordRef record = event->Latest();
  if (!record) return kSuccess;  // nothing was recorded: nothing to wait for
  {
    std::lock_guard lock(event->lock);
    event->latest_wait = record;
  }
  return stream->Push(Stream::Kick::kYes, [&](Task& task) {
    task.kind = Task::Kind::kWait;
    task.record = std::move(record);
    task.wait_limit_ns = limit_ns;
    task.wait_deadline = mock::kNoDeadline;
    return kSuccess;
  });
}

aclError Synchronize(ThreadState& thread, aclrtEvent handle, mock::Deadline deadline) {
  MOCK_REQUIRE(handle);
  Event* event = nullptr;
  const aclError code = ResolveEvent(thread, handle, &event);
  if (code != kSuccess) return code;
  const RecordRef record = event->Latest();
  if (!record) return kSuccess;
  if (!record.done() && thread.in_host_function) {
    return Fail(kErrorRtFeatureNotSupported, "a host function must not wait for an event");
  }
  if (!Instance::Get().records.completed().WaitUntil(deadline, [&] { return record.done(); })) {
    return Fail(kErrorRtEventSyncTimeout, "the event has not completed");
  }
  return record->error == kSuccess ? kSuccess : Fail(record->error, "the event's stream had failed before the event");
}

// The completed latest record of an event that keeps time.
aclError Stamped(ThreadState& thread, aclrtEvent handle, const char* which, RecordRef* record) {
  Event* event = nullptr;
  const aclError code = ResolveEvent(thread, handle, &event);
  if (code != kSuccess) return code;
  if ((event->flags & kEventTimeLine) == 0) {
    return Fail(kErrorRtEventStampInvalid, "the %s event was made without the TIME_LINE flag", which);
  }
  *record = event->Latest();
  if (!*record) return Fail(kErrorRtEventNotRecorded, "the %s event was never recorded", which);
  if (!record->done()) return Fail(kErrorRtInternal, "the %s event has not completed", which);
  return kSuccess;
}

}  // namespace

extern "C" {

aclError aclrtCreateEvent(aclrtEvent* event) {
  return Enter(
      CallId::aclrtCreateEvent,
      [&](ThreadState& thread) { return Create(thread, kEventSync | kEventTimeLine, kPlainEventFlags, false, event); },
      event);
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return Enter(
      CallId::aclrtCreateEventWithFlag,
      [&](ThreadState& thread) { return Create(thread, flag, kPlainEventFlags, false, event); }, event, flag);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return Enter(
      CallId::aclrtCreateEventExWithFlag,
      [&](ThreadState& thread) { return Create(thread, flag, kExtendedEventFlags, true, event); }, event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return Enter(
      CallId::aclrtDestroyEvent,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(event);
        Event* found = nullptr;
        const aclError code = ResolveEvent(thread, event, &found);
        if (code == kSuccess) Instance::Get().DestroyEvent(*found);
        return code;
      },
      event);
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return Enter(
      CallId::aclrtRecordEvent,
      [&](ThreadState& thread) -> aclError {
        MOCK_REQUIRE(event);
        Stream* found_stream = nullptr;
        Event* found = nullptr;
        aclError code = ResolveBoth(thread, stream, event, &found_stream, &found);
        if (code != kSuccess) return code;
        RecordRef record = Instance::Get().records.Make();
        RecordRef kept = record;
        code = found_stream->Push(Stream::Kick::kYes, [&](Task& task) {
          task.kind = Task::Kind::kRecord;
          task.record = std::move(record);
          return kSuccess;
        });
        if (code != kSuccess) return code;
        std::lock_guard lock(found->lock);
        found->latest = std::move(kept);
        return kSuccess;
      },
      event, stream);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return Enter(
      CallId::aclrtResetEvent,
      [&](ThreadState& thread) -> aclError {
        MOCK_REQUIRE(event);
        Stream* found_stream = nullptr;
        Event* found = nullptr;
        const aclError code = ResolveBoth(thread, stream, event, &found_stream, &found);
        if (code != kSuccess) return code;
        if (found->extended) return RefuseExtended("aclrtResetEvent");
        std::lock_guard lock(found->lock);
        found->latest.Drop();
        found->latest_wait.Drop();
        return kSuccess;
      },
      event, stream);
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return Enter(
      CallId::aclrtQueryEventStatus,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(event);
        MOCK_REQUIRE(status);
        Event* found = nullptr;
        const aclError code = ResolveEvent(thread, event, &found);
        if (code != kSuccess) return code;
        const RecordRef record = found->Latest();
        const bool complete = record ? record.done() : found->extended;
        *status = complete ? kEventRecordedComplete : kEventRecordedNotReady;
        return kSuccess;
      },
      event, status);
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return Enter(
      CallId::aclrtQueryEventWaitStatus,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(event);
        MOCK_REQUIRE(status);
        Event* found = nullptr;
        const aclError code = ResolveEvent(thread, event, &found);
        if (code != kSuccess) return code;
        if (found->extended) return RefuseExtended("aclrtQueryEventWaitStatus");
        std::lock_guard lock(found->lock);
        const bool complete = !found->latest_wait || found->latest_wait.done();
        *status = complete ? kEventWaitComplete : kEventWaitNotReady;
        return kSuccess;
      },
      event, status);
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return Enter(
      CallId::aclrtSynchronizeEvent, [&](ThreadState& thread) { return Synchronize(thread, event, mock::kNoDeadline); },
      event);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout_ms) {
  return Enter(
      CallId::aclrtSynchronizeEventWithTimeout,
      [&](ThreadState& thread) {
        const auto deadline = mock::DeadlineAfter(timeout_ms);
        if (!deadline) return Fail(kErrorRtParamInvalid, "a time-out of %d ms is not allowed", timeout_ms);
        return Synchronize(thread, event, *deadline);
      },
      event, timeout_ms);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return Enter(
      CallId::aclrtStreamWaitEvent, [&](ThreadState& thread) { return WaitEvent(thread, stream, event, 0); }, stream,
      event);
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout_s) {
  return Enter(
      CallId::aclrtStreamWaitEventWithTimeout,
      [&](ThreadState& thread) {
        if (timeout_s < 0) return Fail(kErrorRtParamInvalid, "a time-out of %d s is not allowed", timeout_s);
        return WaitEvent(thread, stream, event, timeout_s * kNsPerSecond);
      },
      stream, event, timeout_s);
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  return Enter(
      CallId::aclrtEventElapsedTime,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(ms);
        MOCK_REQUIRE(start);
        MOCK_REQUIRE(end);
        RecordRef first;
        RecordRef last;
        aclError code = Stamped(thread, start, "start", &first);
        if (code == kSuccess) code = Stamped(thread, end, "end", &last);
        if (code != kSuccess) return code;
        if (last->stamp_ns < first->stamp_ns) {
          return Fail(kErrorRtEventStampReversed, "the end event completed before the start event");
        }
        *ms = static_cast<float>(static_cast<double>(last->stamp_ns - first->stamp_ns) * 1e-6);
        return kSuccess;
      },
      ms, start, end);
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return Enter(
      CallId::aclrtEventGetTimestamp,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(event);
        MOCK_REQUIRE(timestamp);
        RecordRef record;
        const aclError code = Stamped(thread, event, "queried", &record);
        if (code == kSuccess) *timestamp = static_cast<uint64_t>(record->stamp_ns / 1000);
        return code;
      },
      event, timestamp);
}

}  // extern "C"

}  // namespace pypto::acl_abi
