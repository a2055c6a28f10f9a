// Contexts, and making one current for a while.
#pragma once

#include <cstdint>

#include "pypto/acl/handle.h"

namespace pypto::acl {

using ContextView = HandleView<HandleKind::kContext>;

// A context of our own, with its own default stream. The primary context of a device is a view: Device::context().
class PYPTO_API Context : public OwnedHandle<HandleKind::kContext> {
 public:
  using OwnedHandle::OwnedHandle;
  // The context that was current in this thread stays so.
  static base::Result<Context> Create(const Table& table, int32_t device_id);
};

// The context current in this thread; empty when there is none.
PYPTO_API base::Result<ContextView> CurrentContext(const Table& table);

// Makes a context current in this thread and puts the former one back at the end, so that a host framework's own
// context is untouched. With no former context the new one stays current: the interface cannot unset it.
class PYPTO_API ContextScope {
 public:
  ContextScope(const Table& table, ContextView context) : table_(table) {
    acl_abi::aclrtContext former = nullptr;
    const aclError code = table.aclrtGetCurrentContext(&former);
    if (code == acl_abi::kSuccess && former == context.raw()) [[likely]]
      return;
    Enter(code, former, context);
  }
  ~ContextScope() {
    if (former_) [[unlikely]]
      Leave();
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  // To be asked before anything else is done in the scope.
  [[nodiscard]] const base::Status& status() const noexcept { return status_; }

 private:
  // `code` and `former`: what asking for the current context gave.
  [[gnu::cold]] void Enter(aclError code, acl_abi::aclrtContext former, ContextView context);
  [[gnu::cold]] void Leave();
  const Table& table_;
  ContextView former_;  // empty: nothing to put back
  base::Status status_;
};

}  // namespace pypto::acl
