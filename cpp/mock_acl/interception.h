// What a test put before, in place of, or after ACL calls: faults, hooks, delays.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "pypto/acl_abi/types.h"
#include "pypto/mock_acl.h"
#include "pypto/mock_acl/call_id.h"
#include "pypto/mock_acl/thread_state.h"

namespace pypto::mock {

// Number of rules, hooks and delays in force: calls look at this and nothing else while it is 0.
extern constinit std::atomic<uint32_t> interceptions;

// A failing call with no effect, or nothing. Runs delay, faults, before-hook and replacement, in this order.
std::optional<acl_abi::aclError> BeforeCall(ThreadState& thread, CallId id, void* const* arguments);
// The result the caller sees.
acl_abi::aclError AfterCall(ThreadState& thread, CallId id, void* const* arguments, acl_abi::aclError code);

void AddCallFault(std::optional<CallId> id, uint64_t n, acl_abi::aclError code);
void AddKernelFault(uint64_t n, acl_abi::aclError code);
// The code with which this kernel execution shall end, 0 for none. Cheap while no rule exists.
acl_abi::aclError TakeKernelFaultSlow();
extern constinit std::atomic<uint32_t> kernel_faults;
inline acl_abi::aclError TakeKernelFault() {
  return kernel_faults.load(std::memory_order_relaxed) == 0 ? 0 : TakeKernelFaultSlow();
}
uint64_t PendingFaults();
void ClearFaults();

void SetBefore(CallId id, mock_before_hook hook, void* user);
void SetReplace(CallId id, mock_replace_hook hook, void* user);
void SetAfter(CallId id, mock_after_hook hook, void* user);
void SetDelay(CallId id, uint64_t nanoseconds);
void ClearHooks();
void ForgetInterceptionInForkedChild() noexcept;

}  // namespace pypto::mock
