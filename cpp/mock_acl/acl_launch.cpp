// Launches.
#include <algorithm>
#include <cstring>

#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::ArgumentList;
using mock::CallId;
using mock::Enter;
using mock::EnterFast;
using mock::Fail;
using mock::Function;
using mock::Instance;
using mock::ResolveStream;
using mock::Stream;
using mock::Task;
using mock::ThreadState;

namespace {

constexpr uint32_t kMaxBlocks = 65535;
constexpr uint64_t kPointerBytes = 8;

aclError CheckAttribute(const aclrtLaunchKernelAttr& attribute, uint32_t blocks) {
  const auto& value = attribute.value;
  switch (attribute.id) {
    case kLaunchAttrScheduleMode:
      if (value.schemMode > 1) return Fail(kErrorRtParamInvalid, "schedule mode %u is unknown", value.schemMode);
      if (value.schemMode == 1 && blocks > Instance::Get().settings().cores) {
        return Fail(kErrorRtParamInvalid, "%u blocks cannot start together on %u cores", blocks,
                    Instance::Get().settings().cores);
      }
      return kSuccess;
    case kLaunchAttrEngineType:
      return value.engineType <= kEngineVector ? kSuccess : Fail(kErrorRtParamInvalid, "unknown engine type");
    case kLaunchAttrBlockTaskPrefetch:
      return value.isBlockTaskPrefetch <= 1 ? kSuccess : Fail(kErrorRtParamInvalid, "prefetch is 0 or 1");
    case kLaunchAttrDynamicUnifiedBuffer:
    case kLaunchAttrBlockDimOffset: return kSuccess;
    case kLaunchAttrDataDump:
      if (value.isDataDump == 0) return kSuccess;
      if (value.isDataDump > 1) return Fail(kErrorRtParamInvalid, "data dump is 0 or 1");
      [[fallthrough]];
    case kLaunchAttrTimeout:
    case kLaunchAttrTimeoutUs:
      return Fail(kErrorUnsupported, "launch attribute %u is not offered by the mock library", unsigned{attribute.id});
  }
  return Fail(kErrorRtParamInvalid, "unknown launch attribute %u", unsigned{attribute.id});
}

aclError CheckConfig(const aclrtLaunchKernelCfg& config, uint32_t blocks) {
  if (config.numAttrs == 0) return kSuccess;
  if (config.attrs == nullptr) {
    return Fail(kErrorRtParamInvalid, "%zu launch attributes announced, none given", config.numAttrs);
  }
  bool seconds = false;
  bool microseconds = false;
  for (size_t i = 0; i < config.numAttrs; ++i) {
    seconds |= config.attrs[i].id == kLaunchAttrTimeout;
    microseconds |= config.attrs[i].id == kLaunchAttrTimeoutUs;
  }
  if (seconds && microseconds) return Fail(kErrorRtParamInvalid, "two time-outs for one launch");
  for (size_t i = 0; i < config.numAttrs; ++i) {
    const aclError code = CheckAttribute(config.attrs[i], blocks);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

struct Launch {
  Function* function = nullptr;
  uint32_t blocks = 1;
  Stream* stream = nullptr;
};

[[gnu::always_inline]] inline aclError Resolve(ThreadState& thread, const void* function, uint32_t blocks,
                                               const void* stream, const aclrtLaunchKernelCfg* config, Launch* launch) {
  launch->function = mock::FindFunction(thread, function);
  if (launch->function == nullptr) [[unlikely]] {
    // Without a context nothing else is looked at.
    if (mock::CurrentContext(thread) == nullptr) return mock::NoContext();
    return Fail(kErrorRtInvalidHandle, "the function's binary is not loaded");
  }
  if (blocks == 0 || blocks > kMaxBlocks) [[unlikely]] {
    return Fail(kErrorRtParamInvalid, "%u blocks: 1 to %u are allowed", blocks, kMaxBlocks);
  }
  launch->blocks = blocks;
  const aclError code = ResolveStream(thread, stream, &launch->stream);
  if (code != kSuccess) [[unlikely]]
    return code;
  if (launch->function->context != launch->stream->context()) [[unlikely]] {
    return Fail(kErrorRtStreamContext, "the function was loaded in another context");
  }
  return config == nullptr ? kSuccess : CheckConfig(*config, blocks);
}

aclError CheckPlaceHolders(const aclrtPlaceHolderInfo* holders, size_t count, size_t bytes) {
  if (count > 0 && holders == nullptr) {
    return Fail(kErrorRtParamInvalid, "%zu place-holders announced, none given", count);
  }
  for (size_t i = 0; i < count; ++i) {
    const bool address_fits = holders[i].addrOffset < bytes && bytes - holders[i].addrOffset >= kPointerBytes;
    if (!address_fits || holders[i].dataOffset >= bytes) {
      return Fail(kErrorRtParamInvalid, "place-holder %zu: offsets %u and %u leave the %zu argument bytes", i,
                  holders[i].addrOffset, holders[i].dataOffset, bytes);
    }
  }
  return kSuccess;
}

// Takes the argument bytes and writes the device addresses of data sent along into them.
[[gnu::noinline]] aclError Capture(Stream& stream, Task& task, const void* arguments, size_t bytes,
                                   const aclrtPlaceHolderInfo* holders, size_t holder_count) {
  if (!stream.ReserveArguments(task, bytes)) [[unlikely]] {
    return Fail(kErrorRtMemoryAllocation, "no room for %zu argument bytes", bytes);
  }
  std::memcpy(task.arguments, arguments, bytes);
  for (size_t i = 0; i < holder_count; ++i) {
    const uint64_t address = task.argument_address + holders[i].dataOffset;
    std::memcpy(task.arguments + holders[i].addrOffset, &address, kPointerBytes);
  }
  task.captured_bytes = holder_count == 0 ? bytes : 0;
  return kSuccess;
}

// Captures the argument bytes and queues.
[[gnu::always_inline]] inline aclError LaunchCaptured(const Launch& launch, const void* arguments, size_t bytes,
                                                      const aclrtPlaceHolderInfo* holders, size_t holder_count) {
  Stream& stream = *launch.stream;
  return stream.Push(Stream::Kick::kNo, [&](Task& task) __attribute__((always_inline)) {
    // The same bytes as in the last launch from here stay where they are.
    const size_t head = std::min(bytes, mock::kVersionedBytes);
    const bool there = task.captured_bytes == bytes && std::memcmp(task.arguments, arguments, head) == 0;
    if (there && holder_count == 0) [[likely]] {
      if (bytes > head) {
        std::memcpy(task.arguments + head, static_cast<const std::byte*>(arguments) + head, bytes - head);
      }
    } else {
      const aclError code = Capture(stream, task, arguments, bytes, holders, holder_count);
      if (code != kSuccess) [[unlikely]]
        return code;
    }
    task.kind = Task::Kind::kLaunch;
    task.function = launch.function;
    task.blocks = launch.blocks;
    task.argument_bytes = bytes;
    task.device_arguments = 0;
    return kSuccess;
  });
}

aclError LaunchFromDevice(ThreadState& thread, const void* function, uint32_t blocks, const void* arguments,
                          size_t bytes, const aclrtLaunchKernelCfg* config, const void* stream) {
  MOCK_REQUIRE(function);
  MOCK_REQUIRE(arguments);
  Launch launch;
  const aclError code = Resolve(thread, function, blocks, stream, config, &launch);
  if (code != kSuccess) return code;
  const auto address = reinterpret_cast<uint64_t>(arguments);
  if (launch.stream->context()->device->memory().Translate(address, bytes) == nullptr) {
    return Fail(kErrorRtParamInvalid, "the argument block %p + %zu bytes lies in no block of device memory", arguments,
                bytes);
  }
  return launch.stream->Push(Stream::Kick::kNo, [&](Task& task) {
    task.kind = Task::Kind::kLaunch;
    task.function = launch.function;
    task.blocks = launch.blocks;
    task.argument_bytes = bytes;
    task.device_arguments = address;
    return kSuccess;
  });
}

aclError LaunchList(ThreadState& thread, const void* function, uint32_t blocks, const void* stream,
                    const aclrtLaunchKernelCfg* config, const void* handle) {
  Launch launch;
  ArgumentList* list = nullptr;
  aclError code = Resolve(thread, function, blocks, stream, config, &launch);
  if (code == kSuccess) code = mock::ResolveList(thread, handle, &list);
  if (code != kSuccess) return code;
  if (!list->finished()) return Fail(kErrorRtFeatureNotSupported, "aclrtKernelArgsFinalize is missing");
  if (list->function() != launch.function || list->function_handle() != launch.function->handle.load()) {
    return Fail(kErrorRtInvalidHandle, "the argument list was made for another function");
  }
  const auto& holders = list->place_holders();
  return LaunchCaptured(launch, list->bytes().data(), list->bytes().size(), holders.data(), holders.size());
}

}  // namespace

extern "C" {

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle function, uint32_t blocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg* config, void* arguments, size_t bytes,
                                       aclrtPlaceHolderInfo* holders, size_t holder_count) {
  return EnterFast(
      CallId::aclrtLaunchKernelWithHostArgs,
      [](ThreadState& thread, aclrtFuncHandle called, uint32_t block_count, aclrtStream queue,
         aclrtLaunchKernelCfg* options, void* captured, size_t size, aclrtPlaceHolderInfo* places, size_t place_count)
          __attribute__((always_inline)) -> aclError {
            MOCK_REQUIRE_AS(called, "function");
            MOCK_REQUIRE_AS(captured, "arguments");
            Launch launch;
            aclError code = Resolve(thread, called, block_count, queue, options, &launch);
            if (code != kSuccess) [[unlikely]]
              return code;
            if (size == 0) [[unlikely]]
              return Fail(kErrorRtParamInvalid, "there are no argument bytes");
            if (place_count != 0) [[unlikely]] {
              code = CheckPlaceHolders(places, place_count, size);
              if (code != kSuccess) return code;
            }
            return LaunchCaptured(launch, captured, size, places, place_count);
          },
      function, blocks, stream, config, arguments, bytes, holders, holder_count);
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle function, uint32_t blocks, aclrtStream stream,
                                     aclrtLaunchKernelCfg* config, aclrtArgsHandle list, void* reserve) {
  return Enter(
      CallId::aclrtLaunchKernelWithConfig,
      [&](ThreadState& thread) -> aclError {
        MOCK_REQUIRE(function);
        MOCK_REQUIRE(list);
        if (reserve != nullptr) return Fail(kErrorInvalidParam, "argument 'reserve' must be null");
        if (blocks == 0) return Fail(kErrorInvalidParam, "argument 'numBlocks' must not be 0");
        return LaunchList(thread, function, blocks, stream, config, list);
      },
      function, blocks, stream, config, list, reserve);
}

aclError aclrtLaunchKernel(aclrtFuncHandle function, uint32_t blocks, const void* arguments, size_t bytes,
                           aclrtStream stream) {
  return Enter(
      CallId::aclrtLaunchKernel,
      [&](ThreadState& thread) {
        return LaunchFromDevice(thread, function, blocks, arguments, bytes, nullptr, stream);
      },
      function, blocks, arguments, bytes, stream);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle function, uint32_t blocks, const void* arguments, size_t bytes,
                             aclrtLaunchKernelCfg* config, aclrtStream stream) {
  return Enter(
      CallId::aclrtLaunchKernelV2,
      [&](ThreadState& thread) { return LaunchFromDevice(thread, function, blocks, arguments, bytes, config, stream); },
      function, blocks, arguments, bytes, config, stream);
}

aclError aclrtGetHardwareSyncAddr(void** address) {
  return Enter(
      CallId::aclrtGetHardwareSyncAddr,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(address);
        mock::Context* context = nullptr;
        const aclError code = mock::ResolveContext(thread, &context);
        if (code != kSuccess) return code;
        *address = reinterpret_cast<void*>(Instance::Get().HardwareSyncAddress(*context->device));
        return *address != nullptr ? kSuccess : Fail(kErrorRtMemoryAllocation, "no room for the synchronisation word");
      },
      address);
}

}  // extern "C"

}  // namespace pypto::acl_abi
