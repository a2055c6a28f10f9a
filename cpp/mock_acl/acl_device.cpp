// Devices and contexts.
#include <algorithm>

#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::CallId;
using mock::Context;
using mock::Device;
using mock::Enter;
using mock::EnterFast;
using mock::Fail;
using mock::Instance;
using mock::ThreadState;

namespace {

constexpr int64_t kUnifiedBufferBytes = 192 << 10;
constexpr int64_t kL2Bytes = 192 << 20;
constexpr int32_t kLeastPriority = 7;
constexpr int32_t kGreatestPriority = 0;

int64_t ArchOf(const std::string& soc) {
  if (soc.starts_with("Ascend950")) return kNpuArch950;
  if (soc.starts_with("Ascend310P")) return kNpuArch310P;
  if (soc.starts_with("Ascend310B")) return kNpuArch310B;
  if (soc.starts_with("Ascend910B") || soc.starts_with("Ascend910_93")) return kNpuArch910B;
  return kNpuArch910;
}

aclError Attribute(const Device& device, aclrtDevAttr attribute, int64_t* value) {
  const auto& settings = Instance::Get().settings();
  switch (attribute) {
    case kDevAttrAiCpuCount: *value = 1; return kSuccess;
    case kDevAttrAiCoreCount:
    case kDevAttrCubeCoreCount:
    case kDevAttrVectorCoreCount: *value = settings.cores; return kSuccess;
    case kDevAttrUnifiedBufferBytes: *value = kUnifiedBufferBytes; return kSuccess;
    case kDevAttrTotalMemoryBytes:
      *value = static_cast<int64_t>(device.started() ? device.memory().total_bytes() : settings.memory_bytes);
      return kSuccess;
    case kDevAttrL2CacheBytes: *value = kL2Bytes; return kSuccess;
    case kDevAttrIsVirtual: *value = 0; return kSuccess;
    case kDevAttrNpuArch: *value = ArchOf(settings.soc); return kSuccess;
  }
  return Fail(kErrorRtParamInvalid, "unknown device attribute %u", unsigned{attribute});
}

aclError SynchronizeCurrent(ThreadState& thread, int32_t timeout_ms) {
  Context* context = nullptr;
  const aclError code = mock::ResolveContext(thread, &context);
  if (code != kSuccess) return code;
  const auto deadline = mock::DeadlineAfter(timeout_ms);
  if (!deadline) return Fail(kErrorRtParamInvalid, "a time-out of %d ms is not allowed", timeout_ms);
  return Instance::Get().SynchronizeDevice(*context->device, *deadline);
}

// Both ids exist and differ.
aclError CheckPeers(int64_t device, int64_t peer) {
  aclError code = kSuccess;
  if (Instance::Get().FindDevice(device, &code) == nullptr || Instance::Get().FindDevice(peer, &code) == nullptr) {
    return code;
  }
  return device == peer ? Fail(kErrorInvalidParam, "device %lld is no peer of itself", static_cast<long long>(device))
                        : kSuccess;
}

}  // namespace

extern "C" {

aclError aclrtGetDeviceCount(uint32_t* count) {
  return Enter(
      CallId::aclrtGetDeviceCount,
      [&](ThreadState&) {
        MOCK_REQUIRE(count);
        if (!Instance::Get().initialized()) return mock::NotInitialized();
        *count = static_cast<uint32_t>(Instance::Get().devices().size());
        return *count > 0 ? kSuccess : Fail(kErrorRtNoDevice, "there is no device (PYPTO_MOCK_DEVICES is 0)");
      },
      count);
}

aclError aclrtSetDevice(int32_t id) {
  return Enter(CallId::aclrtSetDevice, [&](ThreadState&) { return Instance::Get().SetDevice(id); }, id);
}

aclError aclrtGetDevice(int32_t* id) {
  return Enter(
      CallId::aclrtGetDevice,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(id);
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code == kSuccess) *id = context->device->id();
        return code;
      },
      id);
}

aclError aclrtResetDevice(int32_t id) {
  return Enter(CallId::aclrtResetDevice, [&](ThreadState&) { return Instance::Get().ResetDevice(id, false); }, id);
}

aclError aclrtResetDeviceForce(int32_t id) {
  return Enter(CallId::aclrtResetDeviceForce, [&](ThreadState&) { return Instance::Get().ResetDevice(id, true); }, id);
}

aclError aclrtSynchronizeDevice() {
  return Enter(CallId::aclrtSynchronizeDevice, [](ThreadState& thread) { return SynchronizeCurrent(thread, -1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout_ms) {
  return Enter(
      CallId::aclrtSynchronizeDeviceWithTimeout,
      [&](ThreadState& thread) { return SynchronizeCurrent(thread, timeout_ms); }, timeout_ms);
}

aclError aclrtGetRunMode(aclrtRunMode* mode) {
  return Enter(
      CallId::aclrtGetRunMode,
      [&](ThreadState&) {
        MOCK_REQUIRE(mode);
        *mode = kRunModeHost;
        return kSuccess;
      },
      mode);
}

aclError aclrtGetDeviceInfo(uint32_t id, aclrtDevAttr attribute, int64_t* value) {
  return Enter(
      CallId::aclrtGetDeviceInfo,
      [&](ThreadState&) {
        MOCK_REQUIRE(value);
        aclError code = kSuccess;
        const Device* device = Instance::Get().FindDevice(id, &code);
        return device != nullptr ? Attribute(*device, attribute, value) : code;
      },
      id, attribute, value);
}

aclError aclrtQueryDeviceStatus(int32_t id, aclrtDeviceStatus* status) {
  return Enter(
      CallId::aclrtQueryDeviceStatus,
      [&](ThreadState&) {
        MOCK_REQUIRE(status);
        aclError code = kSuccess;
        if (Instance::Get().FindDevice(id, &code) != nullptr) *status = kDeviceNormal;
        return code;
      },
      id, status);
}

aclError aclrtGetPrimaryCtxState(int32_t id, uint32_t* flags, int32_t* active) {
  return Enter(
      CallId::aclrtGetPrimaryCtxState,
      [&](ThreadState&) {
        MOCK_REQUIRE(active);
        aclError code = kSuccess;
        const Device* device = Instance::Get().FindDevice(id, &code);
        if (device == nullptr) return code;
        *active = device->primary != nullptr ? 1 : 0;
        if (flags != nullptr) *flags = 0;
        return code;
      },
      id, flags, active);
}

aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t id, int32_t peer) {
  return Enter(
      CallId::aclrtDeviceCanAccessPeer,
      [&](ThreadState&) {
        MOCK_REQUIRE(can);
        const aclError code = CheckPeers(id, peer);
        if (code == kSuccess) *can = 1;
        return code;
      },
      can, id, peer);
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
  return Enter(
      CallId::aclrtDeviceEnablePeerAccess,
      [&](ThreadState& thread) {
        if (flags != 0) return Fail(kErrorFlagUnsupported, "flags must be 0, not %u", flags);
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        return code != kSuccess ? code : CheckPeers(context->device->id(), peer);
      },
      peer, flags);
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) {
  return Enter(
      CallId::aclrtDeviceGetStreamPriorityRange,
      [&](ThreadState&) {
        MOCK_REQUIRE(least);
        MOCK_REQUIRE(greatest);
        *least = kLeastPriority;
        *greatest = kGreatestPriority;
        return kSuccess;
      },
      least, greatest);
}

aclError aclrtCreateContext(aclrtContext* context, int32_t id) {
  return Enter(
      CallId::aclrtCreateContext,
      [&](ThreadState&) {
        MOCK_REQUIRE(context);
        return Instance::Get().CreateContext(id, context);
      },
      context, id);
}

aclError aclrtDestroyContext(aclrtContext context) {
  return Enter(
      CallId::aclrtDestroyContext,
      [&](ThreadState&) {
        MOCK_REQUIRE(context);
        return Instance::Get().DestroyContext(context);
      },
      context);
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return Enter(
      CallId::aclrtSetCurrentContext,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(context);
        Context* found = Instance::Get().contexts.Find(context);
        if (found == nullptr) [[unlikely]]
          return Fail(kErrorRtContextNull, "the context is not alive");
        thread.context = found;
        thread.context_handle = reinterpret_cast<uint64_t>(context);
        return kSuccess;
      },
      context);
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return EnterFast(
      CallId::aclrtGetCurrentContext,
      [](ThreadState& thread, aclrtContext* answer) __attribute__((always_inline)) -> aclError {
        MOCK_REQUIRE_AS(answer, "context");
        Context* found = nullptr;
        const aclError code = mock::ResolveContext(thread, &found);
        if (code == kSuccess) [[likely]]
          *answer = reinterpret_cast<void*>(thread.context_handle);
        return code;
      },
      context);
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return Enter(
      CallId::aclrtCtxGetCurrentDefaultStream,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(stream);
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code == kSuccess) *stream = context->default_stream->pointer();
        return code;
      },
      stream);
}

}  // extern "C"

}  // namespace pypto::acl_abi
