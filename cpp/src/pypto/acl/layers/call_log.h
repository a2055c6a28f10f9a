// Layer that notes every call with its arguments and result.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "pypto/acl/layer.h"

namespace pypto::acl {

// Keeps the last kKept lines and writes each as a DEBUG record: "aclrtFree(0x7f10) = 0". Owned by the table.
// Thread-safe.
class CallLogLayer final : public Layer {
 public:
  static constexpr size_t kKept = 1024;

  std::string_view name() const noexcept override { return "log"; }
  // Oldest first.
  std::vector<std::string> Lines() const;
  void Clear();

  void After(const Call& call) override;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;
};

}  // namespace pypto::acl
