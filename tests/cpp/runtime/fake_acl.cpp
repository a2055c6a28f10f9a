// The functions behind the fake's table.
#include "runtime/fake_acl.h"

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>

namespace pypto::runtime::testing {
namespace {

using namespace acl_abi;

FakeAcl* fake = nullptr;
thread_local void* current_context = nullptr;
std::map<void*, size_t> sizes;
std::map<void*, uint64_t> event_points;

void* NewHandle() {
  void* handle = std::malloc(8);
  fake->handles.insert(handle);
  return handle;
}

aclError DropHandle(void* handle) {
  if (fake->handles.erase(handle) == 0) return kErrorRtInvalidHandle;
  std::free(handle);
  return 0;
}

aclError RunQueue() {
  while (!fake->queue.empty() && fake->sticky == 0) {
    const std::vector<std::byte> block = fake->queue.front();
    fake->queue.erase(fake->queue.begin());
    if (fake->kernel) fake->sticky = fake->kernel(block);
    fake->done += 1;
  }
  return fake->sticky;
}

const char* RecentErrMsg() { return nullptr; }
aclError Init(const char*) { return 0; }
aclError Finalize() { return 0; }
aclError GetDeviceCount(uint32_t* count) { return *count = 2, 0; }
aclError SetDevice(int32_t) {
  current_context = fake;  // stands for the primary context
  return 0;
}
aclError GetDevice(int32_t* device) { return *device = 0, 0; }
aclError ResetDevice(int32_t) { return 0; }
aclError CreateContext(aclrtContext* context, int32_t) { return current_context = *context = NewHandle(), 0; }
aclError DestroyContext(aclrtContext context) { return DropHandle(context); }
aclError SetCurrentContext(aclrtContext context) { return current_context = context, 0; }
aclError GetCurrentContext(aclrtContext* context) {
  *context = current_context;
  return current_context != nullptr ? 0 : kErrorRtContextNull;
}
aclError CreateStream(aclrtStream* stream) { return *stream = NewHandle(), 0; }
aclError DestroyStream(aclrtStream stream) { return DropHandle(stream); }
aclError SynchronizeStream(aclrtStream) { return RunQueue(); }
aclError SynchronizeStreamWithTimeout(aclrtStream, int32_t) {
  return fake->hold ? kErrorRtStreamSyncTimeout : RunQueue();
}
aclError StreamQuery(aclrtStream, aclrtStreamStatus* status) {
  *status = fake->queue.empty() ? kStreamComplete : kStreamNotReady;
  return fake->sticky;
}
aclError StreamAbort(aclrtStream) {
  fake->done += fake->queue.size();
  fake->queue.clear();
  fake->hold = false;
  return 0;
}
aclError CreateEvent(aclrtEvent* event) { return *event = NewHandle(), 0; }
aclError DestroyEvent(aclrtEvent event) {
  event_points.erase(event);
  return DropHandle(event);
}
aclError RecordEvent(aclrtEvent event, aclrtStream) { return event_points[event] = fake->recorded, 0; }
aclError QueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  if (!fake->hold) static_cast<void>(RunQueue());
  const bool done = fake->done >= event_points[event] || fake->sticky != 0;
  *status = done ? kEventRecordedComplete : kEventRecordedNotReady;
  return 0;
}
aclError SynchronizeEvent(aclrtEvent) { return RunQueue(); }
aclError SynchronizeEventWithTimeout(aclrtEvent, int32_t) { return fake->hold ? kErrorRtEventSyncTimeout : RunQueue(); }
aclError Malloc(void** pointer, size_t bytes, aclrtMemMallocPolicy) {
  if (bytes == 0) return kErrorInvalidParam;
  if (bytes > fake->memory_limit - fake->memory_used) return kErrorRtMemoryAllocation;
  const size_t rounded = (bytes + 4095) / 4096 * 4096;
  *pointer = std::aligned_alloc(4096, rounded);
  if (*pointer == nullptr) return kErrorRtMemoryAllocation;
  fake->memory_used += bytes;
  fake->mallocs += 1;
  sizes[*pointer] = bytes;
  fake->blocks.insert(*pointer);
  return 0;
}
aclError Free(void* pointer) {
  if (fake->blocks.erase(pointer) == 0) return kErrorRtDriverInternal;
  fake->memory_used -= sizes[pointer];
  sizes.erase(pointer);
  std::free(pointer);
  return 0;
}
aclError Memcpy(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind) {
  if (bytes > room) return kErrorRtParamInvalid;
  std::memcpy(to, from, bytes);
  return 0;
}
aclError MemcpyAsync(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind, aclrtStream) {
  return Memcpy(to, room, from, bytes, kind);
}
aclError Memset(void* to, size_t, int32_t value, size_t bytes) { return std::memset(to, value, bytes), 0; }
aclError GetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  *total = fake->memory_limit;
  *free = fake->memory_limit - fake->memory_used;
  return 0;
}
aclError BinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle* binary) {
  fake->binary_loads += 1;
  return *binary = NewHandle(), 0;
}
aclError BinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions*, aclrtBinHandle* binary) {
  if (path[0] != '/') return kErrorRtParamInvalid;
  fake->binary_loads += 1;
  return *binary = NewHandle(), 0;
}
aclError BinaryUnLoad(aclrtBinHandle binary) {
  fake->binary_unloads += 1;
  return DropHandle(binary);
}
aclError BinaryGetFunction(const aclrtBinHandle binary, const char*, aclrtFuncHandle* function) {
  return *function = static_cast<char*>(binary) + 1, 0;
}
void Queue(const void* data, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  fake->queue.emplace_back(begin, begin + bytes);
  fake->launches += 1;
  fake->recorded += 1;
}
aclError LaunchWithHostArgs(aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, void* data, size_t bytes,
                            aclrtPlaceHolderInfo*, size_t) {
  return Queue(data, bytes), 0;
}
std::vector<std::byte> argument_list;
aclError KernelArgsInit(aclrtFuncHandle, aclrtArgsHandle* list) { return *list = &argument_list, 0; }
aclError KernelArgsAppend(aclrtArgsHandle, void* data, size_t bytes, aclrtParamHandle*) {
  const auto* begin = static_cast<const std::byte*>(data);
  argument_list.assign(begin, begin + bytes);
  return 0;
}
aclError KernelArgsFinalize(aclrtArgsHandle) { return 0; }
aclError LaunchWithConfig(aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, aclrtArgsHandle, void*) {
  return Queue(argument_list.data(), argument_list.size()), 0;
}
void AppLog(aclLogLevel level, const char*, const char*, uint32_t, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fake->app_log.push_back(std::to_string(level) + ' ' + va_arg(arguments, const char*));
  va_end(arguments);
}

void FillBasics(acl::Functions* f) {
  f->aclGetRecentErrMsg = RecentErrMsg;
  f->aclInit = Init;
  f->aclFinalize = Finalize;
  f->aclAppLog = AppLog;
  f->aclrtGetDeviceCount = GetDeviceCount;
  f->aclrtSetDevice = SetDevice;
  f->aclrtGetDevice = GetDevice;
  f->aclrtResetDevice = ResetDevice;
  f->aclrtCreateContext = CreateContext;
  f->aclrtDestroyContext = DestroyContext;
  f->aclrtSetCurrentContext = SetCurrentContext;
  f->aclrtGetCurrentContext = GetCurrentContext;
  f->aclrtCreateStream = CreateStream;
  f->aclrtDestroyStream = DestroyStream;
  f->aclrtSynchronizeStream = SynchronizeStream;
  f->aclrtSynchronizeStreamWithTimeout = SynchronizeStreamWithTimeout;
  f->aclrtStreamQuery = StreamQuery;
  f->aclrtStreamAbort = StreamAbort;
}

void FillWork(acl::Functions* f) {
  f->aclrtCreateEvent = CreateEvent;
  f->aclrtDestroyEvent = DestroyEvent;
  f->aclrtRecordEvent = RecordEvent;
  f->aclrtQueryEventStatus = QueryEventStatus;
  f->aclrtSynchronizeEvent = SynchronizeEvent;
  f->aclrtSynchronizeEventWithTimeout = SynchronizeEventWithTimeout;
  f->aclrtMalloc = Malloc;
  f->aclrtFree = Free;
  f->aclrtMemcpy = Memcpy;
  f->aclrtMemcpyAsync = MemcpyAsync;
  f->aclrtMemset = Memset;
  f->aclrtGetMemInfo = GetMemInfo;
  f->aclrtBinaryLoadFromData = BinaryLoadFromData;
  f->aclrtBinaryLoadFromFile = BinaryLoadFromFile;
  f->aclrtBinaryUnLoad = BinaryUnLoad;
  f->aclrtBinaryGetFunction = BinaryGetFunction;
  f->aclrtLaunchKernelWithHostArgs = LaunchWithHostArgs;
  f->aclrtKernelArgsInit = KernelArgsInit;
  f->aclrtKernelArgsAppend = KernelArgsAppend;
  f->aclrtKernelArgsFinalize = KernelArgsFinalize;
  f->aclrtLaunchKernelWithConfig = LaunchWithConfig;
}

}  // namespace

FakeAcl::FakeAcl() { fake = this; }

FakeAcl::~FakeAcl() {
  current_context = nullptr;
  fake = nullptr;
}

std::unique_ptr<acl::Table> FakeAcl::MakeTable(bool is_mock, const std::function<void(acl::Functions*)>& edit) {
  acl::Functions functions;
  FillBasics(&functions);
  FillWork(&functions);
  if (edit) edit(&functions);
  return std::make_unique<acl::Table>(functions, acl::TableInfo{"/fake/libascendcl.so", is_mock});
}

acl::Session FakeAcl::MakeSession(bool is_mock, const std::function<void(acl::Functions*)>& edit) {
  return std::move(acl::Session::Adopt(MakeTable(is_mock, edit))).value();
}

}  // namespace pypto::runtime::testing
