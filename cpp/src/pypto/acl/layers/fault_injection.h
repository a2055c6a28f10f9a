// Layer that makes chosen calls fail, for tests.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "pypto/acl/layer.h"

namespace pypto::acl {

// Counts only functions that return an aclError. Owned by the table; Thread-safe.
class FaultInjectionLayer final : public Layer {
 public:
  std::string_view name() const noexcept override { return "fault"; }
  // The call number n (0 is the next one) of this function fails with `code` without reaching the library, and so do
  // the times − 1 calls behind it.
  void Fail(CallId call, uint64_t n, acl_abi::aclError code, uint64_t times = 1);
  // The same, counting calls of every function.
  void FailAny(uint64_t n, acl_abi::aclError code, uint64_t times = 1);
  // Forgets all plans.
  void Clear();
  // How many calls were made to fail since the last Clear, and which was the last.
  uint64_t fired() const;
  std::optional<CallId> last_fired() const;

  std::optional<acl_abi::aclError> Before(const Call& call) override;

 private:
  struct Plan {
    std::optional<CallId> call;  // nothing: any
    uint64_t skip;
    uint64_t times;
    acl_abi::aclError code;
  };
  mutable std::mutex mutex_;
  std::vector<Plan> plans_;
  uint64_t fired_ = 0;
  std::optional<CallId> last_fired_;
};

}  // namespace pypto::acl
