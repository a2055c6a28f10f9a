// Events: record points, waits, times.
#include <cmath>
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

class Events : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    Open();
  }
  aclrtEventRecordedStatus Status(void* event) {
    aclrtEventRecordedStatus status = kEventRecordedNotReady;
    EXPECT_EQ(acl.aclrtQueryEventStatus(event, &status), 0);
    return status;
  }
  void* PlainEvent() {
    void* event = nullptr;
    EXPECT_EQ(acl.aclrtCreateEvent(&event), 0);
    return event;
  }
};

TEST_F(Events, FlagsAreChecked) {
  void* event = nullptr;
  EXPECT_EQ(acl.aclrtCreateEventWithFlag(&event, 0), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtCreateEventWithFlag(&event, kEventExternal), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtCreateEventExWithFlag(&event, 0x80), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtCreateEventExWithFlag(nullptr, kEventSync), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtCreateEventWithFlag(&event, kEventTimeLine), 0);
  EXPECT_EQ(acl.aclrtDestroyEvent(event), 0);
  EXPECT_EQ(acl.aclrtDestroyEvent(event), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtDestroyEvent(nullptr), kErrorInvalidParam);
}

TEST_F(Events, NeverRecorded) {
  EXPECT_EQ(Status(NewEvent()), kEventRecordedComplete);
  EXPECT_EQ(Status(PlainEvent()), kEventRecordedNotReady);
  EXPECT_EQ(acl.aclrtSynchronizeEvent(NewEvent()), 0);
  EXPECT_EQ(acl.aclrtStreamWaitEvent(nullptr, NewEvent()), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Events, RecordingIsTheKick) {
  void* stream = NewStream();
  void* byte = Malloc(1);
  void* event = NewEvent();
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{4}}, stream), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, stream), 0);
  while (Status(event) == kEventRecordedNotReady) std::this_thread::yield();
  EXPECT_EQ(BytesOf(byte, 1)[0], 4);
  EXPECT_EQ(acl.aclrtSynchronizeEvent(event), 0);
}

TEST_F(Events, OneStreamWaitsForAnother) {
  void* first = NewStream();
  void* second = NewStream();
  void* a = Malloc(1);
  void* b = Malloc(1);
  EXPECT_EQ(acl.aclrtMemset(a, 1, 1, 1), 0);
  void* event = NewEvent();
  const Gate gate = NewGate();
  void* pinned = nullptr;
  EXPECT_EQ(acl.aclrtMallocHost(&pinned, 1), 0);
  *static_cast<uint8_t*>(pinned) = 2;
  EXPECT_EQ(acl.aclrtLaunchHostFunc(
                first,
                [](void* word) {
                  while (static_cast<std::atomic<uint32_t>*>(word)->load() == 0) std::this_thread::yield();
                },
                gate.host),
            0);
  EXPECT_EQ(acl.aclrtMemcpyAsync(a, 1, pinned, 1, kMemcpyHostToDevice, first), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, first), 0);
  EXPECT_EQ(acl.aclrtStreamWaitEvent(second, event), 0);
  EXPECT_EQ(Launch(Kernel("copy"), std::array{Word(b), Word(a), uint64_t{1}}, second), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(second, 20), kErrorRtStreamSyncTimeout);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(second), 0);
  EXPECT_EQ(BytesOf(b, 1)[0], 2);
}

TEST_F(Events, AWaitKeepsTheRecordPointOfItsCall) {
  void* slow = NewStream();
  void* fast = NewStream();
  void* waiting = NewStream();
  void* event = NewEvent();
  const Gate gate = NewGate();
  EXPECT_EQ(acl.aclrtLaunchHostFunc(
                slow,
                [](void* word) {
                  while (static_cast<std::atomic<uint32_t>*>(word)->load() == 0) std::this_thread::yield();
                },
                gate.host),
            0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, slow), 0);
  EXPECT_EQ(acl.aclrtStreamWaitEvent(waiting, event), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, fast), 0) << "recorded again elsewhere";
  EXPECT_EQ(acl.aclrtSynchronizeEvent(event), 0) << "the last record counts";
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(waiting, 20), kErrorRtStreamSyncTimeout);
  EXPECT_EQ(acl.aclrtDestroyEvent(event), 0) << "may go before it completes";
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(waiting), 0);
}

TEST_F(Events, TimeoutOfAnEvent) {
  void* stream = NewStream();
  void* event = NewEvent();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeEventWithTimeout(event, 5), kErrorRtEventSyncTimeout);
  EXPECT_EQ(acl.aclrtSynchronizeEventWithTimeout(event, 0), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSynchronizeEventWithTimeout(event, -3), kErrorRtParamInvalid);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeEventWithTimeout(event, -1), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
}

TEST_F(Events, AStreamsWaitCanTimeOut) {
  void* first = NewStream();
  void* second = NewStream();
  void* event = NewEvent();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, first), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, first), 0);
  EXPECT_EQ(acl.aclrtStreamWaitEventWithTimeout(second, event, -1), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtStreamWaitEventWithTimeout(second, event, 1), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(second), kErrorRtWaitTimeout);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(first), 0);
}

TEST_F(Events, ElapsedTimeIsInMillisecondsAndStepsOf20Nanoseconds) {
  void* start = NewEvent();
  void* end = NewEvent();
  EXPECT_EQ(acl.aclrtRecordEvent(start, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  acl.mock_advance_clock(250'000'000);
  EXPECT_EQ(acl.aclrtRecordEvent(end, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  float ms = 0;
  EXPECT_EQ(acl.aclrtEventElapsedTime(&ms, start, end), 0);
  EXPECT_GE(ms, 250.0f);
  EXPECT_LT(ms, 10250.0f);
  EXPECT_EQ(acl.aclrtEventElapsedTime(&ms, end, start), kErrorRtEventStampReversed);
  uint64_t first = 0;
  uint64_t second = 0;
  EXPECT_EQ(acl.aclrtEventGetTimestamp(start, &first), 0);
  EXPECT_EQ(acl.aclrtEventGetTimestamp(end, &second), 0);
  EXPECT_GE(second - first, 250'000u) << "microseconds";
  EXPECT_EQ(acl.mock_clock_ns() % 20, 0);
}

TEST_F(Events, ElapsedTimeNeedsTwoCompletedTimingEvents) {
  void* timed = NewEvent();
  void* untimed = NewEvent(kEventSync);
  void* recorded = NewEvent();
  EXPECT_EQ(acl.aclrtRecordEvent(recorded, nullptr), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(untimed, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  float ms = 0;
  EXPECT_EQ(acl.aclrtEventElapsedTime(&ms, recorded, timed), kErrorRtEventNotRecorded);
  EXPECT_EQ(acl.aclrtEventElapsedTime(&ms, untimed, recorded), kErrorRtEventStampInvalid);
  EXPECT_EQ(acl.aclrtEventElapsedTime(nullptr, recorded, timed), kErrorInvalidParam);
  const Gate gate = NewGate();
  void* stream = NewStream();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(timed, stream), 0);
  EXPECT_EQ(acl.aclrtEventElapsedTime(&ms, recorded, timed), kErrorRtInternal) << "not complete";
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(acl.aclrtEventElapsedTime(&ms, recorded, timed), 0);
}

TEST_F(Events, ExtendedEventsAreRefusedByTheOldCalls) {
  void* extended = NewEvent();
  aclrtEventWaitStatus status = kEventWaitNotReady;
  EXPECT_EQ(acl.aclrtResetEvent(extended, nullptr), kErrorRtFeatureNotSupported);
  EXPECT_EQ(acl.aclrtQueryEventWaitStatus(extended, &status), kErrorRtFeatureNotSupported);
  EXPECT_EQ(acl.aclrtStreamWaitEvent(nullptr, NewEvent(kEventTimeLine)), kErrorRtParamInvalid) << "no SYNC flag";
  void* plain = PlainEvent();
  EXPECT_EQ(acl.aclrtQueryEventWaitStatus(plain, &status), 0);
  EXPECT_EQ(status, kEventWaitComplete);
  EXPECT_EQ(acl.aclrtRecordEvent(plain, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeEvent(plain), 0);
  EXPECT_EQ(Status(plain), kEventRecordedComplete);
  EXPECT_EQ(acl.aclrtResetEvent(plain, nullptr), 0);
  EXPECT_EQ(Status(plain), kEventRecordedNotReady);
}

TEST_F(Events, EventsCarryTheErrorOfTheirStream) {
  void* stream = NewStream();
  void* event = NewEvent();
  EXPECT_EQ(Launch(Kernel("fault"), std::array{uint64_t{0}}, stream), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeEvent(event), kErrorRtAiCoreException);
}

TEST_F(Events, ObjectsOfAnotherContextAreRefused) {
  void* event = NewEvent();
  void* own = nullptr;
  EXPECT_EQ(acl.aclrtCreateContext(&own, 0), 0);
  EXPECT_EQ(acl.aclrtRecordEvent(event, nullptr), kErrorRtStreamContext);
  EXPECT_EQ(acl.aclrtStreamWaitEvent(nullptr, event), kErrorRtStreamContext);
  EXPECT_EQ(acl.aclrtDestroyEvent(event), kErrorRtStreamContext);
}

TEST_F(Events, LimitOfEvents) {
  void* event = nullptr;
  for (uint32_t i = 0; i < 65536; ++i) ASSERT_EQ(acl.aclrtCreateEventExWithFlag(&event, kEventSync), 0) << i;
  void* one_more = nullptr;
  EXPECT_EQ(acl.aclrtCreateEvent(&one_more), kErrorRtNoEventResource);
  EXPECT_EQ(acl.aclrtDestroyEvent(event), 0);
  EXPECT_EQ(acl.aclrtCreateEvent(&one_more), 0);
}

}  // namespace
}  // namespace pypto::mock_test
