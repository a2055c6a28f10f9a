// Streams: order, waiting, queries, aborts, limits, host functions.
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

class Streams : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    Open();
  }
  aclrtStreamStatus Query(void* stream) {
    aclrtStreamStatus status = kStreamComplete;
    EXPECT_EQ(acl.aclrtStreamQuery(stream, &status), 0);
    return status;
  }
  // The thread that a kernel ran on.
  int64_t RunnerOf(void* stream, void* word) {
    EXPECT_EQ(Launch(Kernel("who"), std::array{Word(word)}, stream), 0);
    EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
    int64_t runner = 0;
    EXPECT_EQ(acl.aclrtMemcpy(&runner, sizeof(runner), word, sizeof(runner), kMemcpyDeviceToHost), 0);
    return runner;
  }
};

TEST_F(Streams, SynchroniseRunsTheQueueOnTheCallingThread) {
  void* stream = NewStream();
  void* word = Malloc(8);
  // The stream's thread may find a task that lay for two of its polls; it cannot find every one.
  bool inline_once = false;
  for (int i = 0; i < 50 && !inline_once; ++i) inline_once = RunnerOf(stream, word) == gettid();
  EXPECT_TRUE(inline_once);
}

TEST_F(Streams, NoThreadExistsBeforeTheFirstTask) {
  void* stream = NewStream();
  void* pointer = Malloc(100);
  EXPECT_EQ(acl.aclrtMemset(pointer, 100, 0, 100), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(acl.mock_stream_threads(), 0u);
  EXPECT_EQ(Launch(Kernel("nop"), std::array{uint64_t{0}}, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(acl.aclrtDestroyStream(stream), 0);
  EXPECT_EQ(acl.mock_stream_threads(), 0u) << "the thread ends with its stream";
}

TEST_F(Streams, ALaunchNobodyWaitsForRunsAllTheSame) {
  void* stream = NewStream();
  void* byte = Malloc(1);
  for (const uint64_t value : {uint64_t{1}, uint64_t{2}}) {
    EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, value}, stream), 0);
    while (acl.mock_kernels_run() != value) std::this_thread::yield();
    // The second round finds the thread asleep: it sleeps after 100 ms without a task.
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
}

TEST_F(Streams, TasksOfAStreamRunInOrder) {
  void* stream = NewStream();
  void* block = Malloc(4000);
  for (uint64_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(block) + i, 4000 - i, i & 0xff}, stream), 0);
  }
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  const auto bytes = BytesOf(block, 4000);
  for (size_t i = 0; i < 3000; ++i) ASSERT_EQ(bytes[i], i & 0xff) << i;
}

TEST_F(Streams, QueryTellsBusyFromDone) {
  void* stream = NewStream();
  EXPECT_EQ(Query(stream), kStreamComplete);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(Query(stream), kStreamNotReady);
  gate.Release();
  while (Query(stream) == kStreamNotReady) std::this_thread::yield();
  EXPECT_EQ(acl.aclrtStreamQuery(stream, nullptr), kErrorInvalidParam);
}

TEST_F(Streams, TimeoutLeavesTheStreamUsable) {
  void* stream = NewStream();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(stream, 5), kErrorRtStreamSyncTimeout);
  EXPECT_THAT(RecentText(), testing::HasSubstr("busy"));
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(stream, 0), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(stream, -2), kErrorRtParamInvalid);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(stream, 10000), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStreamWithTimeout(stream, -1), 0);
}

TEST_F(Streams, AbortEndsRunningAndQueuedWork) {
  void* stream = NewStream();
  void* byte = Malloc(1);
  EXPECT_EQ(acl.aclrtMemset(byte, 1, 1, 1), 0);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{2}}, stream), 0);
  void* event = NewEvent();
  EXPECT_EQ(acl.aclrtRecordEvent(event, stream), 0);
  void* context = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&context), 0);
  aclError waiter = 0;
  std::thread thread([&] {
    EXPECT_EQ(acl.aclrtSetCurrentContext(context), 0);
    waiter = acl.aclrtSynchronizeStream(stream);
  });
  EXPECT_EQ(acl.aclrtStreamAbort(stream), 0);
  thread.join();
  EXPECT_EQ(waiter, kErrorRtStreamAbort);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtStreamAbort);
  EXPECT_EQ(Launch(Kernel("nop"), std::array{uint64_t{0}}, stream), kErrorRtStreamAbort);
  EXPECT_EQ(acl.aclrtSynchronizeEvent(event), kErrorRtStreamAbort) << "nobody waits for ever";
  EXPECT_EQ(BytesOf(byte, 1)[0], 1) << "queued work is dropped";
  EXPECT_EQ(acl.aclrtDestroyStream(stream), 0);
  void* next = NewStream();
  EXPECT_EQ(RunnerOf(next, Malloc(8)) > 0, true) << "the context stays usable";
}

TEST_F(Streams, DestroyWaitsAndDestroyForceDoesNot) {
  void* byte = Malloc(1);
  void* stream = NewStream();
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{5}}, stream), 0);
  EXPECT_EQ(acl.aclrtDestroyStream(stream), 0);
  EXPECT_EQ(BytesOf(byte, 1)[0], 5);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtDestroyStream(stream), kErrorRtInvalidHandle);
  void* endless = NewStream();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, endless), 0);
  EXPECT_EQ(acl.aclrtDestroyStreamForce(endless), 0);
  EXPECT_EQ(acl.mock_live_handles(MOCK_HANDLE_STREAM), 0u);
}

TEST_F(Streams, AFaultIsReportedAtTheNextSynchroniseAndStays) {
  void* stream = NewStream();
  void* healthy = NewStream();
  void* byte = Malloc(1);
  EXPECT_EQ(Launch(Kernel("fault"), std::array{uint64_t{0}}, stream), 0) << "a launch returns before it runs";
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtAiCoreException);
  EXPECT_THAT(RecentText(), testing::HasSubstr("asked to fail"));
  EXPECT_EQ(acl.aclrtSynchronizeStream(healthy), 0);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{3}}, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtAiCoreException) << "until the context is reset";
  EXPECT_EQ(BytesOf(byte, 1)[0], 3) << "failure mode 0 goes on";
  EXPECT_EQ(acl.aclrtSynchronizeDevice(), kErrorRtAiCoreException);
  aclrtStreamStatus status = kStreamNotReady;
  EXPECT_EQ(acl.aclrtStreamQuery(stream, &status), kErrorRtAiCoreException);
}

TEST_F(Streams, AFaultyDefaultStreamIsHealedByReset) {
  EXPECT_EQ(Launch(Kernel("fault"), std::array{uint64_t{0}}, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
  EXPECT_EQ(acl.aclrtResetDevice(0), 0);
  EXPECT_EQ(acl.aclrtSetDevice(0), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Streams, FailureModeOneStopsAllStreamsOfTheContext) {
  void* stream = NewStream();
  void* other = NewStream();
  void* byte = Malloc(1);
  EXPECT_EQ(acl.aclrtMemset(byte, 1, 1, 1), 0);
  EXPECT_EQ(acl.aclrtSetStreamFailureMode(nullptr, 1), kErrorRtParamInvalid) << "not for the default stream";
  EXPECT_EQ(acl.aclrtSetStreamFailureMode(stream, 2), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSetStreamFailureMode(stream, 1), 0);
  EXPECT_EQ(acl.aclrtSetStreamFailureMode(stream, 0), kErrorRtParamInvalid) << "settable once";
  EXPECT_EQ(Launch(Kernel("fault"), std::array{uint64_t{0}}, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtAiCoreException);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{2}}, other), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(other), kErrorRtAiCoreException);
  EXPECT_THAT(RecentText(), testing::HasSubstr("another stream"));
  EXPECT_EQ(BytesOf(byte, 1)[0], 1);
}

TEST_F(Streams, AttributesAndIds) {
  void* stream = NewStream();
  aclrtStreamAttrValue value{};
  EXPECT_EQ(acl.aclrtSetStreamAttribute(stream, kStreamAttrUserTag, &value), 0);
  EXPECT_EQ(acl.aclrtSetStreamAttribute(stream, kStreamAttrFailureMode, &value), 0);
  EXPECT_EQ(acl.aclrtSetStreamAttribute(stream, kStreamAttrFailureMode, &value), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSetStreamAttribute(stream, static_cast<aclrtStreamAttr>(90), &value), kErrorRtParamInvalid);
  int32_t first = 0;
  int32_t second = 0;
  EXPECT_EQ(acl.aclrtStreamGetId(stream, &first), 0);
  EXPECT_EQ(acl.aclrtStreamGetId(nullptr, &second), 0);
  EXPECT_NE(first, second);
}

TEST_F(Streams, ConfiguredStreams) {
  void* stream = nullptr;
  EXPECT_EQ(acl.aclrtCreateStreamWithConfig(&stream, 99, kStreamFastLaunch | kStreamFastSync | 0x8000), 0)
      << "priorities are clamped, unknown bits dropped";
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(acl.aclrtCreateStreamWithConfig(&stream, 0, kStreamCpuSchedule | kStreamDeviceUseOnly),
            kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtCreateStreamWithConfig(nullptr, 0, 0), kErrorInvalidParam);
  void* persistent = nullptr;
  EXPECT_EQ(acl.aclrtCreateStreamWithConfig(&persistent, 0, kStreamPersistent), 0);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, persistent), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(persistent), 0) << "returns at once";
  gate.Release();
}

TEST_F(Streams, LimitOfStreams) {
  uint32_t left = 0;
  EXPECT_EQ(acl.aclrtGetStreamAvailableNum(&left), 0);
  EXPECT_EQ(left, 1984u);
  std::vector<void*> streams;
  for (uint32_t i = 0; i < 1984; ++i) streams.push_back(NewStream());
  void* one_more = nullptr;
  EXPECT_EQ(acl.aclrtCreateStream(&one_more), kErrorRtNoStreamResource);
  EXPECT_EQ(acl.aclrtGetStreamAvailableNum(&left), 0);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(acl.aclrtDestroyStream(streams[7]), 0);
  EXPECT_EQ(acl.aclrtCreateStream(&one_more), 0);
  EXPECT_NE(one_more, streams[7]) << "a handle is never used twice";
}

TEST_F(Streams, HostFunctionsRunOnAnotherThreadInOrder) {
  struct Seen {
    AclLibrary* acl;
    pid_t thread = 0;
    uint8_t value = 0;
    aclError inside = 0;
    const uint8_t* byte = nullptr;
  } seen{&acl};
  void* stream = NewStream();
  void* byte = Malloc(1);
  seen.byte = static_cast<const uint8_t*>(acl.mock_device_bytes(byte, 1));
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{11}}, stream), 0);
  EXPECT_EQ(acl.aclrtLaunchHostFunc(
                stream,
                [](void* user) {
                  auto* result = static_cast<Seen*>(user);
                  result->thread = gettid();
                  result->value = *result->byte;
                  void* pointer = nullptr;
                  result->inside = result->acl->aclrtMalloc(&pointer, 8, kMallocHugeFirst);
                },
                &seen),
            0);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{12}}, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_NE(seen.thread, 0);
  EXPECT_NE(seen.thread, gettid());
  EXPECT_EQ(seen.value, 11) << "the stream waits for the function";
  EXPECT_EQ(seen.inside, kErrorRtContextNull) << "its thread has no context";
  EXPECT_EQ(BytesOf(byte, 1)[0], 12);
  EXPECT_EQ(acl.aclrtLaunchHostFunc(stream, nullptr, nullptr), kErrorInvalidParam);
}

TEST_F(Streams, AHostFunctionThatWaitsForItsStreamIsRefused) {
  struct Call {
    AclLibrary* acl;
    void* context = nullptr;
    void* stream = nullptr;
    aclError code = 0;
  } call{&acl};
  EXPECT_EQ(acl.aclrtGetCurrentContext(&call.context), 0);
  call.stream = NewStream();
  EXPECT_EQ(acl.aclrtLaunchHostFunc(
                call.stream,
                [](void* user) {
                  auto* c = static_cast<Call*>(user);
                  c->acl->aclrtSetCurrentContext(c->context);
                  c->code = c->acl->aclrtSynchronizeStream(c->stream);
                },
                &call),
            0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(call.stream), 0);
  EXPECT_EQ(call.code, kErrorRtFeatureNotSupported);
}

TEST_F(Streams, SeveralThreadsShareAStream) {
  void* context = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&context), 0);
  void* stream = NewStream();
  void* fill = Kernel("fill");
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kRounds = 400;
  void* block = Malloc(kThreads);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (acl.aclrtSetCurrentContext(context) != 0) ++wrong;
      for (uint64_t i = 0; i < kRounds; ++i) {
        if (Launch(fill, std::array{Word(block) + t, uint64_t{1}, i & 0xff}, stream) != 0) ++wrong;
        if (acl.aclrtSynchronizeStream(stream) != 0) ++wrong;
        if (BytesOf(static_cast<char*>(block) + t, 1)[0] != (i & 0xff)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(acl.mock_kernels_run(), kThreads * kRounds);
}

// A thread that closes its context and opens another one, and a thread that waits for the whole device, meet in streams
// that are gone or taken again by then.
TEST_F(Streams, TheDeviceIsSynchronisedWhileContextsOpenAndClose) {
  const ScopedVariable devices("PYPTO_MOCK_DEVICES", "2");
  acl.mock_reset();
  Open();
  constexpr int kRounds = 100;
  std::atomic<int> open_threads{2};
  std::atomic<int> wrong{0};
  const auto expect = [&](aclError code) { wrong += code != 0 ? 1 : 0; };
  const auto open_and_close = [&](int32_t device) {
    for (int i = 0; i < kRounds; ++i) {
      void* context = nullptr;
      void* stream = nullptr;
      void* block = nullptr;
      expect(acl.aclrtCreateContext(&context, device));
      expect(acl.aclrtCreateStream(&stream));
      expect(acl.aclrtMalloc(&block, 4096, kMallocHugeFirst));
      NewEvent();
      LoadTestKernels();
      expect(acl.aclrtMemsetAsync(block, 4096, 1, 4096, stream));
      expect(i % 2 == 0 ? acl.aclrtSynchronizeStream(stream) : acl.aclrtDestroyStream(stream));
      expect(acl.aclrtFree(block));
      expect(acl.aclrtDestroyContext(context));  // with what is left in it
    }
    --open_threads;
  };
  std::thread same_device([&] { open_and_close(0); });
  std::thread other_device([&] { open_and_close(1); });
  int binaries = 0;
  while (open_threads.load() > 0) {
    expect(acl.aclrtSynchronizeDevice());
    void* binary = LoadTestKernels();
    expect(acl.aclrtBinaryUnLoad(binary));
    ++binaries;
    acl.mock_live_handles(MOCK_HANDLE_STREAM);
  }
  same_device.join();
  other_device.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(binaries, 0);
  for (const auto kind : {MOCK_HANDLE_STREAM, MOCK_HANDLE_EVENT, MOCK_HANDLE_BINARY}) {
    EXPECT_EQ(acl.mock_live_handles(kind), 0u) << kind;
  }
}

}  // namespace
}  // namespace pypto::mock_test
