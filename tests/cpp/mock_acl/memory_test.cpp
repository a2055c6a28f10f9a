// Device memory, host memory, questions about pointers.
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

constexpr size_t kKib = 1024;
constexpr size_t kMib = 1024 * 1024;

class Memory : public AclTest {
 protected:
  struct Info {
    size_t free = 0;
    size_t total = 0;
  };
  Info MemInfo(aclrtMemAttr kind = kMemHbm) {
    Info info;
    EXPECT_EQ(acl.aclrtGetMemInfo(kind, &info.free, &info.total), 0);
    return info;
  }
  // How much a request takes from the free memory.
  size_t Charge(size_t bytes, uint32_t policy) {
    const size_t before = MemInfo().free;
    void* pointer = nullptr;
    EXPECT_EQ(acl.aclrtMalloc(&pointer, bytes, static_cast<aclrtMemMallocPolicy>(policy)), 0);
    const size_t charge = before - MemInfo().free;
    EXPECT_EQ(acl.aclrtFree(pointer), 0);
    EXPECT_EQ(MemInfo().free, before);
    return charge;
  }
};

TEST_F(Memory, AddressesAreAlignedAndDistinct) {
  Open();
  std::set<uint64_t> addresses;
  for (const size_t bytes : {1ul, 63ul, 64ul, 512ul, 513ul, 4096ul, 100000ul, 1 * kMib, 5 * kMib}) {
    for (int i = 0; i < 3; ++i) {
      void* pointer = Malloc(bytes);
      EXPECT_EQ(Word(pointer) % (bytes >= 512 ? 512 : 64), 0u) << bytes;
      EXPECT_TRUE(addresses.insert(Word(pointer)).second);
    }
  }
  EXPECT_EQ(acl.mock_live_blocks(0), addresses.size());
}

TEST_F(Memory, BadRequestsAreRefused) {
  Open();
  void* pointer = nullptr;
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 0, kMallocHugeFirst), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMalloc(nullptr, 8, kMallocHugeFirst), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 8, static_cast<aclrtMemMallocPolicy>(9)), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 8, static_cast<aclrtMemMallocPolicy>(0x1100)), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 8, static_cast<aclrtMemMallocPolicy>(0x100)), 0);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, SIZE_MAX, kMallocHugeFirst), kErrorRtMemoryAllocation);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, SIZE_MAX - 40, kMallocHugeFirst), kErrorRtMemoryAllocation);
}

TEST_F(Memory, PagesAreCountedBySizeAndPolicy) {
  Open();
  EXPECT_EQ(Charge(1, kMallocHugeFirst), 4 * kKib);
  EXPECT_EQ(Charge(4096 - 32, kMallocHugeFirst), 4 * kKib);
  EXPECT_EQ(Charge(4096, kMallocHugeFirst), 8 * kKib) << "the extra 32 bytes take a page";
  EXPECT_EQ(Charge(1 * kMib - 32, kMallocHugeFirst), 1 * kMib);
  EXPECT_EQ(Charge(1 * kMib, kMallocHugeFirst), 2 * kMib);
  EXPECT_EQ(Charge(2 * kMib, kMallocHugeFirst), 4 * kMib);
  EXPECT_EQ(Charge(2 * kMib, kMallocNormalOnly), 2 * kMib + 4 * kKib);
  EXPECT_EQ(Charge(1, kMallocHugeOnly), 2 * kMib);
  EXPECT_EQ(Charge(1, kMallocHuge1GOnly), kKib * kMib);
  const size_t before = MemInfo().free;
  void* aligned = nullptr;
  EXPECT_EQ(acl.aclrtMallocAlign32(&aligned, 4096, kMallocHugeFirst), 0);
  EXPECT_EQ(before - MemInfo().free, 4 * kKib);
  void* plain = nullptr;
  EXPECT_EQ(acl.aclrtMallocWithCfg(&plain, 2 * kMib, kMallocHugeFirst, nullptr), 0);
  EXPECT_EQ(before - MemInfo().free, 2 * kMib + 4 * kKib);
}

TEST_F(Memory, BudgetIsKept) {
  const ScopedVariable memory("PYPTO_MOCK_MEMORY_MB", "64");
  Open();
  EXPECT_EQ(MemInfo().total, 64 * kMib);
  EXPECT_EQ(MemInfo().free, 64 * kMib);
  std::vector<void*> blocks;
  void* pointer = nullptr;
  aclError code = 0;
  while ((code = acl.aclrtMalloc(&pointer, 4 * kMib - 32, kMallocHugeFirst)) == 0) blocks.push_back(pointer);
  EXPECT_EQ(code, kErrorRtMemoryAllocation);
  EXPECT_EQ(blocks.size(), 16u);
  EXPECT_THAT(RecentText(), testing::HasSubstr("free 0 of 67108864"));
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 1, kMallocHugeFirst), kErrorRtMemoryAllocation);
  EXPECT_EQ(acl.aclrtFree(blocks.back()), 0);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 4 * kMib - 32, kMallocHugeFirst), 0);
}

TEST_F(Memory, HugeFirstFallsBackToSmallPagesAndHugeOnlyDoesNot) {
  const ScopedVariable memory("PYPTO_MOCK_MEMORY_MB", "3");
  Open();
  void* pointer = nullptr;
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 5 * kMib / 2, kMallocHugeOnly), kErrorRtMemoryAllocation);
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 5 * kMib / 2, kMallocHugeFirst), 0);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(acl.aclrtPointerGetAttributes(pointer, &attributes), 0);
  EXPECT_EQ(attributes.pageSize, 4096u);
}

TEST_F(Memory, KindsThatTheChipLacksAreZero) {
  Open();
  EXPECT_EQ(MemInfo(kMemDdr).total, 0u);
  EXPECT_EQ(MemInfo(kMemDdr).free, 0u);
  EXPECT_GT(MemInfo(kMemHbmHuge).total, 0u);
  size_t free = 0;
  EXPECT_EQ(acl.aclrtGetMemInfo(static_cast<aclrtMemAttr>(99), &free, &free), kErrorInvalidParam);
}

TEST_F(Memory, WrongFreesAreErrorsAndNeverCrashes) {
  Open();
  for (const size_t bytes : {100ul, 3 * kMib}) {
    void* pointer = Malloc(bytes);
    auto* inside = static_cast<char*>(pointer) + 8;
    EXPECT_EQ(acl.aclrtFree(inside), kErrorRtDriverInternal);
    EXPECT_THAT(RecentText(), testing::HasSubstr("inside"));
    EXPECT_EQ(acl.aclrtFree(pointer), 0);
    EXPECT_EQ(acl.aclrtFree(pointer), kErrorRtDriverInternal);
  }
  int on_host = 0;
  EXPECT_EQ(acl.aclrtFree(&on_host), kErrorRtDriverInternal);
  EXPECT_EQ(acl.aclrtFree(reinterpret_cast<void*>(0x1234)), kErrorRtDriverInternal);
  EXPECT_EQ(acl.aclrtFree(nullptr), kErrorInvalidParam);
  EXPECT_EQ(acl.mock_live_blocks(0), 0u);
}

TEST_F(Memory, FreshAndFreedBlocksArePoisonedAndAZeroedPageIsNeverSeen) {
  Open();
  void* pointer = Malloc(1000);
  EXPECT_THAT(BytesOf(pointer, 1000), testing::Each(MOCK_FRESH_BYTE));
  EXPECT_EQ(acl.aclrtMemset(pointer, 1000, 3, 1000), 0);
  const auto* alias = static_cast<const uint8_t*>(acl.mock_device_bytes(pointer, 1000));
  EXPECT_EQ(alias[0], 3);
  EXPECT_EQ(acl.aclrtFree(pointer), 0);
  EXPECT_EQ(alias[0], MOCK_FREED_BYTE);
  EXPECT_EQ(alias[999], MOCK_FREED_BYTE);
  void* large = Malloc(3 * kMib);
  const auto* bytes = static_cast<const uint8_t*>(acl.mock_device_bytes(large, 3 * kMib));
  EXPECT_EQ(bytes[0], MOCK_FRESH_BYTE);
  EXPECT_EQ(bytes[64 * kKib - 1], MOCK_FRESH_BYTE);
  EXPECT_EQ(bytes[3 * kMib - 1], MOCK_FRESH_BYTE);
}

TEST_F(Memory, AWriteBehindTheBlockIsFoundWhenItIsFreed) {
  Open();
  void* pointer = Malloc(100);
  auto* alias = static_cast<uint8_t*>(acl.mock_device_bytes(pointer, 100));
  EXPECT_EQ(alias[100], MOCK_GUARD_BYTE);
  alias[100] = 1;
  EXPECT_EQ(acl.aclrtFree(pointer), kErrorRtDriverInternal);
  EXPECT_THAT(RecentText(), testing::HasSubstr("behind the end"));
  EXPECT_EQ(acl.mock_guard_violations(), 1u);
  EXPECT_EQ(acl.mock_live_blocks(0), 0u) << "it is free all the same";
}

TEST_F(Memory, DeviceAddressesAreNotReadableByTheHost) {
  Open();
  auto* pointer = static_cast<volatile char*>(Malloc(64));
  const auto crashed = [](int status) { return status != 0; };
  EXPECT_EXIT((static_cast<void>(*pointer), _exit(0)), crashed, "");
}

TEST_F(Memory, HostMemory) {
  void* pointer = nullptr;
  EXPECT_EQ(acl.aclrtMallocHost(&pointer, 64), kErrorUninitialize);
  Open();
  EXPECT_EQ(acl.aclrtMallocHost(&pointer, 0), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMallocHost(nullptr, 8), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtMallocHost(&pointer, 1000), 0);
  EXPECT_EQ(Word(pointer) % 64, 0u);
  std::memset(pointer, 1, 1000);
  EXPECT_EQ(acl.mock_live_host_bytes(), 1000u);
  EXPECT_EQ(acl.aclrtFreeHost(static_cast<char*>(pointer) + 1), kErrorRtDriverInternal);
  EXPECT_EQ(acl.aclrtFreeHost(pointer), 0);
  EXPECT_EQ(acl.aclrtFreeHost(pointer), kErrorRtDriverInternal);
  EXPECT_EQ(acl.aclrtFreeHost(nullptr), kErrorInvalidParam);
  EXPECT_EQ(acl.mock_live_host_bytes(), 0u);
}

TEST_F(Memory, FreedBlocksKeepTheirPagesUntilTold) {
  Open();
  constexpr size_t kBytes = size_t{300} << 20;
  for (int i = 0; i < 3; ++i) {
    void* device = Malloc(kBytes);
    void* host = nullptr;
    EXPECT_EQ(acl.aclrtMallocHost(&host, size_t{4} << 20), 0);
    EXPECT_EQ(acl.aclrtFree(device), 0);
    EXPECT_EQ(acl.aclrtFreeHost(host), 0);
  }
  EXPECT_EQ(acl.mock_give_back_count(), 0u);
  acl.mock_give_back();
  EXPECT_EQ(acl.mock_give_back_count(), 2u) << "one of each kind";
  acl.mock_give_back();
  EXPECT_EQ(acl.mock_give_back_count(), 2u);
}

TEST_F(Memory, PointerAttributes) {
  Open();
  aclrtPtrAttributes attributes{};
  auto location_of = [&](const void* pointer) {
    EXPECT_EQ(acl.aclrtPointerGetAttributes(pointer, &attributes), 0);
    return attributes.location.type;
  };
  void* device = Malloc(3 * kMib);
  EXPECT_EQ(location_of(static_cast<char*>(device) + 5), kLocationDevice);
  EXPECT_EQ(attributes.pageSize, 2 * kMib);
  void* pinned = nullptr;
  EXPECT_EQ(acl.aclrtMallocHost(&pinned, 64), 0);
  EXPECT_EQ(location_of(static_cast<char*>(pinned) + 63), kLocationHost);
  EXPECT_EQ(location_of(&attributes), kLocationUnregistered);
  EXPECT_EQ(acl.aclrtPointerGetAttributes(nullptr, &attributes), kErrorInvalidParam);
  void* start = nullptr;
  size_t size = 0;
  EXPECT_EQ(acl.aclrtMemGetAddressRange(static_cast<char*>(device) + 77, &start, &size), 0);
  EXPECT_EQ(start, device);
  EXPECT_EQ(size, 3 * kMib);
  EXPECT_EQ(acl.aclrtMemGetAddressRange(&size, &start, &size), kErrorRtParamInvalid);
}

TEST_F(Memory, HostRegistration) {
  Open();
  std::vector<char> memory(4096);
  EXPECT_EQ(acl.aclrtHostRegisterV2(memory.data(), 4096, kHostRegisterPinned), 0);
  EXPECT_EQ(acl.aclrtHostRegisterV2(memory.data() + 10, 10, kHostRegisterPinned), kErrorRtHostRegistered);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(acl.aclrtPointerGetAttributes(memory.data() + 4095, &attributes), 0);
  EXPECT_EQ(attributes.location.type, kLocationHost);
  EXPECT_EQ(acl.aclrtHostUnregister(memory.data()), 0);
  EXPECT_EQ(acl.aclrtHostUnregister(memory.data()), kErrorRtHostNotRegistered);
  EXPECT_EQ(acl.aclrtHostRegisterV2(memory.data(), 4096, kHostRegisterMapped), kErrorRtFeatureNotSupported);
  EXPECT_EQ(acl.aclrtHostRegisterV2(memory.data(), 4096, 0x40), kErrorRtParamInvalid);
}

TEST_F(Memory, AllocationAttributes) {
  const ScopedVariable devices("PYPTO_MOCK_DEVICES", "2");
  Open();
  EXPECT_EQ(acl.aclrtSetDevice(1), 0);
  aclrtMallocAttribute attribute{};
  attribute.attr = kMallocAttrDeviceId;
  attribute.value.deviceId = 0;
  aclrtMallocConfig config{&attribute, 1};
  void* pointer = nullptr;
  EXPECT_EQ(acl.aclrtMallocWithCfg(&pointer, 100, kMallocHugeFirst, &config), 0);
  EXPECT_EQ(acl.mock_live_bytes(0), 100u);
  attribute.value.deviceId = 9;
  EXPECT_EQ(acl.aclrtMallocWithCfg(&pointer, 100, kMallocHugeFirst, &config), kErrorRtInvalidDeviceId);
  attribute.attr = static_cast<aclrtMallocAttrType>(50);
  EXPECT_EQ(acl.aclrtMallocWithCfg(&pointer, 100, kMallocHugeFirst, &config), kErrorRtParamInvalid);
  config.attrs = nullptr;
  EXPECT_EQ(acl.aclrtMallocWithCfg(&pointer, 100, kMallocHugeFirst, &config), kErrorRtParamInvalid);
}

TEST_F(Memory, FreeWithDeviceSyncWaitsFirst) {
  Open();
  void* block = Malloc(16);
  void* other = Malloc(16);
  EXPECT_EQ(Launch(Kernel("copy"), std::array{Word(other), Word(block), uint64_t{16}}, nullptr), 0);
  EXPECT_EQ(acl.aclrtFreeWithDevSync(block), 0) << "the queued kernel still found its memory";
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Memory, ThreadsAllocateAndFreeTogether) {
  Open();
  constexpr int kThreads = 4;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (acl.aclrtSetDevice(0) != 0) ++wrong;
      for (size_t i = 0; i < 300; ++i) {
        const size_t bytes = (i * 977 + static_cast<size_t>(t) * 131) % 70000 + 1;
        void* pointer = nullptr;
        const std::vector<uint8_t> mine(bytes, static_cast<uint8_t>(t));
        std::vector<uint8_t> back(bytes);
        if (acl.aclrtMalloc(&pointer, bytes, kMallocHugeFirst) != 0) ++wrong;
        if (acl.aclrtMemcpy(pointer, bytes, mine.data(), bytes, kMemcpyHostToDevice) != 0) ++wrong;
        if (acl.aclrtMemcpy(back.data(), bytes, pointer, bytes, kMemcpyDeviceToHost) != 0) ++wrong;
        if (back != mine || acl.aclrtFree(pointer) != 0) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(acl.mock_live_blocks(0), 0u);
}

}  // namespace
}  // namespace pypto::mock_test
