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

namespace detail {
// What IsCurrent found current in this thread, while nothing here has changed it since; null: nothing is known.
extern thread_local constinit void* found_current [[gnu::tls_model("initial-exec")]];
}  // namespace detail

// Whether the context is current in this thread: asks the library, and keeps the answer yes for WasCurrent.
inline bool IsCurrent(const Table& table, ContextView context) noexcept {
  acl_abi::aclrtContext current = nullptr;
  const bool is = table.aclrtGetCurrentContext(&current) == acl_abi::kSuccess && current == context.raw();
  detail::found_current = is ? current : nullptr;
  return is;
}
// Whether it was so when IsCurrent asked last. Other code of the process may have changed it since: only for a call
// that the library refuses in another context, without an effect.
inline bool WasCurrent(ContextView context) noexcept { return detail::found_current == context.raw(); }
// Before this thread's context is changed, and after such a refusal.
inline void ForgetCurrent() noexcept { detail::found_current = nullptr; }
// Whether a call was refused because another context, or none, is current.
inline bool RefusedByContext(aclError code) noexcept {
  return code == acl_abi::kErrorRtContextNull || code == acl_abi::kErrorRtStreamContext;
}

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
