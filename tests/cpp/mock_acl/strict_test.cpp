// Strict mode: nothing runs inline, order between streams is shaken, poison and guards are wider.
#include <unistd.h>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

class Strict : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    Open();
  }
  ScopedVariable strict{"PYPTO_MOCK_STRICT", "7"};
};

TEST_F(Strict, NothingRunsOnTheCallingThread) {
  void* stream = NewStream();
  void* word = Malloc(8);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Launch(Kernel("who"), std::array{Word(word)}, stream), 0);
    EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
    int64_t runner = 0;
    EXPECT_EQ(acl.aclrtMemcpy(&runner, sizeof(runner), word, sizeof(runner), kMemcpyDeviceToHost), 0);
    EXPECT_NE(runner, gettid());
  }
}

TEST_F(Strict, StreamsOvertakeEachOtherButKeepTheirOwnOrder) {
  void* a = NewStream();
  void* b = NewStream();
  void* log = Malloc(2);
  void* fill = Kernel("fill");
  for (uint64_t i = 0; i < 60; ++i) {
    for (const uint64_t value : {uint64_t{1}, uint64_t{2}, uint64_t{3}}) {
      EXPECT_EQ(Launch(fill, std::array{Word(log), uint64_t{1}, value}, a), 0);
      EXPECT_EQ(Launch(fill, std::array{Word(log) + 1, uint64_t{1}, value}, b), 0);
    }
    EXPECT_EQ(acl.aclrtSynchronizeStream(i % 2 == 0 ? a : b), 0);
    EXPECT_EQ(BytesOf(static_cast<char*>(log) + i % 2, 1)[0], 3);
    EXPECT_EQ(acl.aclrtSynchronizeDevice(), 0);
    EXPECT_THAT(BytesOf(log, 2), testing::ElementsAre(3, 3));
  }
}

TEST_F(Strict, EventsOrderStreams) {
  void* a = NewStream();
  void* b = NewStream();
  void* event = NewEvent();
  void* source = Malloc(1);
  void* destination = Malloc(1);
  for (uint64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(source), uint64_t{1}, i}, a), 0);
    EXPECT_EQ(acl.aclrtRecordEvent(event, a), 0);
    EXPECT_EQ(acl.aclrtStreamWaitEvent(b, event), 0);
    EXPECT_EQ(Launch(Kernel("copy"), std::array{Word(destination), Word(source), uint64_t{1}}, b), 0);
    EXPECT_EQ(acl.aclrtSynchronizeStream(b), 0);
    ASSERT_EQ(BytesOf(destination, 1)[0], i);
  }
}

TEST_F(Strict, PoisonIsWholeUpTo64MibAndTheGuardIsWide) {
  constexpr size_t kBytes = 3 << 20;
  void* block = Malloc(kBytes);
  auto* alias = static_cast<uint8_t*>(acl.mock_device_bytes(block, kBytes));
  EXPECT_EQ(alias[kBytes / 2], MOCK_FRESH_BYTE);
  EXPECT_EQ(alias[kBytes + 4095], MOCK_GUARD_BYTE);
  alias[kBytes + 4095] = 0;
  EXPECT_EQ(acl.aclrtFree(block), kErrorRtDriverInternal);
  EXPECT_EQ(acl.mock_guard_violations(), 1u);
}

TEST_F(Strict, FreedAddressesRest) {
  void* first = Malloc(100);
  EXPECT_EQ(acl.aclrtFree(first), 0);
  for (int i = 0; i < 100; ++i) {
    void* next = Malloc(100);
    EXPECT_NE(next, first);
    EXPECT_EQ(acl.aclrtFree(next), 0);
  }
}

TEST_F(Strict, ZeroIsOff) {
  const ScopedVariable off("PYPTO_MOCK_STRICT", "0");
  acl.mock_reset();
  Open();
  void* first = Malloc(100);
  EXPECT_EQ(acl.aclrtFree(first), 0);
  EXPECT_EQ(Malloc(100), first) << "reused at once";
}

}  // namespace
}  // namespace pypto::mock_test
