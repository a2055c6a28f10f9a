// The exported functions of pypto/mock_acl.h.
#include <array>
#include <mutex>
#include <optional>

#include "pypto/mock_acl.h"
#include "pypto/mock_acl/clock.h"
#include "pypto/mock_acl/entry.h"

namespace pypto::mock {
namespace {

static_assert(MOCK_FRESH_BYTE == kFreshByte && MOCK_FREED_BYTE == kFreedByte && MOCK_GUARD_BYTE == kGuardByte);

// What had been counted at the last reset.
struct Baseline {
  std::mutex mutex;
  std::array<uint64_t, kCallCount> calls{};
  uint64_t kernels = 0;
  uint64_t give_backs = 0;
  uint64_t shared_copies = 0;
};

Baseline& GetBaseline() {
  static auto* const baseline = new Baseline;
  return *baseline;
}

uint64_t KernelsSinceLoad() {
  uint64_t sum = Device::ended_devices_kernels.load(std::memory_order_relaxed);
  for (const auto& device : Instance::Get().devices()) sum += device->kernels_run();
  return sum;
}

uint64_t CallsOf(size_t index) { return TotalCalls(static_cast<CallId>(index)) - GetBaseline().calls[index]; }

// Looks the name up and applies `change` to its id.
template <typename Change>
int32_t WithCall(const char* name, Change&& change) {
  const auto id = name != nullptr ? FindCall(name) : std::nullopt;
  if (!id) return MOCK_UNKNOWN_NAME;
  change(*id);
  return MOCK_OK;
}

template <typename Count>
uint64_t SumOverDevices(int32_t id, Count&& count) {
  uint64_t sum = 0;
  for (const auto& device : Instance::Get().devices()) {
    if (device->started() && (id < 0 || device->id() == id)) sum += count(device->memory());
  }
  return sum;
}

uint64_t OwnStreams() {
  uint64_t count = 0;
  Instance::Get().streams.ForEachLive([&](const Stream& stream) { count += stream.counted ? 1 : 0; });
  return count;
}

}  // namespace
}  // namespace pypto::mock

#define MOCK_EXPORT [[gnu::visibility("default")]]

extern "C" {

using namespace pypto::mock;

MOCK_EXPORT int32_t pypto_mock_version(void) { return PYPTO_MOCK_VERSION; }

MOCK_EXPORT int32_t mock_fail_call(const char* function, uint64_t n, int32_t code) {
  if (function == nullptr) {
    AddCallFault(std::nullopt, n, code);
    return MOCK_OK;
  }
  return WithCall(function, [&](CallId id) { AddCallFault(id, n, code); });
}

MOCK_EXPORT int32_t mock_fail_kernel(uint64_t n, int32_t code) {
  AddKernelFault(n, code);
  return MOCK_OK;
}

MOCK_EXPORT uint64_t mock_pending_faults(void) { return PendingFaults(); }

MOCK_EXPORT void mock_clear_faults(void) { ClearFaults(); }

MOCK_EXPORT int32_t mock_set_before(const char* function, mock_before_hook hook, void* user) {
  return WithCall(function, [&](CallId id) { SetBefore(id, hook, user); });
}

MOCK_EXPORT int32_t mock_set_replace(const char* function, mock_replace_hook hook, void* user) {
  return WithCall(function, [&](CallId id) { SetReplace(id, hook, user); });
}

MOCK_EXPORT int32_t mock_set_after(const char* function, mock_after_hook hook, void* user) {
  return WithCall(function, [&](CallId id) { SetAfter(id, hook, user); });
}

MOCK_EXPORT int32_t mock_set_delay(const char* function, uint64_t nanoseconds) {
  return WithCall(function, [&](CallId id) { SetDelay(id, nanoseconds); });
}

MOCK_EXPORT void mock_clear_hooks(void) { ClearHooks(); }

MOCK_EXPORT uint64_t mock_function_count(void) { return kCallCount; }

MOCK_EXPORT const char* mock_function_name(uint64_t index) { return index < kCallCount ? kCallNames[index] : nullptr; }

MOCK_EXPORT uint64_t mock_call_count(const char* function) {
  std::lock_guard lock(GetBaseline().mutex);
  if (function != nullptr) {
    const auto id = FindCall(function);
    return id ? CallsOf(static_cast<size_t>(*id)) : 0;
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < kCallCount; ++i) sum += CallsOf(i);
  return sum;
}

MOCK_EXPORT uint64_t mock_live_bytes(int32_t device) {
  return SumOverDevices(device, [](const DeviceMemory& memory) { return memory.live_bytes(); });
}

MOCK_EXPORT uint64_t mock_live_blocks(int32_t device) {
  return SumOverDevices(device, [](const DeviceMemory& memory) { return memory.live_blocks(); });
}

MOCK_EXPORT uint64_t mock_live_host_bytes(void) { return Instance::Get().host_memory.live_bytes(); }

MOCK_EXPORT uint64_t mock_live_handles(mock_handle_kind kind) {
  const Instance& instance = Instance::Get();
  switch (kind) {
    case MOCK_HANDLE_CONTEXT: return instance.contexts.live();
    case MOCK_HANDLE_STREAM: return OwnStreams();
    case MOCK_HANDLE_EVENT: return instance.events.live();
    case MOCK_HANDLE_BINARY: return instance.binaries.live();
    case MOCK_HANDLE_FUNCTION: return instance.functions.live();
  }
  return 0;
}

MOCK_EXPORT uint64_t mock_guard_violations(void) { return Instance::Get().guard_violations(); }

MOCK_EXPORT uint64_t mock_kernels_run(void) {
  std::lock_guard lock(GetBaseline().mutex);
  return KernelsSinceLoad() - GetBaseline().kernels;
}

MOCK_EXPORT uint64_t mock_stream_threads(void) { return Stream::threads(); }

MOCK_EXPORT void mock_give_back(void) { Instance::Get().GiveBackPages(); }

MOCK_EXPORT uint64_t mock_give_back_count(void) {
  std::lock_guard lock(GetBaseline().mutex);
  return GiveBackCalls() - GetBaseline().give_backs;
}

MOCK_EXPORT uint64_t mock_shared_copies(void) {
  std::lock_guard lock(GetBaseline().mutex);
  return Instance::Get().copies.shared() - GetBaseline().shared_copies;
}

MOCK_EXPORT void* mock_device_bytes(const void* address, size_t bytes) {
  const auto number = reinterpret_cast<uint64_t>(address);
  const Device* device = Instance::Get().DeviceOfAddress(number);
  return device != nullptr ? device->memory().Translate(number, bytes) : nullptr;
}

MOCK_EXPORT int64_t mock_clock_ns(void) { return DeviceClock::Now(); }

MOCK_EXPORT void mock_advance_clock(int64_t nanoseconds) { DeviceClock::Advance(nanoseconds); }

MOCK_EXPORT void mock_reset(void) {
  ClearFaults();
  ClearHooks();
  Instance::Get().Reset();
  ThreadState& thread = CurrentThread();
  thread.message.clear();
  thread.last_error = 0;
  std::lock_guard lock(GetBaseline().mutex);
  for (size_t i = 0; i < kCallCount; ++i) GetBaseline().calls[i] = TotalCalls(static_cast<CallId>(i));
  GetBaseline().kernels = KernelsSinceLoad();
  GetBaseline().give_backs = GiveBackCalls();
  GetBaseline().shared_copies = Instance::Get().copies.shared();
}

}  // extern "C"
