// ACL error codes as base::Status: class, vendor name, what to do, text of the library.
#pragma once

#include <cstdint>
#include <string_view>

#include "pypto/acl/call_ids.h"
#include "pypto/acl/table.h"
#include "pypto/base/status.h"

namespace pypto::acl {

enum class FailureClass : uint8_t {
  kNone,
  kUsage,
  kNotSupported,
  kOutOfMemory,
  kLimit,
  kTimeout,
  kKernelFault,
  kDeviceLost,
  kCancelled,
  kCapture,
  kInternal,
};

FailureClass ClassifyError(aclError code);
// As in AclFailure::failure_class: "usage", "not_supported", "out_of_memory", "limit", "timeout", "kernel_fault",
// "device_lost", "cancelled", "capture", "internal"; "none" for success.
std::string_view FailureClassName(FailureClass failure_class);
// After such a code the context is of no more use: kernel faults, task time-outs, a lost device.
bool BreaksContext(aclError code);

struct ErrorDescription {
  aclError code;
  std::string_view name;    // the vendor's, empty when unknown
  std::string_view advice;  // what to do, may be empty
};
// Known codes have a name of their own; others get an empty name and the advice of their class.
ErrorDescription DescribeError(aclError code);

// Success for 0. Else code kOutOfDeviceMemory (207001, 207018), kTimeout (class timeout) or kAcl, with an AclFailure
// attached. Takes (and so clears) the library's message of this thread.
PYPTO_API base::Status MakeFailure(const Table& table, aclError code, CallId call);
inline base::Status ToStatus(const Table& table, aclError code, CallId call) {
  if (code == acl_abi::kSuccess) [[likely]]
    return base::OkStatus();
  return MakeFailure(table, code, call);
}

}  // namespace pypto::acl

// PYPTO_ACL_CALL(table, aclrtSynchronizeStream, stream): makes the call and gives its base::Status.
#define PYPTO_ACL_CALL(table, name, ...) \
  ::pypto::acl::ToStatus((table), (table).name(__VA_ARGS__), ::pypto::acl::CallId::name)
