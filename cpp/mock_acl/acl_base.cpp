// aclInit, aclFinalize, errors, log, versions.
#include <cstdarg>
#include <cstdio>
#include <string>

#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/mock_log.h"

#include <unistd.h>

namespace pypto::acl_abi {

using mock::CallId;
using mock::CurrentThread;
using mock::Enter;
using mock::Fail;
using mock::Instance;
using mock::ThreadState;

namespace {

// What the library calls itself: the interface and the release it behaves like.
constexpr int32_t kInterface[] = {1, 17, 0};
constexpr char kRelease[] = "9.0.1";
constexpr int32_t kReleaseNumber = 90001000;
constexpr size_t kMaxAppLogBytes = 900;

bool KnownPackage(const char* name) { return std::string_view(name) == "runtime"; }

}  // namespace

extern "C" {

aclError aclInit(const char* config_path) {
  return Enter(CallId::aclInit, [&](ThreadState&) { return Instance::Get().Initialize(config_path); }, config_path);
}

aclError aclFinalize() {
  return Enter(CallId::aclFinalize, [](ThreadState&) { return Instance::Get().Finalize(true, nullptr); });
}

aclError aclFinalizeReference(uint64_t* count) {
  return Enter(
      CallId::aclFinalizeReference,
      [&](ThreadState&) {
        MOCK_REQUIRE(count);
        return Instance::Get().Finalize(false, count);
      },
      count);
}

const char* aclGetRecentErrMsg() {
  ThreadState& thread = CurrentThread();
  thread.Count(CallId::aclGetRecentErrMsg);
  if (thread.message.empty()) return nullptr;
  thread.returned.swap(thread.message);
  thread.message.clear();
  return thread.returned.c_str();
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  ThreadState& thread = CurrentThread();
  thread.Count(CallId::aclrtPeekAtLastError);
  if (level != kLastErrorOfThread) return Fail(kErrorInvalidParam, "level must be 0, not %u", unsigned{level});
  return thread.last_error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  ThreadState& thread = CurrentThread();
  thread.Count(CallId::aclrtGetLastError);
  if (level != kLastErrorOfThread) return Fail(kErrorInvalidParam, "level must be 0, not %u", unsigned{level});
  return std::exchange(thread.last_error, kSuccess);
}

void aclAppLog(aclLogLevel level, const char* function, const char* file, uint32_t line, const char* format, ...) {
  CurrentThread().Count(CallId::aclAppLog);
  if (level > kLogError || format == nullptr) return;
  const auto log_level = static_cast<log::Level>(level);
  if (!mock::MockLogEnabled(log_level)) return;
  char message[kMaxAppLogBytes];
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  const char* cut = wanted >= static_cast<int>(sizeof(message)) ? "...[truncated]" : "";
  log::WriteAs("APP", log_level, nullptr, 0,
               base::Format("%d %s:%s:%u: \"%s\"%s", static_cast<int>(gettid()), function != nullptr ? function : "",
                            file != nullptr ? file : "", line, message, cut));
}

const char* aclrtGetSocName() {
  CurrentThread().Count(CallId::aclrtGetSocName);
  const Instance& instance = Instance::Get();
  if (!instance.initialized() || instance.devices().empty()) {
    instance.initialized() ? Fail(kErrorRtNoDevice, "there is no device") : mock::NotInitialized();
    return nullptr;
  }
  return instance.settings().soc.c_str();
}

aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  return Enter(
      CallId::aclrtGetVersion,
      [&](ThreadState&) {
        MOCK_REQUIRE(major);
        MOCK_REQUIRE(minor);
        MOCK_REQUIRE(patch);
        *major = kInterface[0];
        *minor = kInterface[1];
        *patch = kInterface[2];
        return kSuccess;
      },
      major, minor, patch);
}

aclError aclsysGetVersionStr(char* package, char* version) {
  return Enter(
      CallId::aclsysGetVersionStr,
      [&](ThreadState&) {
        MOCK_REQUIRE(package);
        MOCK_REQUIRE(version);
        if (!KnownPackage(package)) return Fail(kErrorInvalidFile, "no package '%s'", package);
        std::memcpy(version, kRelease, sizeof(kRelease));
        return kSuccess;
      },
      package, version);
}

aclError aclsysGetVersionNum(char* package, int32_t* version) {
  return Enter(
      CallId::aclsysGetVersionNum,
      [&](ThreadState&) {
        MOCK_REQUIRE(package);
        MOCK_REQUIRE(version);
        if (!KnownPackage(package)) return Fail(kErrorInvalidFile, "no package '%s'", package);
        *version = kReleaseNumber;
        return kSuccess;
      },
      package, version);
}

}  // extern "C"

}  // namespace pypto::acl_abi
