// A program that knows the vendor's headers only: opens a device, copies in, launches a kernel out of a binary file
// with host arguments, times it with events, copies out, closes everything.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "acl/acl.h"

namespace {

int line_of_failure = 0;

bool Holds(bool condition, int line) {
  if (!condition && line_of_failure == 0) line_of_failure = line;
  return condition;
}
bool Succeeds(aclError code, int line) {
  if (code != ACL_SUCCESS) {
    const char* text = aclGetRecentErrMsg();
    std::printf("line %d: code %d: %s\n", line, code, text != nullptr ? text : "");
  }
  return Holds(code == ACL_SUCCESS, line);
}
#define HOLDS(condition) \
  if (!Holds(condition, __LINE__)) return false
#define OK(call) \
  if (!Succeeds(call, __LINE__)) return false

constexpr int32_t kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(float);

struct Arguments {
  void* x;
  void* y;
  float a;
  int32_t n;
};

bool Load(const char* path, aclrtBinHandle* binary, aclrtFuncHandle* function) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  aclrtBinaryLoadOption options[2] = {};
  options[0].type = ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD;
  options[1].type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
  options[1].value.magic = ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE;
  const aclrtBinaryLoadOptions list{options, 2};
  OK(aclrtBinaryLoadFromData(code.data(), code.size(), &list, binary));
  OK(aclrtBinaryGetFunction(*binary, "axpy", function));
  return true;
}

bool Compute(const char* path) {
  aclrtStream stream = nullptr;
  aclrtEvent begin = nullptr;
  aclrtEvent end = nullptr;
  aclrtBinHandle binary = nullptr;
  aclrtFuncHandle function = nullptr;
  Arguments arguments{nullptr, nullptr, 2.5F, kCount};
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateEventWithFlag(&begin, ACL_EVENT_TIME_LINE));
  OK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));
  if (!Load(path, &binary, &function)) return false;

  std::vector<float> x(kCount);
  std::vector<float> y(kCount, 1.0F);
  for (int32_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  OK(aclrtMalloc(&arguments.x, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&arguments.y, kBytes, ACL_MEM_MALLOC_NORMAL_ONLY));
  OK(aclrtMemcpy(arguments.x, kBytes, x.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpyAsync(arguments.y, kBytes, y.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  aclrtLaunchKernelAttr attribute{};
  attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
  attribute.value.schemMode = 0;
  aclrtLaunchKernelCfg config{&attribute, 1};
  OK(aclrtRecordEvent(begin, stream));
  OK(aclrtLaunchKernelWithHostArgs(function, 4, stream, &config, &arguments, sizeof(arguments), nullptr, 0));
  OK(aclrtRecordEvent(end, stream));
  OK(aclrtSynchronizeStream(stream));
  float milliseconds = -1;
  OK(aclrtEventElapsedTime(&milliseconds, begin, end));
  HOLDS(milliseconds > 0);
  OK(aclrtMemcpy(y.data(), kBytes, arguments.y, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int32_t i = 0; i < kCount; ++i) HOLDS(y[i] == 1.0F + 2.5F * static_cast<float>(i));

  // A launch that leaves its memory is told at the next synchronise, as on a device.
  Arguments stray = arguments;
  stray.n = 1 << 30;
  OK(aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, &stray, sizeof(stray), nullptr, 0));
  HOLDS(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_AICORE_EXCEPTION);
  HOLDS(std::strstr(aclGetRecentErrMsg(), "kernel 'axpy'") != nullptr);

  OK(aclrtBinaryUnLoad(binary));
  OK(aclrtFree(arguments.x));
  OK(aclrtFree(arguments.y));
  OK(aclrtDestroyEvent(begin));
  OK(aclrtDestroyEvent(end));
  OK(aclrtDestroyStream(stream));
  return true;
}

bool Run(const char* path) {
  OK(aclInit(nullptr));
  HOLDS(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
  uint32_t devices = 0;
  OK(aclrtGetDeviceCount(&devices));
  HOLDS(devices == 1);
  OK(aclrtSetDevice(0));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  HOLDS(free_bytes != 0 && free_bytes <= total_bytes);
  std::printf("on %s: ", aclrtGetSocName());
  if (!Compute(path)) return false;
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return true;
}

}  // namespace

int main(int, char** arguments) {
  const bool right = Run(arguments[1]);
  std::printf(right ? "right\n" : "wrong, line %d\n", line_of_failure);
  return right ? 0 : 1;
}
