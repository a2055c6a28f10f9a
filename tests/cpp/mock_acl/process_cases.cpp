// A program that ends, forks or unloads with the library in some state; run by process_test.cpp, one case per run.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "mock_acl/acl_library.h"

namespace pypto::mock_test {
namespace {

void Check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "failed: %s\n", what);
  _exit(3);
}
#define CHECK_THAT(condition) Check(condition, #condition)

struct Session {
  AclLibrary& acl = Library();
  void* stream = nullptr;
  void* block = nullptr;
  void* binary = nullptr;

  void Open() {
    CHECK_THAT(acl.aclInit(nullptr) == 0);
    CHECK_THAT(acl.aclrtSetDevice(0) == 0);
    CHECK_THAT(acl.aclrtCreateStream(&stream) == 0);
    CHECK_THAT(acl.aclrtMalloc(&block, 64, kMallocHugeFirst) == 0);
    CHECK_THAT(acl.aclrtMemset(block, 64, 0, 64) == 0);
    constexpr std::string_view kImage = "TESTKERNELS nop spin fill";
    CHECK_THAT(acl.aclrtBinaryLoadFromData(kImage.data(), kImage.size(), nullptr, &binary) == 0);
  }
  void Launch(const char* kernel) {
    void* function = nullptr;
    CHECK_THAT(acl.aclrtBinaryGetFunction(binary, kernel, &function) == 0);
    std::array<uint64_t, 3> words{reinterpret_cast<uint64_t>(block), 1, 1};
    CHECK_THAT(
        acl.aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, words.data(), sizeof(words), nullptr, 0) == 0);
  }
  void Kick() {
    aclrtStreamStatus status{};
    acl.aclrtStreamQuery(stream, &status);
  }
};

int ExitWithAKernelRunning() {
  Session session;
  session.Open();
  session.Launch("spin");
  session.Kick();
  session.Launch("nop");
  return 0;
}

int ExitWithAHostFunctionRunning() {
  Session session;
  session.Open();
  static std::atomic<bool> began{false};
  session.acl.aclrtLaunchHostFunc(
      session.stream,
      [](void*) {
        began = true;
        while (true) pause();
      },
      nullptr);
  while (!began) std::this_thread::yield();
  return 0;
}

int ExitWithWorkQueued() {
  Session session;
  session.Open();
  session.Launch("nop");
  return 0;
}

int FinalizeAtExit() {
  static Session session;
  session.Open();
  session.Launch("spin");
  session.Kick();
  // Registered last, so it runs first: with a kernel running.
  std::atexit([] { session.acl.aclFinalize(); });
  return 0;
}

int CloseAfterFinalize() {
  Session session;
  session.Open();
  session.Launch("nop");
  CHECK_THAT(session.acl.aclrtSynchronizeStream(session.stream) == 0);
  CHECK_THAT(session.acl.aclFinalize() == 0);
  CHECK_THAT(session.acl.mock_stream_threads() == 0);
  return dlclose(session.acl.handle);
}

int CloseWithEverythingOpen() {
  Session session;
  session.Open();
  session.Launch("nop");
  session.Kick();
  const int code = dlclose(session.acl.handle);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the stream's thread polls on
  return code;
}

// The parent's state is not usable in the child; the child can start its own.
int InChild(Session& session) {
  AclLibrary& acl = session.acl;
  CHECK_THAT(acl.aclrtSynchronizeStream(session.stream) == kErrorUninitialize);
  const char* text = acl.aclGetRecentErrMsg();
  CHECK_THAT(text != nullptr && std::strstr(text, "forked") != nullptr);
  CHECK_THAT(acl.aclrtFree(session.block) == kErrorUninitialize);
  CHECK_THAT(acl.mock_live_bytes(-1) == 0);
  Session own;
  own.Open();
  own.Launch("fill");
  CHECK_THAT(acl.aclrtSynchronizeStream(own.stream) == 0);
  CHECK_THAT(acl.aclrtFree(session.block) == kErrorRtDriverInternal || session.block == own.block);
  return acl.aclFinalize();
}

int Fork() {
  Session session;
  session.Open();
  session.Launch("spin");
  session.Kick();
  const pid_t child = fork();
  if (child == 0) return InChild(session);
  int status = -1;
  CHECK_THAT(waitpid(child, &status, 0) == child);
  CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  auto* word = static_cast<std::atomic<uint32_t>*>(session.acl.mock_device_bytes(session.block, 4));
  word->store(1);
  CHECK_THAT(session.acl.aclrtSynchronizeStream(session.stream) == 0);
  return session.acl.aclFinalize();
}

void LimitAddressSpace(uint64_t more) {
  // What is mapped already, in pages, is the first number of statm.
  unsigned long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  CHECK_THAT(file != nullptr && std::fscanf(file, "%lu", &pages) == 1);
  std::fclose(file);
  const rlim_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limits{limit, limit};
  CHECK_THAT(setrlimit(RLIMIT_AS, &limits) == 0);
}

int LittleAddressSpace() {
  AclLibrary& acl = Library();
  CHECK_THAT(acl.aclInit(nullptr) == 0);
  LimitAddressSpace(uint64_t{6} << 30);
  CHECK_THAT(acl.aclrtSetDevice(0) == 0);
  size_t free = 0;
  size_t total = 0;
  CHECK_THAT(acl.aclrtGetMemInfo(kMemHbm, &free, &total) == 0);
  CHECK_THAT(total == uint64_t{2} << 30);
  void* block = nullptr;
  CHECK_THAT(acl.aclrtMalloc(&block, uint64_t{3} << 30, kMallocHugeFirst) == kErrorRtMemoryAllocation);
  CHECK_THAT(acl.aclrtMalloc(&block, uint64_t{1} << 30, kMallocHugeFirst) == 0);
  return 0;
}

int TooLittleAddressSpace() {
  AclLibrary& acl = Library();
  CHECK_THAT(acl.aclInit(nullptr) == 0);
  LimitAddressSpace(uint64_t{2} << 30);
  CHECK_THAT(acl.aclrtSetDevice(0) == kErrorRtDeviceSetup);
  return 0;
}

int Run(std::string_view name) {
  if (name == "kernel_running") return ExitWithAKernelRunning();
  if (name == "host_function_running") return ExitWithAHostFunctionRunning();
  if (name == "work_queued") return ExitWithWorkQueued();
  if (name == "finalize_at_exit") return FinalizeAtExit();
  if (name == "close_after_finalize") return CloseAfterFinalize();
  if (name == "close_open") return CloseWithEverythingOpen();
  if (name == "fork") return Fork();
  if (name == "little_address_space") return LittleAddressSpace();
  if (name == "too_little_address_space") return TooLittleAddressSpace();
  return 9;
}

}  // namespace
}  // namespace pypto::mock_test

int main(int count, char** arguments) { return count == 2 ? pypto::mock_test::Run(arguments[1]) : 9; }
