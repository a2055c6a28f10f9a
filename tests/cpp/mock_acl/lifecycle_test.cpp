// aclInit, aclFinalize, error texts, versions, log records.
#include <dirent.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

using testing::HasSubstr;

class Lifecycle : public AclTest {};

TEST_F(Lifecycle, InitTwiceSaysRepeatAndFinalizeEndsWhateverTheCount) {
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  EXPECT_EQ(acl.aclInit(""), kErrorRepeatInitialize);
  EXPECT_EQ(acl.aclFinalize(), 0);
  EXPECT_EQ(acl.aclFinalize(), kErrorRepeatFinalize);
}

TEST_F(Lifecycle, FinalizeReferenceCounts) {
  uint64_t left = 99;
  EXPECT_EQ(acl.aclFinalizeReference(&left), kErrorRepeatFinalize);
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  EXPECT_EQ(acl.aclInit(nullptr), kErrorRepeatInitialize);
  EXPECT_EQ(acl.aclFinalizeReference(&left), 0);
  EXPECT_EQ(left, 1u);
  EXPECT_EQ(acl.aclrtSetDevice(0), 0);
  EXPECT_EQ(acl.aclFinalizeReference(&left), 0);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(acl.aclrtSetDevice(0), kErrorUninitialize);
  EXPECT_EQ(acl.aclFinalizeReference(nullptr), kErrorInvalidParam);
}

TEST_F(Lifecycle, BeforeInitAndAfterFinalizeCallsSayUninitialized) {
  void* pointer = nullptr;
  EXPECT_EQ(acl.aclrtMalloc(&pointer, 64, kMallocHugeFirst), kErrorUninitialize);
  uint32_t count = 0;
  EXPECT_EQ(acl.aclrtGetDeviceCount(&count), kErrorUninitialize);
  EXPECT_EQ(acl.aclrtSetDevice(0), kErrorUninitialize);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorUninitialize);
  EXPECT_EQ(acl.aclrtGetSocName(), nullptr);
  Open();
  pointer = Malloc(64);
  EXPECT_EQ(acl.aclFinalize(), 0);
  EXPECT_EQ(acl.aclrtFree(pointer), kErrorUninitialize);
  EXPECT_EQ(acl.aclrtMemset(pointer, 64, 0, 64), kErrorUninitialize);
}

TEST_F(Lifecycle, InitAgainAfterFinalizeStartsFresh) {
  Open();
  void* old = Malloc(64);
  EXPECT_EQ(acl.aclFinalize(), 0);
  EXPECT_EQ(acl.mock_live_bytes(-1), 0u);
  Open();
  EXPECT_EQ(acl.mock_live_bytes(-1), 0u);
  EXPECT_EQ(acl.aclrtFree(old), kErrorRtDriverInternal);
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) : path_(TemporaryPath("acl.json")) { std::ofstream(path_) << text; }
  ~ConfigFile() { std::filesystem::remove(path_); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

TEST_F(Lifecycle, ConfigurationFilesAreChecked) {
  EXPECT_EQ(acl.aclInit("/nowhere/acl.json"), kErrorInvalidFile);
  EXPECT_THAT(RecentText(), HasSubstr("/nowhere/acl.json"));
  {
    const ConfigFile bad("not json");
    EXPECT_EQ(acl.aclInit(bad.path()), kErrorParseFile);
  }
  const ConfigFile good("{\"dump\": {}}\n");
  EXPECT_EQ(acl.aclInit(good.path()), 0);
  EXPECT_EQ(acl.aclFinalize(), 0);
  EXPECT_EQ(acl.aclInit(nullptr), kErrorInvalidParam) << "another configuration than the first time";
  EXPECT_EQ(acl.aclInit(good.path()), 0);
}

TEST_F(Lifecycle, ErrorTextIsPerThreadAndClearedOnRead) {
  EXPECT_EQ(acl.aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(acl.aclrtSetDevice(0), kErrorUninitialize);
  std::string other;
  std::thread([&] { other = RecentText(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_THAT(RecentText(), testing::AllOf(testing::StartsWith("EH"), HasSubstr("aclInit")));
  EXPECT_EQ(acl.aclGetRecentErrMsg(), nullptr);
}

TEST_F(Lifecycle, LastErrorIsKeptUntilItIsTaken) {
  EXPECT_EQ(acl.aclrtPeekAtLastError(kLastErrorOfThread), 0);
  Open();
  EXPECT_EQ(acl.aclrtSetDevice(7), kErrorRtInvalidDeviceId);
  EXPECT_EQ(acl.aclrtSetDevice(0), 0);
  EXPECT_EQ(acl.aclrtPeekAtLastError(kLastErrorOfThread), kErrorRtInvalidDeviceId);
  std::thread([&] { EXPECT_EQ(acl.aclrtPeekAtLastError(kLastErrorOfThread), 0); }).join();
  EXPECT_EQ(acl.aclrtGetLastError(kLastErrorOfThread), kErrorRtInvalidDeviceId);
  EXPECT_EQ(acl.aclrtGetLastError(kLastErrorOfThread), 0);
  EXPECT_EQ(acl.aclrtGetLastError(static_cast<aclrtLastErrLevel>(1)), kErrorInvalidParam);
  EXPECT_EQ(acl.aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(1)), kErrorInvalidParam);
}

TEST_F(Lifecycle, VersionsAndSocName) {
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = -1;
  EXPECT_EQ(acl.aclrtGetVersion(&major, &minor, &patch), 0);
  EXPECT_EQ(major, 1);
  EXPECT_EQ(minor, 17);
  EXPECT_EQ(patch, 0);
  EXPECT_EQ(acl.aclrtGetVersion(nullptr, &minor, &patch), kErrorInvalidParam);
  char runtime[] = "runtime";
  char nothing[] = "nothing";
  char text[128] = {};
  EXPECT_EQ(acl.aclsysGetVersionStr(runtime, text), 0);
  EXPECT_STREQ(text, "9.0.1");
  int32_t number = 0;
  EXPECT_EQ(acl.aclsysGetVersionNum(runtime, &number), 0);
  EXPECT_EQ(number, 90001000);
  EXPECT_NE(acl.aclsysGetVersionStr(nothing, text), 0);
  EXPECT_NE(acl.aclsysGetVersionNum(nothing, &number), 0);
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  EXPECT_STREQ(acl.aclrtGetSocName(), "Ascend910B3");
  EXPECT_EQ(acl.aclFinalize(), 0);
  const ScopedVariable soc("PYPTO_MOCK_SOC", "Ascend950PR");
  EXPECT_EQ(acl.aclInit(nullptr), 0);
  EXPECT_STREQ(acl.aclrtGetSocName(), "Ascend950PR");
}

TEST_F(Lifecycle, WhatIsNotOfferedSaysSo) {
  Open();
  EXPECT_EQ(acl.aclrtProcessReport(1), kErrorUnsupported);
  EXPECT_THAT(RecentText(), HasSubstr("aclrtProcessReport"));
  EXPECT_EQ(acl.aclrtLaunchKernelWithArgsArray(nullptr, 1, nullptr, nullptr, nullptr), kErrorUnsupported);
  EXPECT_EQ(acl.aclrtSetExceptionInfoCallback(nullptr), kErrorUnsupported);
  EXPECT_EQ(acl.mock_call_count("aclrtProcessReport"), 1u) << "counted all the same";
}

std::string AllLogs() {
  std::string text;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PYPTO_MOCK_TEST_LOGS, none)) {
    if (entry.path().filename().string().find("plog-" + std::to_string(getpid())) != 0) continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

TEST_F(Lifecycle, AppLogWritesRecordsInTheVendorsLayout) {
  acl.aclAppLog(kLogError, "Step", "loop.cpp", 140, "queue is %d percent full", 91);
  const std::string expected = std::to_string(gettid()) + " Step:loop.cpp:140: \"queue is 91 percent full\"\n";
  const std::string logs = AllLogs();
  EXPECT_THAT(logs, HasSubstr(expected));
  EXPECT_THAT(
      logs, testing::ContainsRegex("\\[ERROR\\] APP\\([0-9]+,[^)]*\\):[0-9-]+:[0-9:]+\\.[0-9]+\\.[0-9]+ [0-9]+ Step:"));
  acl.aclAppLog(kLogDebug, "Step", "loop.cpp", 141, "below the level");
  EXPECT_THAT(AllLogs(), testing::Not(HasSubstr("below the level")));
  acl.aclAppLog(kLogInfo, "Step", "loop.cpp", 142, "%s", std::string(2000, 'x').c_str());
  EXPECT_THAT(AllLogs(), HasSubstr("...[truncated]"));
}

TEST_F(Lifecycle, FinalizeReportsWhatIsStillAlive) {
  Open();
  Malloc(4096);
  NewStream();
  EXPECT_EQ(acl.aclFinalize(), 0);
  EXPECT_THAT(AllLogs(), HasSubstr("objects alive: 1 device blocks (4096 bytes), 0 host blocks, 1 streams, 0 events"));
}

}  // namespace
}  // namespace pypto::mock_test
