// Device and host memory: allocation, release, questions about pointers.
#include <optional>

#include "pypto/base/checked.h"
#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/mock_log.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::CallId;
using mock::Context;
using mock::Device;
using mock::DeviceMemory;
using mock::Enter;
using mock::Fail;
using mock::FreeOutcome;
using mock::HostMemory;
using mock::Instance;
using mock::PagePolicy;
using mock::ThreadState;

namespace {

constexpr uint64_t kSizeStep = 32;
constexpr uint64_t kExtraBytes = 32;
constexpr uint32_t kPolicyMask = 0xff;
constexpr uint32_t kKnownPolicyFlags = kMallocLowBand | kMallocHighBand | kMallocUserSpaceReadOnly;

enum class Padding : uint8_t { kNone, kRounded, kRoundedAndExtra };

std::optional<PagePolicy> PolicyOf(uint32_t policy) {
  const uint32_t flags = policy & ~kPolicyMask;
  if ((flags & ~kKnownPolicyFlags) != 0) return std::nullopt;
  if ((flags & kMallocLowBand) != 0 && (flags & kMallocHighBand) != 0) return std::nullopt;
  switch (policy & kPolicyMask) {
    case kMallocHugeFirst:
    case kMallocHugeFirstPeer: return PagePolicy::kHugeFirst;
    case kMallocHugeOnly:
    case kMallocHugeOnlyPeer: return PagePolicy::kHugeOnly;
    case kMallocNormalOnly:
    case kMallocNormalOnlyPeer: return PagePolicy::kNormalOnly;
    case kMallocHuge1GOnly:
    case kMallocHuge1GOnlyPeer: return PagePolicy::kGiantOnly;
    default: return std::nullopt;
  }
}

// What the device counts for a request, before rounding to pages.
std::optional<uint64_t> PaddedSize(uint64_t size, Padding padding, PagePolicy policy) {
  if (padding == Padding::kNone) return size;
  auto padded = base::CheckedAlignUp(size, kSizeStep);
  const bool extra = padding == Padding::kRoundedAndExtra && policy != PagePolicy::kGiantOnly;
  if (padded && extra) padded = base::CheckedAdd(*padded, kExtraBytes);
  return padded;
}

aclError AllocateOn(Device& device, void** pointer, size_t size, uint32_t policy, Padding padding) {
  if (size == 0) return Fail(kErrorInvalidParam, "argument 'size' must not be 0");
  const auto pages = PolicyOf(policy);
  if (!pages) return Fail(kErrorRtParamInvalid, "memory policy 0x%x is unknown or contradicts itself", policy);
  DeviceMemory& memory = device.memory();
  const auto padded = PaddedSize(size, padding, *pages);
  const uint64_t address = padded && *padded <= memory.total_bytes() ? memory.Allocate(size, *padded, *pages) : 0;
  if (address == 0) {
    return Fail(kErrorRtMemoryAllocation, "device %d: no memory for %zu bytes (free %llu of %llu)", device.id(), size,
                static_cast<unsigned long long>(memory.free_bytes()),
                static_cast<unsigned long long>(memory.total_bytes()));
  }
  *pointer = reinterpret_cast<void*>(address);
  return kSuccess;
}

aclError Allocate(ThreadState& thread, void** pointer, size_t size, uint32_t policy, Padding padding) {
  MOCK_REQUIRE(pointer);
  Context* context = nullptr;
  const aclError code = mock::ResolveContext(thread, &context);
  return code != kSuccess ? code : AllocateOn(*context->device, pointer, size, policy, padding);
}

// The device that the attributes name, else the current one.
aclError DeviceOf(const aclrtMallocConfig* config, Device** device) {
  if (config == nullptr || config->numAttrs == 0) return kSuccess;
  if (config->attrs == nullptr)
    return Fail(kErrorRtParamInvalid, "%zu attributes announced, none given", config->numAttrs);
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = config->attrs[i];
    if (attribute.attr > kMallocAttrVaFlag) {
      return Fail(kErrorRtParamInvalid, "unknown memory attribute %u", unsigned{attribute.attr});
    }
    if (attribute.attr != kMallocAttrDeviceId) continue;
    aclError code = kSuccess;
    *device = Instance::Get().FindDevice(attribute.value.deviceId, &code);
    if (*device == nullptr) return code;
    if (!(*device)->started()) {
      return Fail(kErrorRtInvalidDeviceId, "device %u was never set", attribute.value.deviceId);
    }
  }
  return kSuccess;
}

aclError Release(void* pointer) {
  MOCK_REQUIRE(pointer);
  Instance& instance = Instance::Get();
  if (!instance.initialized()) return mock::NotInitialized();
  const auto address = reinterpret_cast<uint64_t>(pointer);
  Device* device = instance.DeviceOfAddress(address);
  const FreeOutcome outcome = device != nullptr ? device->memory().Free(address) : FreeOutcome::kUnknown;
  switch (outcome) {
    case FreeOutcome::kFreed: return kSuccess;
    case FreeOutcome::kUnknown:
      return Fail(kErrorRtDriverInternal, "cannot free %p: no block of device memory begins there", pointer);
    case FreeOutcome::kInterior:
      return Fail(kErrorRtDriverInternal, "cannot free %p: it lies inside a block, not at its start", pointer);
    case FreeOutcome::kAlreadyFree: return Fail(kErrorRtDriverInternal, "cannot free %p: it was freed before", pointer);
    case FreeOutcome::kGuardBroken: break;
  }
  instance.CountGuardViolation();
  mock::MockLog(log::Level::kError, "the guard behind block %p was overwritten", pointer);
  return Fail(kErrorRtDriverInternal, "freed %p, but something wrote behind the end of the block", pointer);
}

bool OnThisChip(aclrtMemAttr attribute) {
  switch (attribute) {
    case kMemDdr:
    case kMemDdrHuge:
    case kMemDdrNormal:
    case kMemDdrHugePeer:
    case kMemDdrNormalPeer: return false;
    default: return true;
  }
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** pointer, size_t size, aclrtMemMallocPolicy policy) {
  return Enter(
      CallId::aclrtMalloc,
      [&](ThreadState& thread) { return Allocate(thread, pointer, size, policy, Padding::kRoundedAndExtra); }, pointer,
      size, policy);
}

aclError aclrtMallocAlign32(void** pointer, size_t size, aclrtMemMallocPolicy policy) {
  return Enter(
      CallId::aclrtMallocAlign32,
      [&](ThreadState& thread) { return Allocate(thread, pointer, size, policy, Padding::kRounded); }, pointer, size,
      policy);
}

aclError aclrtMallocCached(void** pointer, size_t size, aclrtMemMallocPolicy policy) {
  return Enter(
      CallId::aclrtMallocCached,
      [&](ThreadState& thread) { return Allocate(thread, pointer, size, policy, Padding::kRoundedAndExtra); }, pointer,
      size, policy);
}

aclError aclrtMallocWithCfg(void** pointer, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* config) {
  return Enter(
      CallId::aclrtMallocWithCfg,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(pointer);
        Context* context = nullptr;
        aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess) return code;
        Device* device = context->device;
        code = DeviceOf(config, &device);
        return code != kSuccess ? code : AllocateOn(*device, pointer, size, policy, Padding::kNone);
      },
      pointer, size, policy, config);
}

aclError aclrtFree(void* pointer) {
  return Enter(CallId::aclrtFree, [&](ThreadState&) { return Release(pointer); }, pointer);
}

aclError aclrtFreeWithDevSync(void* pointer) {
  return Enter(
      CallId::aclrtFreeWithDevSync,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(pointer);
        Context* context = nullptr;
        aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess) return code;
        const aclError pending = Instance::Get().SynchronizeDevice(*context->device, mock::kNoDeadline);
        code = Release(pointer);
        return code != kSuccess ? code : pending;
      },
      pointer);
}

aclError aclrtMallocHost(void** pointer, size_t size) {
  return Enter(
      CallId::aclrtMallocHost,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(pointer);
        if (size == 0) return Fail(kErrorInvalidParam, "argument 'size' must not be 0");
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess) return code;
        *pointer = Instance::Get().host_memory.Allocate(size);
        return *pointer != nullptr ? kSuccess : Fail(kErrorRtMemoryAllocation, "no host memory for %zu bytes", size);
      },
      pointer, size);
}

aclError aclrtFreeHost(void* pointer) {
  return Enter(
      CallId::aclrtFreeHost,
      [&](ThreadState&) {
        MOCK_REQUIRE(pointer);
        Instance& instance = Instance::Get();
        if (!instance.initialized()) return mock::NotInitialized();
        if (instance.host_memory.Free(pointer)) return kSuccess;
        return Fail(kErrorRtDriverInternal, "cannot free %p: aclrtMallocHost did not give it out", pointer);
      },
      pointer);
}

aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* free, size_t* total) {
  return Enter(
      CallId::aclrtGetMemInfo,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(free);
        MOCK_REQUIRE(total);
        if (attribute > kMemAny1GPeer) return Fail(kErrorInvalidParam, "unknown memory kind %u", unsigned{attribute});
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess) return code;
        const DeviceMemory& memory = context->device->memory();
        *free = OnThisChip(attribute) ? memory.free_bytes() : 0;
        *total = OnThisChip(attribute) ? memory.total_bytes() : 0;
        return kSuccess;
      },
      attribute, free, total);
}

aclError aclrtPointerGetAttributes(const void* pointer, aclrtPtrAttributes* attributes) {
  return Enter(
      CallId::aclrtPointerGetAttributes,
      [&](ThreadState&) {
        MOCK_REQUIRE(pointer);
        MOCK_REQUIRE(attributes);
        Instance& instance = Instance::Get();
        if (!instance.initialized()) return mock::NotInitialized();
        *attributes = {};
        attributes->location.type = kLocationUnregistered;
        const auto address = reinterpret_cast<uint64_t>(pointer);
        if (const Device* device = instance.DeviceOfAddress(address)) {
          if (const auto block = device->memory().Find(address)) {
            attributes->location = {static_cast<uint32_t>(device->id()), kLocationDevice};
            attributes->pageSize = static_cast<uint32_t>(block->page_bytes);
          }
        } else if (instance.host_memory.Pinned(pointer, 1)) {
          attributes->location.type = kLocationHost;
        }
        return kSuccess;
      },
      pointer, attributes);
}

aclError aclrtHostRegisterV2(void* pointer, uint64_t size, uint32_t flag) {
  return Enter(
      CallId::aclrtHostRegisterV2,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(pointer);
        constexpr uint32_t kKnown = kHostRegisterMapped | kHostRegisterIo | kHostRegisterReadOnly | kHostRegisterPinned;
        if (size == 0 || (flag & ~kKnown) != 0) {
          return Fail(kErrorRtParamInvalid, "size %llu, flags 0x%x", static_cast<unsigned long long>(size), flag);
        }
        if ((flag & ~kHostRegisterPinned) != 0) {
          return Fail(kErrorRtFeatureNotSupported, "the device cannot read host memory here: flags 0x%x", flag);
        }
        Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess) return code;
        if (Instance::Get().host_memory.Register(pointer, size) == HostMemory::Registration::kDone) return kSuccess;
        return Fail(kErrorRtHostRegistered, "%p or a part behind it is registered already", pointer);
      },
      pointer, size, flag);
}

aclError aclrtHostUnregister(void* pointer) {
  return Enter(
      CallId::aclrtHostUnregister,
      [&](ThreadState&) {
        MOCK_REQUIRE(pointer);
        Instance& instance = Instance::Get();
        if (!instance.initialized()) return mock::NotInitialized();
        if (instance.host_memory.Unregister(pointer) == HostMemory::Registration::kDone) return kSuccess;
        return Fail(kErrorRtHostNotRegistered, "%p is not the start of a registered range", pointer);
      },
      pointer);
}

aclError aclrtMemGetAddressRange(void* pointer, void** start, size_t* size) {
  return Enter(
      CallId::aclrtMemGetAddressRange,
      [&](ThreadState&) {
        MOCK_REQUIRE(pointer);
        Instance& instance = Instance::Get();
        if (!instance.initialized()) return mock::NotInitialized();
        const auto address = reinterpret_cast<uint64_t>(pointer);
        const Device* device = instance.DeviceOfAddress(address);
        const auto block = device != nullptr ? device->memory().Find(address) : std::nullopt;
        if (!block) return Fail(kErrorRtParamInvalid, "%p lies in no block of device memory", pointer);
        if (start != nullptr) *start = reinterpret_cast<void*>(block->address);
        if (size != nullptr) *size = block->bytes;
        return kSuccess;
      },
      pointer, start, size);
}

}  // extern "C"

}  // namespace pypto::acl_abi
