// The rules as a list, sorted by call for look-up.
#include "pypto/acl/layers/handle_rules.h"

#include <algorithm>
#include <array>

namespace pypto::acl {
namespace {

using Kind = ValidationLayer::Kind;
using enum HandleRole;

constexpr HandleRule kUnsorted[] = {
    {CallId::aclrtCreateContext, 0, kCreates, Kind::kContext},
    {CallId::aclrtDestroyContext, 0, kDestroys, Kind::kContext},
    {CallId::aclrtSetCurrentContext, 0, kUses, Kind::kContext},
    {CallId::aclrtGetCurrentContext, 0, kHandsOut, Kind::kContext},
    {CallId::aclrtCtxGetCurrentDefaultStream, 0, kHandsOut, Kind::kStream},

    {CallId::aclrtCreateStream, 0, kCreates, Kind::kStream},
    {CallId::aclrtCreateStreamWithConfig, 0, kCreates, Kind::kStream},
    {CallId::aclrtDestroyStream, 0, kDestroys, Kind::kStream},
    {CallId::aclrtDestroyStreamForce, 0, kDestroys, Kind::kStream},
    {CallId::aclrtSynchronizeStream, 0, kUses, Kind::kStream},
    {CallId::aclrtSynchronizeStreamWithTimeout, 0, kUses, Kind::kStream},
    {CallId::aclrtStreamQuery, 0, kUses, Kind::kStream},
    {CallId::aclrtStreamAbort, 0, kUses, Kind::kStream},
    {CallId::aclrtStreamWaitEvent, 0, kUses, Kind::kStream},
    {CallId::aclrtStreamWaitEvent, 1, kUses, Kind::kEvent},
    {CallId::aclrtStreamWaitEventWithTimeout, 0, kUses, Kind::kStream},
    {CallId::aclrtStreamWaitEventWithTimeout, 1, kUses, Kind::kEvent},
    {CallId::aclrtSetStreamFailureMode, 0, kUses, Kind::kStream},
    {CallId::aclrtStreamGetId, 0, kUses, Kind::kStream},
    {CallId::aclrtSetStreamAttribute, 0, kUses, Kind::kStream},

    {CallId::aclrtCreateEvent, 0, kCreates, Kind::kEvent},
    {CallId::aclrtCreateEventWithFlag, 0, kCreates, Kind::kEvent},
    {CallId::aclrtCreateEventExWithFlag, 0, kCreates, Kind::kEvent},
    {CallId::aclrtDestroyEvent, 0, kDestroys, Kind::kEvent},
    {CallId::aclrtRecordEvent, 0, kUses, Kind::kEvent},
    {CallId::aclrtRecordEvent, 1, kUses, Kind::kStream},
    {CallId::aclrtResetEvent, 0, kUses, Kind::kEvent},
    {CallId::aclrtResetEvent, 1, kUses, Kind::kStream},
    {CallId::aclrtQueryEventStatus, 0, kUses, Kind::kEvent},
    {CallId::aclrtQueryEventWaitStatus, 0, kUses, Kind::kEvent},
    {CallId::aclrtSynchronizeEvent, 0, kUses, Kind::kEvent},
    {CallId::aclrtSynchronizeEventWithTimeout, 0, kUses, Kind::kEvent},
    {CallId::aclrtEventElapsedTime, 1, kUses, Kind::kEvent},
    {CallId::aclrtEventElapsedTime, 2, kUses, Kind::kEvent},
    {CallId::aclrtEventGetTimestamp, 0, kUses, Kind::kEvent},

    {CallId::aclrtMalloc, 0, kCreates, Kind::kDeviceMemory},
    {CallId::aclrtMallocAlign32, 0, kCreates, Kind::kDeviceMemory},
    {CallId::aclrtMallocCached, 0, kCreates, Kind::kDeviceMemory},
    {CallId::aclrtMallocWithCfg, 0, kCreates, Kind::kDeviceMemory},
    {CallId::aclrtFree, 0, kDestroys, Kind::kDeviceMemory},
    {CallId::aclrtFreeWithDevSync, 0, kDestroys, Kind::kDeviceMemory},
    {CallId::aclrtMallocHost, 0, kCreates, Kind::kHostMemory},
    {CallId::aclrtFreeHost, 0, kDestroys, Kind::kHostMemory},
    {CallId::aclrtMemcpyAsync, 5, kUses, Kind::kStream},
    {CallId::aclrtMemsetAsync, 4, kUses, Kind::kStream},

    {CallId::aclrtBinaryLoadFromFile, 2, kCreates, Kind::kBinary},
    {CallId::aclrtBinaryLoadFromData, 3, kCreates, Kind::kBinary},
    {CallId::aclrtBinaryUnLoad, 0, kDestroys, Kind::kBinary},
    {CallId::aclrtBinaryGetFunction, 0, kUses, Kind::kBinary},
    {CallId::aclrtBinaryGetFunction, 2, kHandsOut, Kind::kFunction},
    {CallId::aclrtBinaryGetFunctionByEntry, 0, kUses, Kind::kBinary},
    {CallId::aclrtBinaryGetFunctionByEntry, 2, kHandsOut, Kind::kFunction},
    {CallId::aclrtBinaryGetDevAddress, 0, kUses, Kind::kBinary},
    {CallId::aclrtGetFunctionAddr, 0, kUses, Kind::kFunction},
    {CallId::aclrtGetFunctionSize, 0, kUses, Kind::kFunction},
    {CallId::aclrtGetFunctionName, 0, kUses, Kind::kFunction},
    {CallId::aclrtGetFunctionAttribute, 0, kUses, Kind::kFunction},

    {CallId::aclrtKernelArgsInit, 0, kUses, Kind::kFunction},
    {CallId::aclrtKernelArgsInitByUserMem, 0, kUses, Kind::kFunction},
    {CallId::aclrtLaunchKernel, 0, kUses, Kind::kFunction},
    {CallId::aclrtLaunchKernel, 4, kUses, Kind::kStream},
    {CallId::aclrtLaunchKernelV2, 0, kUses, Kind::kFunction},
    {CallId::aclrtLaunchKernelV2, 5, kUses, Kind::kStream},
    {CallId::aclrtLaunchKernelWithConfig, 0, kUses, Kind::kFunction},
    {CallId::aclrtLaunchKernelWithConfig, 2, kUses, Kind::kStream},
    {CallId::aclrtLaunchKernelWithHostArgs, 0, kUses, Kind::kFunction},
    {CallId::aclrtLaunchKernelWithHostArgs, 2, kUses, Kind::kStream},
    {CallId::aclrtLaunchKernelWithArgsArray, 2, kUses, Kind::kStream},
    {CallId::aclrtLaunchHostFunc, 0, kUses, Kind::kStream},
    {CallId::aclrtLaunchCallback, 3, kUses, Kind::kStream},
    {CallId::aclrtSubscribeReport, 1, kUses, Kind::kStream},
};

constexpr auto kRules = [] {
  auto rules = std::to_array(kUnsorted);
  std::sort(rules.begin(), rules.end(), [](const HandleRule& a, const HandleRule& b) {
    return a.call != b.call ? a.call < b.call : a.argument < b.argument;
  });
  return rules;
}();

}  // namespace

std::span<const HandleRule> HandleRulesOf(CallId call) {
  const auto first =
      std::partition_point(kRules.begin(), kRules.end(), [call](const HandleRule& rule) { return rule.call < call; });
  auto last = first;
  while (last != kRules.end() && last->call == call) ++last;
  return {first, last};
}

}  // namespace pypto::acl
