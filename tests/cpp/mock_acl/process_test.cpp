// Process exit, unload, fork, address-space limits; and what the library exports.
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

struct Ended {
  int status = -1;
  std::string output;  // both streams
  double seconds = 0;
};

Ended RunCommand(const std::string& command) {
  const auto start = std::chrono::steady_clock::now();
  Ended ended;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    ended.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ended;
}

class Process : public testing::TestWithParam<const char*> {};

TEST_P(Process, EndsSilentlyAndQuickly) {
  for (const char* strict : {"", "PYPTO_MOCK_STRICT=3 "}) {
    const Ended ended = RunCommand(std::string(strict) + PYPTO_MOCK_PROCESS_CASES + " " + GetParam());
    EXPECT_EQ(ended.status, 0) << strict;
    EXPECT_EQ(ended.output, "") << strict;
    EXPECT_LT(ended.seconds, 5.0) << strict;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Process,
                         testing::Values("kernel_running", "host_function_running", "work_queued", "finalize_at_exit",
                                         "close_after_finalize", "close_open"),
                         [](const auto& test_case) { return std::string(test_case.param); });

// Sanitizers reserve address space of their own and keep locks across a fork.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
INSTANTIATE_TEST_SUITE_P(WithoutSanitizers, Process,
                         testing::Values("fork", "little_address_space", "too_little_address_space"),
                         [](const auto& test_case) { return std::string(test_case.param); });
#endif

TEST(Exports, OnlyTheInterfaceIsVisible) {
  const Ended names = RunCommand("nm -D --defined-only --format=posix " PYPTO_MOCK_TEST_LIBRARY);
  ASSERT_EQ(names.status, 0) << names.output;
  size_t count = 0;
  for (size_t begin = 0; begin < names.output.size();) {
    const size_t end = names.output.find('\n', begin);
    const std::string name = names.output.substr(begin, names.output.find(' ', begin) - begin);
    EXPECT_TRUE(name.starts_with("acl") || name.starts_with("mock_") || name.starts_with("pypto_mock_")) << name;
    ++count;
    begin = end + 1;
  }
  EXPECT_GE(count, Library().mock_function_count() + 20);
}

TEST(Exports, TwoCopiesOfTheLibraryAreTwoLibraries) {
  const std::string path = TemporaryPath("second.so");
  ASSERT_EQ(RunCommand("cp " PYPTO_MOCK_TEST_LIBRARY " " + path).status, 0);
  AclLibrary second(path.c_str());
  AclLibrary& first = Library();
  first.mock_reset();
  second.mock_reset();
  EXPECT_EQ(first.aclInit(nullptr), 0);
  EXPECT_EQ(second.aclrtSetDevice(0), kErrorUninitialize);
  EXPECT_EQ(second.aclInit(nullptr), 0);
  EXPECT_EQ(second.aclFinalize(), 0);
  EXPECT_EQ(first.aclrtSetDevice(0), 0);
  EXPECT_EQ(second.mock_call_count("aclrtSetDevice"), 1u);
  EXPECT_EQ(first.mock_call_count("aclrtSetDevice"), 1u);
  first.mock_reset();
  std::remove(path.c_str());
}

}  // namespace
}  // namespace pypto::mock_test
