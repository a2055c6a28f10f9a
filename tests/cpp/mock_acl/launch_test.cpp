// Binaries, functions, argument lists, launches.
#include <cstring>
#include <fstream>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

constexpr char kImage[] = "TESTKERNELS nop echo";

class Binaries : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    Open();
  }
  aclError Load(const void* data, size_t bytes, const aclrtBinaryLoadOptions* options = nullptr) {
    return acl.aclrtBinaryLoadFromData(data, bytes, options, &binary);
  }
  aclError LoadWith(aclrtBinaryLoadOptionType type, uint32_t value) {
    aclrtBinaryLoadOption option{};
    option.type = type;
    option.value.magic = value;
    const aclrtBinaryLoadOptions options{&option, 1};
    return Load(kImage, sizeof(kImage) - 1, &options);
  }
  void* binary = nullptr;
};

TEST_F(Binaries, LoadLookUpAndUnload) {
  EXPECT_EQ(Load(kImage, sizeof(kImage) - 1), 0);
  void* function = nullptr;
  EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "nop", &function), 0);
  void* again = nullptr;
  EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "nop", &again), 0);
  EXPECT_EQ(again, function);
  EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "missing", &again), kErrorRtParamInvalid);
  EXPECT_THAT(RecentText(), testing::HasSubstr("missing"));
  EXPECT_EQ(acl.aclrtBinaryGetFunctionByEntry(binary, 1, &again), 0);
  char name[8] = {};
  EXPECT_EQ(acl.aclrtGetFunctionName(again, sizeof(name), name), 0);
  EXPECT_STREQ(name, "echo");
  EXPECT_EQ(acl.aclrtGetFunctionName(again, 4, name), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtBinaryGetFunctionByEntry(binary, 2, &again), kErrorRtParamInvalid);
  int64_t type = -1;
  EXPECT_EQ(acl.aclrtGetFunctionAttribute(function, kFuncAttrKernelType, &type), 0);
  EXPECT_EQ(type, kKernelAiCore);
  void* address = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(acl.aclrtBinaryGetDevAddress(binary, &address, &bytes), 0);
  EXPECT_EQ(bytes, sizeof(kImage) - 1);
  EXPECT_EQ(acl.aclrtBinaryUnLoad(binary), 0);
  EXPECT_EQ(acl.aclrtBinaryUnLoad(binary), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "nop", &again), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtGetFunctionName(function, sizeof(name), name), kErrorRtInvalidHandle);
  EXPECT_EQ(Launch(function, std::array{uint64_t{0}}, nullptr), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.mock_live_handles(MOCK_HANDLE_FUNCTION), 0u);
  EXPECT_EQ(acl.mock_live_bytes(0), 0u) << "the binary's copy is the library's own";
}

TEST_F(Binaries, BadBinariesAndOptions) {
  EXPECT_EQ(Load("garbage", 7), kErrorRtParamInvalid);
  EXPECT_EQ(Load(kImage, 5), kErrorRtParamInvalid);
  EXPECT_EQ(Load(nullptr, 5), kErrorInvalidParam);
  EXPECT_EQ(Load(kImage, 0), kErrorInvalidParam);
  EXPECT_EQ(LoadWith(kBinaryLoadMagic, kBinaryMagicVector), 0);
  EXPECT_EQ(LoadWith(kBinaryLoadMagic, 0x1234), kErrorRtParamInvalid);
  EXPECT_EQ(LoadWith(kBinaryLoadLazy, 1), 0);
  EXPECT_EQ(LoadWith(kBinaryLoadLazy, 2), kErrorRtParamInvalid);
  EXPECT_EQ(LoadWith(kBinaryLoadCpuKernelMode, 0), kErrorRtFeatureNotSupported);
  EXPECT_EQ(LoadWith(static_cast<aclrtBinaryLoadOptionType>(40), 0), kErrorRtParamInvalid);
  const aclrtBinaryLoadOptions none{nullptr, 1};
  EXPECT_EQ(Load(kImage, sizeof(kImage) - 1, &none), kErrorRtParamInvalid);
  EXPECT_EQ(acl.mock_live_handles(MOCK_HANDLE_BINARY), 2u);
}

TEST_F(Binaries, FromAFile) {
  const std::string path = TemporaryPath("kernels.o");
  std::ofstream(path) << kImage;
  EXPECT_EQ(acl.aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binary), 0);
  aclrtBinaryLoadOption option{};
  option.type = kBinaryLoadMagic;
  option.value.magic = kBinaryMagicVector;
  aclrtBinaryLoadOptions options{&option, 1};
  EXPECT_EQ(acl.aclrtBinaryLoadFromFile(path.c_str(), &options, &binary), kErrorRtParamInvalid)
      << "a magic is refused here";
  EXPECT_EQ(acl.aclrtBinaryLoadFromFile("/nowhere.o", nullptr, &binary), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtBinaryLoadFromFile(nullptr, nullptr, &binary), kErrorInvalidParam);
  std::remove(path.c_str());
}

TEST_F(Binaries, UnloadWaitsForQueuedLaunches) {
  void* byte = Malloc(1);
  void* fill = Kernel("fill");
  void* loaded = LoadTestKernels();
  void* function = nullptr;
  EXPECT_EQ(acl.aclrtBinaryGetFunction(loaded, "fill", &function), 0);
  EXPECT_NE(function, fill);
  EXPECT_EQ(Launch(function, std::array{Word(byte), uint64_t{1}, uint64_t{9}}, NewStream()), 0);
  EXPECT_EQ(acl.aclrtBinaryUnLoad(loaded), 0);
  EXPECT_EQ(BytesOf(byte, 1)[0], 9);
}

class Launches : public Binaries {};

TEST_F(Launches, ArgumentsAreCapturedAtTheCall) {
  void* stream = NewStream();
  void* block = Malloc(24);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, stream), 0);
  std::array<uint64_t, 3> words{Word(block), 111, 222};
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(Kernel("echo"), 1, stream, nullptr, words.data(), 24, nullptr, 0), 0);
  words[1] = 999;
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  std::array<uint64_t, 3> seen{};
  EXPECT_EQ(acl.aclrtMemcpy(seen.data(), 24, block, 24, kMemcpyDeviceToHost), 0);
  EXPECT_EQ(seen[1], 111u);
}

TEST_F(Launches, PlaceHoldersPointToTheDataSentAlong) {
  struct Block {
    uint64_t destination;
    uint64_t source;  // place-holder
    uint64_t bytes;
    uint8_t data[16];
  } block{};
  void* destination = Malloc(16);
  block.destination = Word(destination);
  block.bytes = 16;
  for (uint8_t i = 0; i < 16; ++i) block.data[i] = i;
  aclrtPlaceHolderInfo holder{offsetof(Block, source), offsetof(Block, data)};
  void* copy = Kernel("copy");
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(copy, 1, nullptr, nullptr, &block, sizeof(block), &holder, 1), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  EXPECT_THAT(BytesOf(destination, 16), testing::ElementsAreArray(block.data));
  EXPECT_EQ(block.source, 0u) << "the caller's block is left alone";
  holder.addrOffset = sizeof(block);
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(copy, 1, nullptr, nullptr, &block, sizeof(block), &holder, 1),
            kErrorRtParamInvalid);
  holder = {sizeof(block) - 7, 0};
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(copy, 1, nullptr, nullptr, &block, sizeof(block), &holder, 1),
            kErrorRtParamInvalid);
  holder = {0, sizeof(block)};
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(copy, 1, nullptr, nullptr, &block, sizeof(block), &holder, 1),
            kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(copy, 1, nullptr, nullptr, &block, sizeof(block), nullptr, 1),
            kErrorRtParamInvalid);
}

TEST_F(Launches, BadLaunchesAreRefused) {
  void* nop = Kernel("nop");
  uint64_t word = 0;
  const auto launch = [&](void* function, uint32_t blocks, void* arguments, size_t bytes) {
    return acl.aclrtLaunchKernelWithHostArgs(function, blocks, nullptr, nullptr, arguments, bytes, nullptr, 0);
  };
  EXPECT_EQ(launch(nop, 0, &word, 8), kErrorRtParamInvalid);
  EXPECT_EQ(launch(nop, 65536, &word, 8), kErrorRtParamInvalid);
  EXPECT_EQ(launch(nop, 65535, &word, 8), 0);
  EXPECT_EQ(launch(nop, 1, nullptr, 8), kErrorInvalidParam);
  EXPECT_EQ(launch(nop, 1, &word, 0), kErrorRtParamInvalid);
  EXPECT_EQ(launch(nullptr, 1, &word, 8), kErrorInvalidParam);
  EXPECT_EQ(launch(NewStream(), 1, &word, 8), kErrorRtInvalidHandle);
  void* stream = NewStream();
  void* own = nullptr;
  EXPECT_EQ(acl.aclrtCreateContext(&own, 0), 0);
  EXPECT_EQ(Launch(nop, std::array{uint64_t{0}}, stream), kErrorRtStreamContext);
  EXPECT_EQ(Launch(nop, std::array{uint64_t{0}}, nullptr), kErrorRtStreamContext) << "a function of another context";
}

TEST_F(Launches, AttributesAreChecked) {
  const ScopedVariable cores("PYPTO_MOCK_CORES", "4");
  acl.mock_reset();
  Open();
  void* nop = Kernel("nop");
  uint64_t word = 0;
  const auto launch = [&](std::vector<aclrtLaunchKernelAttr> attributes, uint32_t blocks = 1) {
    aclrtLaunchKernelCfg config{attributes.data(), attributes.size()};
    return acl.aclrtLaunchKernelWithHostArgs(nop, blocks, nullptr, &config, &word, 8, nullptr, 0);
  };
  const auto attribute = [](aclrtLaunchKernelAttrId id, uint32_t value) {
    aclrtLaunchKernelAttr result{};
    result.id = id;
    result.value.dynUBufSize = value;
    return result;
  };
  EXPECT_EQ(launch({}), 0);
  EXPECT_EQ(launch({attribute(kLaunchAttrScheduleMode, 1)}, 4), 0);
  EXPECT_EQ(launch({attribute(kLaunchAttrScheduleMode, 1)}, 5), kErrorRtParamInvalid) << "more blocks than cores";
  EXPECT_EQ(launch({attribute(kLaunchAttrScheduleMode, 2)}), kErrorRtParamInvalid);
  EXPECT_EQ(launch({attribute(kLaunchAttrEngineType, 1)}), 0);
  EXPECT_EQ(launch({attribute(kLaunchAttrEngineType, 2)}), kErrorRtParamInvalid);
  EXPECT_EQ(launch({attribute(kLaunchAttrBlockTaskPrefetch, 2)}), kErrorRtParamInvalid);
  EXPECT_EQ(launch({attribute(kLaunchAttrDataDump, 2)}), kErrorRtParamInvalid);
  EXPECT_EQ(launch({attribute(kLaunchAttrDataDump, 0)}), 0);
  EXPECT_EQ(launch({attribute(kLaunchAttrDataDump, 1)}), kErrorUnsupported);
  EXPECT_EQ(launch({attribute(kLaunchAttrTimeout, 5)}), kErrorUnsupported);
  EXPECT_EQ(launch({attribute(kLaunchAttrTimeout, 5), attribute(kLaunchAttrTimeoutUs, 5)}), kErrorRtParamInvalid);
  EXPECT_EQ(launch({attribute(static_cast<aclrtLaunchKernelAttrId>(77), 0)}), kErrorRtParamInvalid);
  aclrtLaunchKernelCfg none{nullptr, 1};
  EXPECT_EQ(acl.aclrtLaunchKernelWithHostArgs(nop, 1, nullptr, &none, &word, 8, nullptr, 0), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Launches, ArgumentsOnTheDeviceAreReadWhenTheLaunchRuns) {
  void* block = Malloc(24);
  void* arguments = Malloc(24);
  std::array<uint64_t, 3> words{Word(block), 5, 6};
  EXPECT_EQ(acl.aclrtMemcpy(arguments, 24, words.data(), 24, kMemcpyHostToDevice), 0);
  EXPECT_EQ(acl.aclrtLaunchKernel(Kernel("echo"), 1, arguments, 24, nullptr), 0);
  EXPECT_EQ(acl.aclrtLaunchKernelV2(Kernel("echo"), 1, arguments, 24, nullptr, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(acl.aclrtMemcpy(words.data(), 24, block, 24, kMemcpyDeviceToHost), 0);
  EXPECT_EQ(words[2], 6u);
  EXPECT_EQ(acl.aclrtLaunchKernel(Kernel("echo"), 0, arguments, 24, nullptr), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtLaunchKernel(Kernel("echo"), 1, arguments, 25, nullptr), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtLaunchKernel(Kernel("echo"), 1, nullptr, 24, nullptr), kErrorInvalidParam);
  const Gate gate = NewGate();
  EXPECT_EQ(LaunchGate(gate, nullptr), 0);
  EXPECT_EQ(acl.aclrtLaunchKernel(Kernel("echo"), 1, arguments, 24, nullptr), 0);
  EXPECT_EQ(acl.aclrtFree(arguments), 0);
  gate.Release();
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
}

TEST_F(Launches, AKernelThatLeavesItsMemoryFaults) {
  void* block = Malloc(8);
  EXPECT_EQ(Launch(Kernel("fill"), std::array{Word(block), uint64_t{9}, uint64_t{0}}, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
}

TEST_F(Launches, UnloadingBehindAFaultLeavesNoText) {
  void* block = Malloc(8);
  void* fill = Kernel("fill");
  void* loaded = LoadTestKernels();
  EXPECT_EQ(Launch(fill, std::array{Word(block), uint64_t{9}, uint64_t{0}}, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
  EXPECT_NE(acl.aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(acl.aclrtBinaryUnLoad(loaded), 0);
  EXPECT_EQ(acl.aclGetRecentErrMsg(), nullptr);
}

TEST_F(Launches, ArgumentLists) {
  void* destination = Malloc(16);
  void* copy = Kernel("copy");
  void* list = nullptr;
  ASSERT_EQ(acl.aclrtKernelArgsInit(copy, &list), 0);
  uint64_t to = Word(destination);
  uint64_t bytes = 4;
  void* to_parameter = nullptr;
  void* from_parameter = nullptr;
  void* bytes_parameter = nullptr;
  EXPECT_EQ(acl.aclrtKernelArgsAppend(list, &to, 8, &to_parameter), 0);
  EXPECT_EQ(acl.aclrtKernelArgsAppendPlaceHolder(list, &from_parameter), 0);
  EXPECT_EQ(acl.aclrtKernelArgsAppend(list, &bytes, 8, &bytes_parameter), 0);
  void* buffer = nullptr;
  EXPECT_EQ(acl.aclrtKernelArgsGetPlaceHolderBuffer(list, to_parameter, 16, &buffer), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtKernelArgsGetPlaceHolderBuffer(list, from_parameter, 16, &buffer), 0);
  std::memcpy(buffer, "abcdefghijklmnop", 16);
  void* late = nullptr;
  EXPECT_EQ(acl.aclrtKernelArgsAppend(list, &bytes, 8, &late), kErrorRtFeatureNotSupported);
  const auto launch = [&] { return acl.aclrtLaunchKernelWithConfig(copy, 1, nullptr, nullptr, list, nullptr); };
  EXPECT_EQ(launch(), kErrorRtFeatureNotSupported) << "not finalised";
  EXPECT_EQ(acl.aclrtKernelArgsFinalize(list), 0);
  EXPECT_EQ(launch(), 0);
  bytes = 16;
  EXPECT_EQ(acl.aclrtKernelArgsParaUpdate(list, bytes_parameter, &bytes, 4), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtKernelArgsParaUpdate(list, from_parameter, &bytes, 8), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtKernelArgsParaUpdate(list, bytes_parameter, &bytes, 8), 0);
  EXPECT_EQ(launch(), kErrorRtFeatureNotSupported) << "to be finalised again";
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(BytesOf(destination, 5)[3], 'd');
  EXPECT_EQ(BytesOf(destination, 5)[4], MOCK_FRESH_BYTE) << "four bytes the first time";
  EXPECT_EQ(acl.aclrtKernelArgsFinalize(list), 0);
  EXPECT_EQ(launch(), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(BytesOf(destination, 16)[15], 'p');
}

TEST_F(Launches, ArgumentListLimitsAndHandles) {
  void* nop = Kernel("nop");
  void* first = nullptr;
  void* list = nullptr;
  uint64_t word = 0;
  void* parameter = nullptr;
  EXPECT_EQ(acl.aclrtKernelArgsInit(NewStream(), &list), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtKernelArgsInit(nop, &first), 0);
  EXPECT_EQ(acl.aclrtKernelArgsInit(nop, &list), 0);
  EXPECT_EQ(acl.aclrtKernelArgsAppend(first, &word, 8, &parameter), kErrorRtInvalidHandle) << "one list per thread";
  for (int i = 0; i < 128; ++i) EXPECT_EQ(acl.aclrtKernelArgsAppend(list, &word, 8, &parameter), 0);
  EXPECT_EQ(acl.aclrtKernelArgsAppend(list, &word, 8, &parameter), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtKernelArgsInit(nop, &list), 0);
  std::vector<char> large(40000);
  EXPECT_EQ(acl.aclrtKernelArgsAppend(list, large.data(), large.size(), &parameter), 0);
  EXPECT_EQ(acl.aclrtKernelArgsAppend(list, large.data(), large.size(), &parameter), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtKernelArgsFinalize(list), 0);
  EXPECT_EQ(acl.aclrtLaunchKernelWithConfig(nop, 0, nullptr, nullptr, list, nullptr), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtLaunchKernelWithConfig(nop, 1, nullptr, nullptr, list, &word), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtLaunchKernelWithConfig(Kernel("echo"), 1, nullptr, nullptr, list, nullptr), kErrorRtInvalidHandle)
      << "made for another function";
  EXPECT_EQ(acl.aclrtLaunchKernelWithConfig(nop, 1, nullptr, nullptr, &word, nullptr), kErrorRtInvalidHandle);
  EXPECT_EQ(acl.aclrtLaunchKernelWithConfig(nop, 1, nullptr, nullptr, list, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Launches, HardwareSyncAddressIsDeviceMemory) {
  void* address = nullptr;
  EXPECT_EQ(acl.aclrtGetHardwareSyncAddr(&address), 0);
  void* again = nullptr;
  EXPECT_EQ(acl.aclrtGetHardwareSyncAddr(&again), 0);
  EXPECT_EQ(address, again);
  EXPECT_NE(acl.mock_device_bytes(address, 8), nullptr);
  EXPECT_EQ(acl.aclrtFree(address), kErrorRtDriverInternal) << "not the caller's";
}

TEST_F(Launches, LongLoopsKeepNothing) {
  void* nop = Kernel("nop");
  void* stream = NewStream();
  const uint64_t blocks = acl.mock_live_blocks(0);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(Launch(nop, std::array<uint64_t, 32>{}, stream), 0);
    ASSERT_EQ(acl.aclrtSynchronizeStream(stream), 0);
  }
  EXPECT_EQ(acl.mock_live_blocks(0), blocks);
  EXPECT_EQ(acl.mock_kernels_run(), 10000u);
  EXPECT_EQ(acl.mock_call_count("aclrtLaunchKernelWithHostArgs"), 10000u);
}

}  // namespace
}  // namespace pypto::mock_test
