// The library under test, opened as any program opens an ACL library: by path, its functions by name.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/acl_abi/function_types.h"
#include "pypto/mock_acl.h"

namespace pypto::mock_test {

using namespace acl_abi;

// Pointers to every function of the list and of the side door; a missing one ends the test program.
struct AclLibrary {
#define PYPTO_ACL_FUNCTION(need, return_type, name, ...) function_types::name* name = nullptr;
#include "pypto/acl_abi/functions.inc"
#define MOCK_SIDE_DOOR(name) decltype(&::name) name = nullptr;
#include "mock_acl/side_door.inc"

  explicit AclLibrary(const char* path);
  void* handle = nullptr;
};

AclLibrary& Library();

// Sets an environment variable for one test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~ScopedVariable() { unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

// A path for a temporary file that no other test program uses.
std::string TemporaryPath(const std::string& name);

// Every test begins and ends with the library as after load.
class AclTest : public testing::Test {
 protected:
  AclLibrary& acl = Library();

  void SetUp() override { acl.mock_reset(); }
  void TearDown() override { acl.mock_reset(); }

  // aclInit and device 0.
  void Open() {
    ASSERT_EQ(acl.aclInit(nullptr), 0);
    ASSERT_EQ(acl.aclrtSetDevice(0), 0);
  }
  void* Malloc(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(acl.aclrtMalloc(&pointer, bytes, kMallocHugeFirst), 0);
    return pointer;
  }
  void* NewStream() {
    void* stream = nullptr;
    EXPECT_EQ(acl.aclrtCreateStream(&stream), 0);
    return stream;
  }
  void* NewEvent(uint32_t flags = kEventSync | kEventTimeLine) {
    void* event = nullptr;
    EXPECT_EQ(acl.aclrtCreateEventExWithFlag(&event, flags), 0);
    return event;
  }
  void* LoadTestKernels() {
    static constexpr std::string_view kImage = "TESTKERNELS nop fill copy echo fault spin who";
    void* binary = nullptr;
    EXPECT_EQ(acl.aclrtBinaryLoadFromData(kImage.data(), kImage.size(), nullptr, &binary), 0);
    return binary;
  }
  void* Kernel(const char* name) {
    if (binary_ == nullptr) binary_ = LoadTestKernels();
    void* function = nullptr;
    EXPECT_EQ(acl.aclrtBinaryGetFunction(binary_, name, &function), 0);
    return function;
  }
  template <size_t n>
  aclError Launch(void* function, std::array<uint64_t, n> words, void* stream) {
    return acl.aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, words.data(), sizeof(words), nullptr, 0);
  }
  static uint64_t Word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

  // A kernel that runs until Release.
  struct Gate {
    void* word = nullptr;
    std::atomic<uint32_t>* host = nullptr;
    void Release() const { host->store(1, std::memory_order_release); }
  };
  Gate NewGate() {
    Gate gate;
    gate.word = Malloc(sizeof(uint32_t));
    gate.host = static_cast<std::atomic<uint32_t>*>(acl.mock_device_bytes(gate.word, sizeof(uint32_t)));
    gate.host->store(0);
    return gate;
  }
  aclError LaunchGate(const Gate& gate, void* stream) {
    return Launch(Kernel("spin"), std::array{Word(gate.word)}, stream);
  }
  std::string RecentText() {
    const char* text = acl.aclGetRecentErrMsg();
    return text != nullptr ? text : "";
  }
  std::vector<uint8_t> BytesOf(const void* device, size_t bytes) {
    std::vector<uint8_t> result(bytes);
    EXPECT_EQ(acl.aclrtMemcpy(result.data(), bytes, device, bytes, kMemcpyDeviceToHost), 0);
    return result;
  }

 private:
  void* binary_ = nullptr;
};

}  // namespace pypto::mock_test
