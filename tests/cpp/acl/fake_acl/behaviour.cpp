// A fake ACL library with enough behaviour to test handles, sessions and layers: objects are counted, contexts are
// thread-local, nothing computes.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "fake_control.h"
#include "pypto/acl_abi/error_codes.h"
#include "pypto/acl_abi/function_types.h"

using namespace pypto::acl_abi;  // a C library has no namespace

namespace {

fake_acl::Control control;
std::mutex objects;  // guards what is live or set
char primary_contexts[8];
thread_local void* current_context = nullptr;

aclError Make(void** handle, const char* kind) {
  if (current_context == nullptr) return kErrorRtContextNull;
  *handle = std::malloc(16);
  const std::lock_guard lock(objects);
  control.live.emplace(*handle, kind);
  return kSuccess;
}

aclError Drop(void* handle, const char* kind) {
  if (control.destroy_code != 0) return control.destroy_code;
  const std::lock_guard lock(objects);
  const auto found = control.live.find(handle);
  if (found == control.live.end() || found->second != kind) return kErrorRtInvalidHandle;
  control.live.erase(found);
  std::free(handle);
  return kSuccess;
}

}  // namespace

#define EXPORT [[gnu::visibility("default")]]

extern "C" {

EXPORT fake_acl::Control* fake_acl_control() { return &control; }

EXPORT aclError aclInit(const char*) {
  ++control.init_calls;
  return control.initialised_by_others ? kErrorRepeatInitialize : kSuccess;
}
EXPORT aclError aclFinalize() {
  ++control.finalize_calls;
  return kSuccess;
}
EXPORT aclError aclFinalizeReference(uint64_t* rest) {
  ++control.reference_finalize_calls;
  *rest = 0;
  return kSuccess;
}
EXPORT const char* aclGetRecentErrMsg() {
  static std::string text;
  text = control.message;
  control.message.clear();
  return text.empty() ? nullptr : text.c_str();
}
EXPORT void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char* format, ...) {
  char line[128];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  control.last_log = line;
}
EXPORT const char* aclrtGetSocName() { return "Ascend910B3"; }
EXPORT aclError aclrtGetDeviceCount(uint32_t* count) {
  *count = control.device_count;
  // A list of numbers, as the vendor's library reads it.
  if (const char* visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES"); visible != nullptr) {
    const auto commas = static_cast<uint32_t>(std::count(visible, visible + std::strlen(visible), ','));
    *count = std::min(*count, *visible == '\0' ? 0 : commas + 1);
    if (*count == 0) return kErrorRtNoDevice;
  }
  return control.device_count == 0 ? kErrorRtNoDevice : kSuccess;
}
EXPORT aclError aclrtSetDevice(int32_t device) {
  if (control.device_code != 0) return control.device_code;
  const std::lock_guard lock(objects);
  ++control.device_sets[device];
  current_context = &primary_contexts[device];
  return kSuccess;
}
EXPORT aclError aclrtResetDevice(int32_t device) {
  if (control.destroy_code != 0) return control.destroy_code;
  --control.device_sets[device];
  return kSuccess;
}
EXPORT aclError aclrtCreateContext(aclrtContext* context, int32_t) {
  *context = std::malloc(16);
  control.live.emplace(*context, "context");
  current_context = *context;
  return kSuccess;
}
EXPORT aclError aclrtDestroyContext(aclrtContext context) { return Drop(context, "context"); }
EXPORT aclError aclrtSetCurrentContext(aclrtContext context) {
  current_context = context;
  return kSuccess;
}
EXPORT aclError aclrtGetCurrentContext(aclrtContext* context) {
  *context = current_context;
  return current_context == nullptr ? kErrorRtContextNull : kSuccess;
}
EXPORT aclError aclrtCreateStream(aclrtStream* stream) { return Make(stream, "stream"); }
EXPORT aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t flags) {
  control.stream_flags = flags;
  return Make(stream, "stream");
}
EXPORT aclError aclrtDestroyStream(aclrtStream stream) { return Drop(stream, "stream"); }
EXPORT aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) {
  return control.busy ? kErrorRtStreamSyncTimeout : kSuccess;
}
EXPORT aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus* status) {
  *status = control.busy ? kStreamNotReady : kStreamComplete;
  return kSuccess;
}
EXPORT aclError aclrtCreateEvent(aclrtEvent* event) { return Make(event, "event"); }
EXPORT aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flags) {
  control.event_flags = flags;
  return Make(event, "event");
}
EXPORT aclError aclrtDestroyEvent(aclrtEvent event) { return Drop(event, "event"); }
EXPORT aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventRecordedStatus* status) {
  *status = control.busy ? kEventRecordedNotReady : kEventRecordedComplete;
  return kSuccess;
}
EXPORT aclError aclrtSynchronizeEventWithTimeout(aclrtEvent, int32_t) {
  return control.busy ? kErrorRtEventSyncTimeout : kSuccess;
}
EXPORT aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent, aclrtEvent) {
  *milliseconds = 1.5F;
  return kSuccess;
}
EXPORT aclError aclrtMalloc(void** pointer, size_t bytes, aclrtMemMallocPolicy) {
  if (bytes == 0) return kErrorInvalidParam;
  if (bytes > control.free_bytes) {
    control.message = "EL0004: no memory\n";
    return kErrorRtMemoryAllocation;
  }
  return Make(pointer, "memory");
}
EXPORT aclError aclrtFree(void* pointer) { return Drop(pointer, "memory"); }
EXPORT aclError aclrtMallocHost(void** pointer, size_t) { return Make(pointer, "host"); }
EXPORT aclError aclrtFreeHost(void* pointer) { return Drop(pointer, "host"); }
EXPORT aclError aclrtGetMemInfo(aclrtMemAttr kind, size_t* free, size_t* total) {
  *free = kind == kMemDdr ? control.free_bytes : 0;
  *total = kind == kMemDdr ? control.total_bytes : 0;
  return kSuccess;
}
EXPORT aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions* options,
                                        aclrtBinHandle* binary) {
  control.last_magic = options->options[1].value.magic;
  return Make(binary, "binary");
}
EXPORT aclError aclrtBinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions*, aclrtBinHandle* binary) {
  return *path == '/' ? Make(binary, "binary") : kErrorRtParamInvalid;
}
EXPORT aclError aclrtBinaryUnLoad(aclrtBinHandle binary) { return Drop(binary, "binary"); }
EXPORT aclError aclrtBinaryGetFunction(aclrtBinHandle binary, const char* name, aclrtFuncHandle* function) {
  if (std::strcmp(name, "kernel") != 0) return kErrorRtParamInvalid;
  *function = static_cast<char*>(binary) + 1;
  return kSuccess;
}

}  // extern "C"
