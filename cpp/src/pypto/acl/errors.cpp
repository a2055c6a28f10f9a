// Classes, names and advice of ACL error codes, and making a status of them.
#include "pypto/acl/errors.h"

#include <algorithm>
#include <string>

namespace pypto::acl {
namespace {

// Codes with a name and, where it is better than that of the class, advice of their own. Sorted by code.
constexpr ErrorDescription kDescriptions[] = {
#define PYPTO_ACL_ERROR(code, name, advice) {code, name, advice},
#include "pypto/acl/error_table.inc"
};

bool In(aclError code, aclError low, aclError high) { return code >= low && code <= high; }

bool OneOf(aclError code, std::initializer_list<aclError> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string_view ClassAdvice(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kNone: return "";
    case FailureClass::kUsage: return "this is a programming error: check the arguments of the call";
    case FailureClass::kNotSupported: return "this library or chip lacks the function";
    case FailureClass::kOutOfMemory: return "free memory or ask for less";
    case FailureClass::kLimit: return "a limit of the device is reached: release objects of this kind";
    case FailureClass::kTimeout: return "raise the time limit, or look for work that cannot end";
    case FailureClass::kKernelFault: return "the context is of no more use: close the worker and make a new one";
    case FailureClass::kDeviceLost: return "the device is of no more use to this process: see npu-smi info";
    case FailureClass::kCancelled: return "the work was cancelled";
    case FailureClass::kCapture: return "this call is not allowed while a stream is captured";
    case FailureClass::kInternal: return "see the log files of the library";
  }
  return "";
}

// The library's message of this thread, on one line.
std::string TakeMessage(const Table& table) {
  const char* message = table.aclGetRecentErrMsg();
  std::string text = message != nullptr ? message : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

base::StatusCode CodeFor(aclError code, FailureClass failure_class) {
  if (code == acl_abi::kErrorRtMemoryAllocation || code == acl_abi::kErrorRtDeviceOom) {
    return base::StatusCode::kOutOfDeviceMemory;
  }
  return failure_class == FailureClass::kTimeout ? base::StatusCode::kTimeout : base::StatusCode::kAcl;
}

}  // namespace

FailureClass ClassifyError(aclError code) {
  using namespace acl_abi;  // the names of the codes
  if (code == kSuccess) return FailureClass::kNone;
  if (OneOf(code, {kErrorUnsupported, kErrorFlagUnsupported, kErrorRtFeatureNotSupported})) {
    return FailureClass::kNotSupported;
  }
  if (OneOf(code, {kErrorBadAlloc, kErrorRtMemoryAllocation, kErrorRtDeviceOom})) return FailureClass::kOutOfMemory;
  if (OneOf(code,
            {kErrorRtWaitTimeout, kErrorRtTaskTimeout, kErrorRtTimeout, kErrorRtAiCoreTimeout, kErrorRtAiCpuTimeout,
             kErrorRtVectorCoreTimeout, kErrorRtStreamSyncTimeout, kErrorRtEventSyncTimeout, kErrorRtFftsTimeout})) {
    return FailureClass::kTimeout;
  }
  if (OneOf(code, {kErrorRtAiCoreException, kErrorRtAiCoreTrap, kErrorRtAiCpuException, kErrorRtVectorCoreException,
                   kErrorRtVectorCoreTrap, kErrorRtFftsException, kErrorRtFftsTrap}) ||
      In(code, kErrorRtAiCoreTrapRead, kErrorRtVectorTrapWrite)) {
    return FailureClass::kKernelFault;
  }
  if (OneOf(code, {kErrorRtScheduler, kErrorRtLostHeartbeat, kErrorRtSystemDma, kErrorRtDeviceSetup,
                   kErrorRtDriverInternal, kErrorRtSocketClose}) ||
      In(code, kErrorRtDeviceMemory, kErrorRtSuspectedRemote)) {
    return FailureClass::kDeviceLost;
  }
  if (OneOf(code, {kErrorRtDeviceAbort, kErrorRtStreamAbort, kErrorRtAborted, kErrorRtModelAbort})) {
    return FailureClass::kCancelled;
  }
  constexpr aclError kCaptureFirst = 107024;
  constexpr aclError kCaptureNested = 107046;
  if (In(code, kCaptureFirst, kErrorRtCapturePageable) || OneOf(code, {kErrorRtCaptureInvalidated, kCaptureNested})) {
    return FailureClass::kCapture;
  }
  if (In(code, 100000, 199999)) return FailureClass::kUsage;
  if (In(code, 207002, 207999)) return FailureClass::kLimit;
  return FailureClass::kInternal;
}

std::string_view FailureClassName(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kNone: return "none";
    case FailureClass::kUsage: return "usage";
    case FailureClass::kNotSupported: return "not_supported";
    case FailureClass::kOutOfMemory: return "out_of_memory";
    case FailureClass::kLimit: return "limit";
    case FailureClass::kTimeout: return "timeout";
    case FailureClass::kKernelFault: return "kernel_fault";
    case FailureClass::kDeviceLost: return "device_lost";
    case FailureClass::kCancelled: return "cancelled";
    case FailureClass::kCapture: return "capture";
    case FailureClass::kInternal: return "internal";
  }
  return "internal";
}

bool BreaksContext(aclError code) {
  const FailureClass failure_class = ClassifyError(code);
  return failure_class == FailureClass::kKernelFault || failure_class == FailureClass::kDeviceLost ||
         OneOf(code, {acl_abi::kErrorRtTaskTimeout, acl_abi::kErrorRtAiCoreTimeout, acl_abi::kErrorRtAiCpuTimeout,
                      acl_abi::kErrorRtVectorCoreTimeout, acl_abi::kErrorRtFftsTimeout});
}

ErrorDescription DescribeError(aclError code) {
  const std::string_view class_advice = ClassAdvice(ClassifyError(code));
  const auto* const found =
      std::lower_bound(std::begin(kDescriptions), std::end(kDescriptions), code,
                       [](const ErrorDescription& entry, aclError key) { return entry.code < key; });
  if (found == std::end(kDescriptions) || found->code != code) return {code, "", class_advice};
  return {code, found->name, found->advice.empty() ? class_advice : found->advice};
}

base::Status MakeFailure(const Table& table, aclError code, CallId call) {
  const FailureClass failure_class = ClassifyError(code);
  base::AclFailure failure;
  failure.code = code;
  failure.call = CallName(call);
  failure.failure_class = FailureClassName(failure_class);
  if (code == acl_abi::kErrorUnsupported && !table.Has(call)) {
    failure.text = "the library has no function of this name";
    return base::MakeStatus(base::StatusCode::kAcl,
                            "the ACL library '%s' has no function %s (code %d): it is too old, a newer CANN has it",
                            table.library_path().c_str(), failure.call.c_str(), code)
        .WithAclFailure(failure);
  }
  failure.text = TakeMessage(table);
  const ErrorDescription description = DescribeError(code);
  std::string message = failure.call + " failed with code " + std::to_string(code) + " (";
  if (!description.name.empty()) message += std::string(description.name) + ", ";
  message += failure.failure_class + ")";
  if (!failure.text.empty()) message += ": " + failure.text;
  if (!description.advice.empty()) message += "; " + std::string(description.advice);
  return base::Status(CodeFor(code, failure_class), std::move(message)).WithAclFailure(failure);
}

}  // namespace pypto::acl
