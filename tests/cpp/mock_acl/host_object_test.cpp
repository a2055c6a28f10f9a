// Shared objects of the host in the place of AI-core code.
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> HostKernels() {
  std::ifstream file(PYPTO_TEST_HOST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class HostObjectTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    Open();
  }
  aclError Load(const std::vector<uint8_t>& bytes) {
    return acl.aclrtBinaryLoadFromData(bytes.data(), bytes.size(), nullptr, &binary);
  }
  void* Function(const char* name) {
    const aclError loaded = binary == nullptr ? Load(HostKernels()) : 0;
    EXPECT_EQ(loaded, 0) << RecentText();
    void* function = nullptr;
    EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, name, &function), 0) << RecentText();
    return function;
  }
  template <typename T>
  aclError LaunchBlocks(const char* name, uint32_t blocks, T* arguments) {
    return acl.aclrtLaunchKernelWithHostArgs(Function(name), blocks, nullptr, nullptr, arguments, sizeof(T), nullptr,
                                             0);
  }
  template <typename T>
  T* HostBytes(const void* device, size_t count) {
    return static_cast<T*>(acl.mock_device_bytes(device, count * sizeof(T)));
  }

  void* binary = nullptr;
};

struct AxpyArguments {
  const void* x;
  const void* y;
  float a;
  int32_t n;
};

TEST_F(HostObjectTest, BlocksShareTheWork) {
  constexpr int32_t kCount = 1000;
  AxpyArguments arguments{Malloc(kCount * 4), Malloc(kCount * 4), 2.0F, kCount};
  auto* x = HostBytes<float>(arguments.x, kCount);
  auto* y = HostBytes<float>(arguments.y, kCount);
  for (int32_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = 1.0F;
  for (const uint32_t blocks : {1U, 7U}) ASSERT_EQ(LaunchBlocks("axpy", blocks, &arguments), 0) << RecentText();
  ASSERT_EQ(acl.aclrtSynchronizeStream(nullptr), 0) << RecentText();
  for (int32_t i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 1.0F + 4.0F * static_cast<float>(i));
  EXPECT_EQ(acl.mock_kernels_run(), 2u);
}

TEST_F(HostObjectTest, PlaceHoldersArePatchedToDeviceAddresses) {
  struct {
    void* out;
    uint64_t pointer = 0;
    uint64_t data = 0x1122334455667788;
  } arguments{Malloc(24)};
  aclrtPlaceHolderInfo holder{8, 16};
  ASSERT_EQ(acl.aclrtLaunchKernelWithHostArgs(Function("echo"), 1, nullptr, nullptr, &arguments, sizeof(arguments),
                                              &holder, 1),
            0);
  ASSERT_EQ(acl.aclrtSynchronizeStream(nullptr), 0) << RecentText();
  const auto* words = HostBytes<uint64_t>(arguments.out, 3);
  EXPECT_NE(words[1], 0u);
  EXPECT_EQ(words[2], arguments.data);
}

TEST_F(HostObjectTest, AMixKernelRunsBothPartsOfEachBlock) {
  void* sync = nullptr;
  ASSERT_EQ(acl.aclrtGetHardwareSyncAddr(&sync), 0);
  void* out = Malloc(24);
  std::array<uint64_t, 2> arguments{Word(sync), Word(out)};
  ASSERT_EQ(LaunchBlocks("mixed", 3, &arguments), 0) << RecentText();
  ASSERT_EQ(acl.aclrtSynchronizeStream(nullptr), 0) << RecentText();
  const auto* words = HostBytes<uint64_t>(out, 3);
  EXPECT_EQ(words[0], Word(sync));
  EXPECT_EQ(words[1], 3u);
  EXPECT_EQ(words[2], 3u);
  int64_t kind = -1;
  ASSERT_EQ(acl.aclrtGetFunctionAttribute(Function("mixed"), kFuncAttrKernelType, &kind), 0);
  EXPECT_EQ(kind, kKernelMix);
  ASSERT_EQ(acl.aclrtGetFunctionAttribute(Function("axpy"), kFuncAttrKernelType, &kind), 0);
  EXPECT_EQ(kind, kKernelAiCore);
}

TEST_F(HostObjectTest, ArgumentListsOfMixKernelsGetTheAddressInFront) {
  void* sync = nullptr;
  ASSERT_EQ(acl.aclrtGetHardwareSyncAddr(&sync), 0);
  void* out = Malloc(24);
  void* list = nullptr;
  void* parameter = nullptr;
  void* function = Function("mixed");
  ASSERT_EQ(acl.aclrtKernelArgsInit(function, &list), 0);
  ASSERT_EQ(acl.aclrtKernelArgsAppend(list, &out, sizeof(out), &parameter), 0);
  ASSERT_EQ(acl.aclrtKernelArgsFinalize(list), 0);
  ASSERT_EQ(acl.aclrtLaunchKernelWithConfig(function, 2, nullptr, nullptr, list, nullptr), 0) << RecentText();
  ASSERT_EQ(acl.aclrtSynchronizeStream(nullptr), 0) << RecentText();
  EXPECT_EQ(HostBytes<uint64_t>(out, 3)[0], Word(sync));
  EXPECT_EQ(HostBytes<uint64_t>(out, 3)[1], 2u);
}

TEST_F(HostObjectTest, ABadRangeEndsTheKernelAndFaultsTheLaunch) {
  void* out = Malloc(4);
  std::array<uint64_t, 1> arguments{Word(out)};
  ASSERT_EQ(LaunchBlocks("stray", 3, &arguments), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
  EXPECT_THAT(RecentText(), HasSubstr("kernel 'stray', block 1 of 3: reads 1099511627776 bytes at 0x"));
  EXPECT_EQ(*HostBytes<uint32_t>(out, 1), 2u);  // block 1 stopped there, block 2 did not run
}

TEST_F(HostObjectTest, AnAccessOfNoKindIsAFault) {
  std::array<uint64_t, 1> arguments{Word(Malloc(4))};
  ASSERT_EQ(LaunchBlocks("no_access", 1, &arguments), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
  EXPECT_THAT(RecentText(), HasSubstr("map with access 0"));
}

TEST_F(HostObjectTest, AbortingReachesTheKernel) {
  std::array<uint64_t, 1> arguments{0};
  void* stream = NewStream();
  void* event = NewEvent();
  ASSERT_EQ(acl.aclrtLaunchKernelWithHostArgs(Function("until_aborted"), 2, stream, nullptr, arguments.data(),
                                              sizeof(arguments), nullptr, 0),
            0);
  ASSERT_EQ(acl.aclrtRecordEvent(event, stream), 0);
  ASSERT_EQ(acl.aclrtStreamAbort(stream), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), kErrorRtStreamAbort);
}

TEST_F(HostObjectTest, EachLoadIsACopyOfItsOwn) {
  const std::vector<uint8_t> bytes = HostKernels();
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(Load(bytes), 0) << RecentText();
    EXPECT_NE(Function("echo"), nullptr);
    ASSERT_EQ(acl.aclrtBinaryUnLoad(binary), 0);
    // Another file under a descriptor that is used again must not be taken for the first.
    std::vector<uint8_t> other = bytes;
    const char name[] = "echo";
    for (size_t i = 0; i + sizeof(name) <= other.size(); ++i) {
      if (std::memcmp(other.data() + i, name, sizeof(name)) == 0) other[i] = 'x';
    }
    ASSERT_EQ(Load(other), 0) << RecentText();
    void* function = nullptr;
    EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "echo", &function), kErrorRtParamInvalid);
    ASSERT_EQ(acl.aclrtBinaryUnLoad(binary), 0);
    binary = nullptr;
  }
}

TEST_F(HostObjectTest, WhatIsNoObjectOfThisHostIsRefused) {
  const std::vector<uint8_t> good = HostKernels();
  const auto refused = [&](const std::vector<uint8_t>& bytes) {
    EXPECT_EQ(Load(bytes), kErrorRtParamInvalid);
    return RecentText();
  };
  EXPECT_THAT(refused({good.begin(), good.begin() + 20}), HasSubstr("the ELF header is cut off"));
  std::vector<uint8_t> foreign = good;
  foreign[offsetof(Elf64_Ehdr, e_machine)] = 0x29;
  foreign[offsetof(Elf64_Ehdr, e_machine) + 1] = 0x10;
  EXPECT_THAT(refused(foreign), HasSubstr("code for machine 4137"));
  std::vector<uint8_t> object = good;
  object[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  EXPECT_THAT(refused(object), HasSubstr("is no shared object (type 1)"));
  EXPECT_THAT(refused({good.begin(), good.begin() + 200}), HasSubstr("the ELF is cut off"));
  std::vector<uint8_t> wild = good;
  wild[offsetof(Elf64_Ehdr, e_phoff) + 6] = 0x7f;
  EXPECT_THAT(refused(wild), HasSubstr("the ELF is cut off"));
}

TEST_F(HostObjectTest, NamesMagicsAndEntriesAreChecked) {
  const std::vector<uint8_t> bytes = HostKernels();
  aclrtBinaryLoadOption magic{kBinaryLoadMagic, {}};
  magic.value.magic = 0x12345678;
  const aclrtBinaryLoadOptions options{&magic, 1};
  EXPECT_EQ(acl.aclrtBinaryLoadFromData(bytes.data(), bytes.size(), &options, &binary), kErrorRtParamInvalid);
  EXPECT_THAT(RecentText(), HasSubstr("magic 0x12345678 is unknown"));
  magic.value.magic = kBinaryMagicVector;
  ASSERT_EQ(acl.aclrtBinaryLoadFromData(bytes.data(), bytes.size(), &options, &binary), 0);
  void* function = nullptr;
  EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "absent", &function), kErrorRtParamInvalid);
  EXPECT_THAT(RecentText(), HasSubstr("the binary holds no kernel 'absent'"));
  EXPECT_EQ(acl.aclrtBinaryGetFunctionByEntry(binary, 0, &function), kErrorRtParamInvalid);
}

}  // namespace
}  // namespace pypto::mock_test
