// Faults, hooks, counters, reset.
#include <functional>
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

class SideDoor : public AclTest {};

TEST_F(SideDoor, VersionAndNames) {
  EXPECT_EQ(acl.pypto_mock_version(), PYPTO_MOCK_VERSION);
  const uint64_t count = acl.mock_function_count();
  EXPECT_STREQ(acl.mock_function_name(0), "aclGetRecentErrMsg");
  EXPECT_EQ(acl.mock_function_name(count), nullptr);
  EXPECT_EQ(acl.mock_call_count("nonsense"), 0u);
}

TEST_F(SideDoor, TheNthCallFailsOnceAndDoesNothing) {
  Open();
  EXPECT_EQ(acl.mock_fail_call("nonsense", 0, 1), MOCK_UNKNOWN_NAME);
  EXPECT_EQ(acl.mock_fail_call("aclrtMalloc", 1, kErrorRtMemoryAllocation), MOCK_OK);
  EXPECT_EQ(acl.mock_pending_faults(), 1u);
  void* pointer = nullptr;
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 0);
  EXPECT_EQ(acl.aclrtMemset(pointer, 64, 0, 64), 0);
  void* second = nullptr;
  EXPECT_EQ(acl.aclrtMalloc(&second, 64, kMallocHugeFirst), kErrorRtMemoryAllocation);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(acl.mock_live_blocks(0), 1u);
  EXPECT_THAT(RecentText(), testing::HasSubstr("injected failure of aclrtMalloc"));
  EXPECT_EQ(acl.aclrtPeekAtLastError(kLastErrorOfThread), kErrorRtMemoryAllocation);
  EXPECT_EQ(acl.mock_pending_faults(), 0u);
  EXPECT_EQ(acl.aclrtMalloc(&second, 64, kMallocHugeFirst), 0);
}

TEST_F(SideDoor, FaultsAddUpAndCanBeCleared) {
  Open();
  void* pointer = nullptr;
  EXPECT_EQ(acl.mock_fail_call("aclrtMalloc", 0, 111), MOCK_OK);
  EXPECT_EQ(acl.mock_fail_call(nullptr, 1, 222), MOCK_OK);
  EXPECT_EQ(acl.mock_fail_call("aclrtMalloc", 5, 333), MOCK_OK);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 111);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 222);
  EXPECT_EQ(acl.mock_pending_faults(), 1u);
  acl.mock_clear_faults();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 0);
}

TEST_F(SideDoor, AKernelCanBeMadeToFail) {
  Open();
  void* byte = Malloc(1);
  EXPECT_EQ(acl.mock_fail_kernel(1, kErrorRtLostHeartbeat), MOCK_OK);
  void* stream = NewStream();
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{1}}, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(byte), uint64_t{1}, uint64_t{2}}, stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtLostHeartbeat);
  EXPECT_EQ(BytesOf(byte, 1)[0], 1);
  EXPECT_EQ(acl.mock_kernels_run(), 2u);
}

TEST_F(SideDoor, HooksRunBeforeInPlaceOfAndAfter) {
  Open();
  struct Log {
    AclLibrary* acl;
    std::vector<std::string> lines;
    size_t asked = 0;
  } log{&acl, {}, 0};
  const auto before = [](void* user, const char* function, void* const* arguments) -> int32_t {
    auto* l = static_cast<Log*>(user);
    l->asked = *static_cast<const size_t*>(arguments[1]);
    l->lines.push_back(std::string("before ") + function);
    int32_t id = 0;
    l->acl->aclrtGetDevice(&id);  // calls inside a hook pass
    return 0;
  };
  const auto replace = [](void* user, const char*, void* const* arguments) -> int32_t {
    **static_cast<void***>(arguments[0]) = user;
    return 0;
  };
  const auto after = [](void* user, const char*, void* const*, int32_t code) -> int32_t {
    static_cast<Log*>(user)->lines.push_back("after " + std::to_string(code));
    return code == 0 ? 4711 : code;
  };
  void* pointer = nullptr;
  EXPECT_EQ(acl.mock_set_before("aclrtMalloc", before, &log), MOCK_OK);
  EXPECT_EQ(acl.mock_set_after("aclrtMalloc", after, &log), MOCK_OK);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 4711);
  EXPECT_EQ(acl.mock_live_blocks(0), 1u);
  EXPECT_EQ(log.asked, 64u);
  EXPECT_THAT(log.lines, testing::ElementsAre("before aclrtMalloc", "after 0"));
  EXPECT_EQ(acl.mock_set_after("aclrtMalloc", nullptr, nullptr), MOCK_OK);
  EXPECT_EQ(acl.mock_set_replace("aclrtMalloc", replace, &log), MOCK_OK);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 0);
  EXPECT_EQ(pointer, &log);
  EXPECT_EQ(acl.mock_live_blocks(0), 1u);
  acl.mock_clear_hooks();
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), 0);
  EXPECT_EQ(acl.mock_live_blocks(0), 2u);
  EXPECT_EQ(acl.mock_set_before("nonsense", before, nullptr), MOCK_UNKNOWN_NAME);
}

TEST_F(SideDoor, ABeforeHookCanRefuse) {
  Open();
  const auto refuse = [](void*, const char*, void* const*) -> int32_t { return kErrorRtFeatureNotSupported; };
  EXPECT_EQ(acl.mock_set_before("aclrtCreateStream", refuse, nullptr), MOCK_OK);
  void* stream = nullptr;
  EXPECT_EQ(acl.aclrtCreateStream(&stream), kErrorRtFeatureNotSupported);
  EXPECT_EQ(stream, nullptr);
}

TEST_F(SideDoor, Delays) {
  EXPECT_EQ(acl.mock_set_delay("aclInit", 3'000'000), MOCK_OK);
  const int64_t start = acl.mock_clock_ns();
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  EXPECT_GE(acl.mock_clock_ns() - start, 3'000'000 - 20);
}

TEST_F(SideDoor, CountersCountCallsOfAllThreads) {
  Open();
  const uint64_t all = acl.mock_call_count(nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) acl.aclrtSetDevice(99);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(acl.mock_call_count("aclrtSetDevice"), 301u) << "threads that ended count on, failed calls too";
  EXPECT_EQ(acl.mock_call_count(nullptr), all + 300);
}

TEST_F(SideDoor, ResetIsTheStateAfterLoad) {
  Open();
  Malloc(64);
  void* host = nullptr;
  EXPECT_EQ(acl.aclrtMallocHost(&host, 64), 0);
  void* stream = NewStream();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.mock_fail_call("aclInit", 0, 5), MOCK_OK);
  acl.mock_advance_clock(1'000'000'000'000);
  const int64_t advanced = acl.mock_clock_ns();
  acl.mock_reset();
  EXPECT_LT(acl.mock_clock_ns(), advanced);
  EXPECT_EQ(acl.mock_call_count(nullptr), 0u);
  EXPECT_EQ(acl.mock_kernels_run(), 0u);
  EXPECT_EQ(acl.mock_live_blocks(-1), 0u);
  EXPECT_EQ(acl.mock_live_host_bytes(), 0u);
  EXPECT_EQ(acl.mock_stream_threads(), 0u);
  for (const auto kind : {MOCK_HANDLE_CONTEXT, MOCK_HANDLE_STREAM, MOCK_HANDLE_EVENT, MOCK_HANDLE_BINARY}) {
    EXPECT_EQ(acl.mock_live_handles(kind), 0u);
  }
  EXPECT_EQ(acl.aclFinalize(), kErrorRepeatFinalize);
  EXPECT_EQ(acl.aclInit(nullptr), 0);
}

// A small session that cleans up after itself whatever fails.
aclError Session(AclLibrary& acl) {
  aclError code = acl.aclInit(nullptr);
  if (code != 0) return code;
  void* block = nullptr;
  void* stream = nullptr;
  void* event = nullptr;
  const auto work = [&] {
    for (const std::function<aclError()>& step : std::vector<std::function<aclError()>>{
             [&] { return acl.aclrtSetDevice(0); },
             [&] { return acl.aclrtMalloc(&block, 4096, kMallocHugeFirst); },
             [&] { return acl.aclrtCreateStream(&stream); },
             [&] { return acl.aclrtCreateEventExWithFlag(&event, kEventSync); },
             [&] { return acl.aclrtMemsetAsync(block, 4096, 1, 4096, stream); },
             [&] { return acl.aclrtRecordEvent(event, stream); },
             [&] { return acl.aclrtSynchronizeEvent(event); },
         }) {
      code = step();
      if (code != 0) return;
    }
  };
  work();
  const auto must = [&](const std::function<aclError()>& release) {
    while (release() == 4242) {
    }
  };
  if (event != nullptr) must([&] { return acl.aclrtDestroyEvent(event); });
  if (stream != nullptr) must([&] { return acl.aclrtDestroyStream(stream); });
  if (block != nullptr) must([&] { return acl.aclrtFree(block); });
  must([&] { return acl.aclrtResetDevice(0); });
  return code;
}

TEST_F(SideDoor, FailCallKUntilItWorks) {
  uint64_t k = 0;
  for (;; ++k) {
    acl.mock_reset();
    ASSERT_EQ(acl.mock_fail_call(nullptr, k, 4242), MOCK_OK);
    const aclError code = Session(acl);
    EXPECT_TRUE(code == 0 || code == 4242) << k;
    EXPECT_EQ(acl.mock_live_blocks(-1), 0u) << k;
    for (const auto kind : {MOCK_HANDLE_CONTEXT, MOCK_HANDLE_STREAM, MOCK_HANDLE_EVENT}) {
      EXPECT_EQ(acl.mock_live_handles(kind), 0u) << k;
    }
    if (acl.mock_pending_faults() > 0) break;
  }
  EXPECT_EQ(k, 12u) << "every call of the session failed once";
}

TEST_F(SideDoor, HooksAndFaultsFromSeveralThreads) {
  Open();
  std::atomic<int> stop{0};
  std::thread changer([&] {
    for (int i = 0; i < 300; ++i) {
      acl.mock_fail_call("aclrtGetDevice", 2, 77);
      acl.mock_set_after(
          "aclrtGetDevice", [](void*, const char*, void* const*, int32_t code) { return code; }, nullptr);
      acl.mock_clear_hooks();
      acl.mock_clear_faults();
    }
    stop = 1;
  });
  int other = 0;
  while (stop == 0) {
    int32_t id = 0;
    const aclError code = acl.aclrtGetDevice(&id);
    if (code != 0 && code != 77) ++other;
  }
  changer.join();
  EXPECT_EQ(other, 0);
}

}  // namespace
}  // namespace pypto::mock_test
