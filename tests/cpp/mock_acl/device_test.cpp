// Devices and contexts.
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

class Devices : public AclTest {};

TEST_F(Devices, CountComesFromTheEnvironment) {
  const ScopedVariable devices("PYPTO_MOCK_DEVICES", "3");
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  uint32_t count = 0;
  EXPECT_EQ(acl.aclrtGetDeviceCount(&count), 0);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(acl.aclrtSetDevice(2), 0);
  EXPECT_EQ(acl.aclrtSetDevice(3), kErrorRtInvalidDeviceId);
  EXPECT_EQ(acl.aclrtSetDevice(-1), kErrorRtInvalidDeviceId);
  int32_t current = -1;
  EXPECT_EQ(acl.aclrtGetDevice(&current), 0);
  EXPECT_EQ(current, 2);
}

TEST_F(Devices, NoDeviceIsAnError) {
  const ScopedVariable devices("PYPTO_MOCK_DEVICES", "0");
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  uint32_t count = 5;
  EXPECT_EQ(acl.aclrtGetDeviceCount(&count), kErrorRtNoDevice);
  EXPECT_EQ(acl.aclrtGetSocName(), nullptr);
}

TEST_F(Devices, CurrentDeviceBelongsToTheThread) {
  Open();
  std::thread([&] {
    int32_t id = -1;
    EXPECT_EQ(acl.aclrtGetDevice(&id), kErrorRtContextNull);
    void* pointer = nullptr;
    EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), kErrorRtContextNull);
    EXPECT_EQ(acl.aclrtSetDevice(0), 0);
    EXPECT_EQ(acl.aclrtGetDevice(&id), 0);
    EXPECT_EQ(id, 0);
  }).join();
}

TEST_F(Devices, PrimaryContextIsSharedAndCounted) {
  Open();
  void* mine = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&mine), 0);
  std::thread([&] {
    EXPECT_EQ(acl.aclrtSetDevice(0), 0);
    void* other = nullptr;
    EXPECT_EQ(acl.aclrtGetCurrentContext(&other), 0);
    EXPECT_EQ(other, mine);
  }).join();
  int32_t active = 0;
  EXPECT_EQ(acl.aclrtResetDevice(0), 0);
  EXPECT_EQ(acl.aclrtGetPrimaryCtxState(0, nullptr, &active), 0);
  EXPECT_EQ(active, 1) << "set twice, reset once";
  EXPECT_EQ(acl.aclrtGetCurrentContext(&mine), 0);
  EXPECT_EQ(acl.aclrtResetDevice(0), 0);
  EXPECT_EQ(acl.aclrtGetPrimaryCtxState(0, nullptr, &active), 0);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(acl.aclrtGetCurrentContext(&mine), kErrorRtContextNull);
  EXPECT_EQ(acl.aclrtResetDevice(0), kErrorRtInvalidDeviceId) << "more resets than sets";
}

TEST_F(Devices, ResetForceDropsEverythingAtOnce) {
  Open();
  EXPECT_EQ(acl.aclrtSetDevice(0), 0);
  void* own = nullptr;
  EXPECT_EQ(acl.aclrtCreateContext(&own, 0), 0);
  NewStream();
  Malloc(64);
  EXPECT_EQ(acl.aclrtResetDeviceForce(0), 0);
  EXPECT_EQ(acl.aclrtSetCurrentContext(own), kErrorRtContextNull);
  EXPECT_EQ(acl.mock_live_handles(MOCK_HANDLE_CONTEXT), 0u);
  EXPECT_EQ(acl.mock_live_handles(MOCK_HANDLE_STREAM), 0u);
  EXPECT_EQ(acl.mock_live_bytes(0), 0u);
  EXPECT_EQ(acl.aclrtSetDevice(0), 0);
  EXPECT_NE(Malloc(64), nullptr);
}

TEST_F(Devices, OwnContexts) {
  Open();
  void* primary = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&primary), 0);
  void* own = nullptr;
  EXPECT_EQ(acl.aclrtCreateContext(&own, 5), kErrorRtInvalidDeviceId);
  EXPECT_EQ(acl.aclrtCreateContext(nullptr, 0), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtCreateContext(&own, 0), 0);
  void* current = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&current), 0);
  EXPECT_EQ(current, own) << "a new context becomes current";
  void* stream = NewStream();
  EXPECT_EQ(acl.aclrtSetCurrentContext(primary), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtStreamContext);
  EXPECT_EQ(acl.aclrtDestroyStream(stream), kErrorRtStreamContext);
  EXPECT_EQ(acl.aclrtDestroyContext(primary), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtDestroyContext(own), 0);
  EXPECT_EQ(acl.aclrtDestroyContext(own), kErrorRtContextNull);
  EXPECT_EQ(acl.aclrtSetCurrentContext(own), kErrorRtContextNull);
  EXPECT_EQ(acl.aclrtSetCurrentContext(nullptr), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtInvalidHandle) << "its streams went with it";
}

TEST_F(Devices, ContextSwitchesTheDeviceToo) {
  const ScopedVariable devices("PYPTO_MOCK_DEVICES", "2");
  Open();
  void* first = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&first), 0);
  EXPECT_EQ(acl.aclrtSetDevice(1), 0);
  void* on_second = Malloc(64);
  EXPECT_EQ(acl.aclrtSetCurrentContext(first), 0);
  int32_t id = -1;
  EXPECT_EQ(acl.aclrtGetDevice(&id), 0);
  EXPECT_EQ(id, 0);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(acl.aclrtPointerGetAttributes(on_second, &attributes), 0);
  EXPECT_EQ(attributes.location.id, 1u);
  EXPECT_EQ(acl.mock_live_bytes(0), 0u);
  EXPECT_EQ(acl.mock_live_bytes(1), 64u);
  EXPECT_EQ(acl.mock_live_bytes(-1), 64u);
}

TEST_F(Devices, HandlesOfAnyOtherKindAreRefused) {
  Open();
  void* context = nullptr;
  EXPECT_EQ(acl.aclrtGetCurrentContext(&context), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(context), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtSetCurrentContext(NewStream()), kErrorRtContextNull);
  int on_host = 0;
  EXPECT_EQ(acl.aclrtSynchronizeStream(&on_host), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtDestroyEvent(&on_host), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtBinaryUnLoad(&on_host), kErrorRtInvalidHandle);
}

TEST_F(Devices, DefaultStreamHasAHandle) {
  void* stream = nullptr;
  EXPECT_EQ(acl.aclrtCtxGetCurrentDefaultStream(&stream), kErrorUninitialize);
  Open();
  EXPECT_EQ(acl.aclrtCtxGetCurrentDefaultStream(&stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(acl.aclrtDestroyStream(stream), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtDestroyStream(nullptr), kErrorInvalidParam);
}

TEST_F(Devices, Questions) {
  const ScopedVariable devices("PYPTO_MOCK_DEVICES", "2");
  const ScopedVariable cores("PYPTO_MOCK_CORES", "5");
  const ScopedVariable memory("PYPTO_MOCK_MEMORY_MB", "512");
  Open();
  aclrtRunMode mode = kRunModeDevice;
  EXPECT_EQ(acl.aclrtGetRunMode(&mode), 0);
  EXPECT_EQ(mode, kRunModeHost);
  int64_t value = 0;
  EXPECT_EQ(acl.aclrtGetDeviceInfo(0, kDevAttrAiCoreCount, &value), 0);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(acl.aclrtGetDeviceInfo(0, kDevAttrTotalMemoryBytes, &value), 0);
  EXPECT_EQ(value, int64_t{512} << 20);
  EXPECT_EQ(acl.aclrtGetDeviceInfo(0, kDevAttrNpuArch, &value), 0);
  EXPECT_EQ(value, kNpuArch910B);
  EXPECT_EQ(acl.aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(9999), &value), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtGetDeviceInfo(2, kDevAttrAiCoreCount, &value), kErrorRtInvalidDeviceId);
  aclrtDeviceStatus status = kDeviceAbnormal;
  EXPECT_EQ(acl.aclrtQueryDeviceStatus(1, &status), 0);
  EXPECT_EQ(status, kDeviceNormal);
  int32_t can = 0;
  EXPECT_EQ(acl.aclrtDeviceCanAccessPeer(&can, 0, 1), 0);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(acl.aclrtDeviceCanAccessPeer(&can, 1, 1), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtDeviceEnablePeerAccess(1, 0), 0);
  EXPECT_EQ(acl.aclrtDeviceEnablePeerAccess(1, 4), kErrorFlagUnsupported);
  EXPECT_EQ(acl.aclrtDeviceEnablePeerAccess(0, 0), kErrorInvalidParam);
  int32_t least = 0;
  int32_t greatest = 9;
  EXPECT_EQ(acl.aclrtDeviceGetStreamPriorityRange(&least, &greatest), 0);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
}

TEST_F(Devices, SynchronizeDeviceWaitsForAllStreams) {
  EXPECT_EQ(acl.aclrtSynchronizeDevice(), kErrorUninitialize);
  Open();
  void* a = NewStream();
  void* b = NewStream();
  void* block = Malloc(2);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(block), uint64_t{1}, uint64_t{7}}, a), 0);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(block) + 1, uint64_t{1}, uint64_t{8}}, b), 0);
  EXPECT_EQ(acl.aclrtSynchronizeDevice(), 0);
  EXPECT_THAT(BytesOf(block, 2), testing::ElementsAre(7, 8));
  EXPECT_EQ(acl.aclrtSynchronizeDeviceWithTimeout(-2), kErrorRtParamInvalid);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, a), 0);
  EXPECT_EQ(acl.aclrtSynchronizeDeviceWithTimeout(5), kErrorRtStreamSyncTimeout);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeDeviceWithTimeout(-1), 0);
}

}  // namespace
}  // namespace pypto::mock_test
