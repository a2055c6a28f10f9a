// Copies and fills.
#include <numeric>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

class Copies : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    Open();
    std::iota(host.begin(), host.end(), uint8_t{0});
    device = Malloc(host.size());
  }
  aclError ToDevice(size_t bytes, aclrtMemcpyKind kind = kMemcpyHostToDevice) {
    return acl.aclrtMemcpy(device, host.size(), host.data(), bytes, kind);
  }
  void* Pinned(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(acl.aclrtMallocHost(&pointer, bytes), 0);
    return pointer;
  }

  std::vector<uint8_t> host = std::vector<uint8_t>(256);
  void* device = nullptr;
};

TEST_F(Copies, RoundTripAndDeviceToDevice) {
  EXPECT_EQ(ToDevice(256), 0);
  void* second = Malloc(256);
  EXPECT_EQ(acl.aclrtMemcpy(second, 256, device, 256, kMemcpyDeviceToDevice), 0);
  EXPECT_EQ(BytesOf(second, 256), host);
  std::vector<uint8_t> copy(256);
  EXPECT_EQ(acl.aclrtMemcpy(copy.data(), 256, host.data(), 256, kMemcpyHostToHost), 0);
  EXPECT_EQ(copy, host);
}

TEST_F(Copies, OffsetsInsideOneBlockAreFine) {
  EXPECT_EQ(acl.aclrtMemcpy(static_cast<char*>(device) + 100, 56, host.data(), 56, kMemcpyHostToDevice), 0);
  EXPECT_EQ(BytesOf(static_cast<char*>(device) + 100, 3), (std::vector<uint8_t>{0, 1, 2}));
}

TEST_F(Copies, RangesOutsideABlockAreRefused) {
  EXPECT_EQ(acl.aclrtMemcpy(device, 300, std::vector<uint8_t>(300).data(), 257, kMemcpyHostToDevice),
            kErrorRtParamInvalid);
  EXPECT_THAT(RecentText(), testing::HasSubstr("+256)"));
  std::vector<uint8_t> back(300);
  EXPECT_EQ(acl.aclrtMemcpy(back.data(), 300, static_cast<char*>(device) + 200, 57, kMemcpyDeviceToHost),
            kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtFree(device), 0);
  EXPECT_EQ(ToDevice(1), kErrorRtParamInvalid);
  EXPECT_THAT(RecentText(), testing::HasSubstr("no live block"));
}

TEST_F(Copies, ArgumentsAreChecked) {
  EXPECT_EQ(acl.aclrtMemcpy(nullptr, 8, host.data(), 8, kMemcpyHostToDevice), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMemcpy(device, 8, nullptr, 8, kMemcpyHostToDevice), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMemcpy(device, 7, host.data(), 8, kMemcpyHostToDevice), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtMemcpy(device, 0, host.data(), 0, kMemcpyHostToDevice), 0);
  EXPECT_EQ(ToDevice(8, kMemcpyInnerDeviceToDevice), kErrorInvalidParam);
  EXPECT_EQ(ToDevice(8, kMemcpyInterDeviceToDevice), kErrorInvalidParam);
  EXPECT_EQ(ToDevice(8, static_cast<aclrtMemcpyKind>(77)), kErrorInvalidParam);
}

TEST_F(Copies, TheKindOfASynchronousCopyIsAHint) {
  EXPECT_EQ(ToDevice(256, kMemcpyDeviceToHost), 0);
  EXPECT_EQ(BytesOf(device, 256), host);
  EXPECT_EQ(ToDevice(256, kMemcpyDefault), 0);
}

TEST_F(Copies, QueuedCopiesCheckTheKind) {
  void* pinned = Pinned(256);
  const auto copy = [&](void* to, void* from, uint32_t kind) {
    return acl.aclrtMemcpyAsync(to, 256, from, 256, static_cast<aclrtMemcpyKind>(kind), nullptr);
  };
  EXPECT_EQ(copy(device, pinned, kMemcpyDeviceToHost), kErrorRtParamInvalid);
  EXPECT_EQ(copy(pinned, device, kMemcpyHostToDevice), kErrorRtParamInvalid);
  EXPECT_EQ(copy(pinned, host.data(), kMemcpyHostToHost), kErrorRtFeatureNotSupported);
  EXPECT_EQ(copy(device, pinned, kMemcpyHostToDevice), 0);
  EXPECT_EQ(copy(pinned, device, kMemcpyDefault), 0);
  EXPECT_EQ(copy(device, pinned, kMemcpyInterDeviceToDevice), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMemcpyAsync(device, 256, pinned, 0, kMemcpyHostToDevice, nullptr), 0);
  EXPECT_EQ(acl.aclrtMemcpyAsync(device, 256, pinned, 257, kMemcpyHostToDevice, nullptr), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtMemcpyAsync(device, 512, pinned, 257, kMemcpyHostToDevice, nullptr), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Copies, PinnedCopiesAreQueuedAndReadTheHostBytesWhenTheyRun) {
  auto* pinned = static_cast<uint8_t*>(Pinned(4));
  pinned[0] = 1;
  void* stream = NewStream();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.aclrtMemcpyAsync(device, 4, pinned, 4, kMemcpyHostToDevice, stream), 0);
  pinned[0] = 2;
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(BytesOf(device, 1)[0], 2);
}

TEST_F(Copies, KindFiveCapturesTheHostBytesAtTheCall) {
  void* stream = NewStream();
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.aclrtMemcpyAsync(device, 256, host.data(), 256, kMemcpyHostToBufferToDevice, stream), 0);
  const auto before = host;
  host.assign(256, 9);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(BytesOf(device, 256), before);
}

TEST_F(Copies, PageableCopiesDrainTheStreamFirst) {
  void* stream = NewStream();
  void* source = Malloc(1);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(source), uint64_t{1}, uint64_t{42}}, stream), 0);
  uint8_t result = 0;
  EXPECT_EQ(acl.aclrtMemcpyAsync(&result, 1, source, 1, kMemcpyDeviceToHost, stream), 0);
  EXPECT_EQ(result, 42) << "done when the call returns";
  aclrtStreamStatus status = kStreamNotReady;
  EXPECT_EQ(acl.aclrtStreamQuery(stream, &status), 0);
  EXPECT_EQ(status, kStreamComplete);
}

TEST_F(Copies, ACopyWhoseMemoryWasFreedBeforeItRanIsADeviceError) {
  void* stream = NewStream();
  void* other = Malloc(256);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  EXPECT_EQ(acl.aclrtMemcpyAsync(other, 256, device, 256, kMemcpyDeviceToDevice, stream), 0);
  EXPECT_EQ(acl.aclrtFree(device), 0);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtSystemDma);
}

TEST_F(Copies, Fills) {
  EXPECT_EQ(acl.aclrtMemset(device, 256, 0x1ff, 100), 0) << "a byte value";
  const auto bytes = BytesOf(device, 101);
  EXPECT_EQ(bytes[99], 0xff);
  EXPECT_EQ(acl.aclrtMemset(device, 256, 5, 100), 0);
  EXPECT_EQ(BytesOf(device, 1)[0], 5);
  EXPECT_EQ(acl.aclrtMemset(device, 10, 0, 11), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtMemset(device, 1000, 0, 257), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtMemset(device, 10, 0, 0), 0);
  EXPECT_EQ(acl.aclrtMemset(nullptr, 10, 0, 10), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMemset(host.data(), 10, 0, 10), kErrorRtParamInvalid) << "plain host memory";
  auto* pinned = static_cast<uint8_t*>(Pinned(10));
  EXPECT_EQ(acl.aclrtMemset(pinned, 10, 6, 10), 0);
  EXPECT_EQ(pinned[9], 6);
  EXPECT_EQ(acl.aclrtMemsetAsync(device, 256, 7, 256, nullptr), 0);
  EXPECT_EQ(acl.aclrtMemsetAsync(device, 256, 7, 257, nullptr), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  EXPECT_THAT(BytesOf(device, 256), testing::Each(7));
}

TEST_F(Copies, StreamsOfAnotherContextAreRefused) {
  void* stream = NewStream();
  void* own = nullptr;
  EXPECT_EQ(acl.aclrtCreateContext(&own, 0), 0);
  EXPECT_EQ(acl.aclrtMemcpyAsync(device, 256, host.data(), 256, kMemcpyHostToDevice, stream), kErrorRtStreamContext);
  EXPECT_EQ(acl.aclrtMemsetAsync(device, 256, 0, 256, stream), kErrorRtStreamContext);
}

}  // namespace
}  // namespace pypto::mock_test
