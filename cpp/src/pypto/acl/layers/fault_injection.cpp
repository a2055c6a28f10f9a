// Plans of failing calls.
#include "pypto/acl/layers/fault_injection.h"

namespace pypto::acl {

void FaultInjectionLayer::Fail(CallId call, uint64_t n, acl_abi::aclError code, uint64_t times) {
  const std::lock_guard lock(mutex_);
  plans_.push_back({call, n, times, code});
}

void FaultInjectionLayer::FailAny(uint64_t n, acl_abi::aclError code, uint64_t times) {
  const std::lock_guard lock(mutex_);
  plans_.push_back({std::nullopt, n, times, code});
}

void FaultInjectionLayer::Clear() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
  fired_ = 0;
  last_fired_.reset();
}

uint64_t FaultInjectionLayer::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

std::optional<CallId> FaultInjectionLayer::last_fired() const {
  const std::lock_guard lock(mutex_);
  return last_fired_;
}

std::optional<acl_abi::aclError> FaultInjectionLayer::Before(const Call& call) {
  if (!call.returns_error()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  std::optional<acl_abi::aclError> answer;
  for (Plan& plan : plans_) {
    if ((plan.call && *plan.call != call.id()) || plan.times == 0) continue;
    if (plan.skip > 0) {
      --plan.skip;
      continue;
    }
    --plan.times;
    if (!answer) answer = plan.code;
  }
  if (answer) {
    ++fired_;
    last_fired_ = call.id();
  }
  return answer;
}

}  // namespace pypto::acl
