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

// Makes the context current that was so before, if there was one. One that another thread has destroyed meanwhile
// cannot be put back, and nobody waits for it: no error.
base::Status PutBack(const Table& table, ContextView former);

// Contexts that only code of this process's workers makes current: a thread that was left in one of them need not be
// put back into it. Any thread; beyond 128 at a time more are simply put back.
PYPTO_API void RememberOwnContext(const Table& table, ContextView context) noexcept;
PYPTO_API void ForgetOwnContext(const Table& table, ContextView context) noexcept;
// One that is remembered for the same library; empty when there is none.
PYPTO_API ContextView AnyOwnContext(const Table& table) noexcept;

// Makes a context current in this thread and puts the former one back at the end, so that a host framework's own
// context is untouched. With no former context, or one of our own, the new one stays current: calls to the same worker
// switch once.
class PYPTO_API ContextScope {
 public:
  enum class Back : uint8_t { kUnlessOwn, kAlways };
  ContextScope(const Table& table, ContextView context, Back back = Back::kUnlessOwn) : table_(table) {
    acl_abi::aclrtContext former = nullptr;
    const aclError code = table.aclrtGetCurrentContext(&former);
    if (code == acl_abi::kSuccess && former == context.raw()) [[likely]]
      return;
    Enter(code, former, context, back);
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
  [[gnu::cold]] void Enter(aclError code, acl_abi::aclrtContext former, ContextView context, Back back);
  [[gnu::cold]] void Leave();
  const Table& table_;
  ContextView former_;  // empty: nothing to put back
  base::Status status_;
};

}  // namespace pypto::acl
