// Contexts of the calling thread.
#include "pypto/acl/context.h"

#include <array>
#include <atomic>

#include "pypto/acl/errors.h"

namespace pypto::acl {

namespace {

// Without a lock: a forked child may find it at any point of a change.
constinit std::array<std::atomic<void*>, 128> own_contexts{};

bool IsOwn(ContextView context) noexcept {
  for (const std::atomic<void*>& own : own_contexts) {
    if (own.load(std::memory_order_relaxed) == context.raw()) return true;
  }
  return false;
}

// From what asking for the current context gave.
base::Result<ContextView> ReadCurrent(const Table& table, aclError code, acl_abi::aclrtContext raw) {
  if (code == acl_abi::kErrorRtContextNull) {
    // Expected: its text must not turn up in the message of a later failure.
    static_cast<void>(table.aclGetRecentErrMsg());
    return ContextView();
  }
  PYPTO_RETURN_IF_ERROR(ToStatus(table, code, CallId::aclrtGetCurrentContext));
  return ContextView(raw);
}

}  // namespace

base::Result<ContextView> CurrentContext(const Table& table) {
  acl_abi::aclrtContext raw = nullptr;
  const aclError code = table.aclrtGetCurrentContext(&raw);
  return ReadCurrent(table, code, raw);
}

base::Result<Context> Context::Create(const Table& table, int32_t device_id) {
  PYPTO_ASSIGN_OR_RETURN(const ContextView former, CurrentContext(table));
  acl_abi::aclrtContext raw = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateContext, &raw, device_id));
  Context context(table, raw);
  if (former) PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtSetCurrentContext, former.raw()));
  return context;
}

void RememberOwnContext(ContextView context) noexcept {
  for (std::atomic<void*>& own : own_contexts) {
    void* empty = nullptr;
    if (own.compare_exchange_strong(empty, context.raw(), std::memory_order_relaxed)) return;
  }
}

void ForgetOwnContext(ContextView context) noexcept {
  for (std::atomic<void*>& own : own_contexts) {
    void* expected = context.raw();
    if (own.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed)) return;
  }
}

void ContextScope::Enter(aclError code, acl_abi::aclrtContext former, ContextView context, Back back) {
  const base::Result<ContextView> known = ReadCurrent(table_, code, former);
  if (!known.ok()) {
    status_ = known.status();
    return;
  }
  status_ = PYPTO_ACL_CALL(table_, aclrtSetCurrentContext, context.raw());
  if (status_.ok() && *known && (back == Back::kAlways || !IsOwn(*known))) former_ = *known;
}

void ContextScope::Leave() {
  if (!table_.usable()) return;
  // Tried twice: staying in a foreign context would make later work go to the wrong place.
  if (table_.aclrtSetCurrentContext(former_.raw()) != acl_abi::kSuccess) {
    static_cast<void>(table_.aclrtSetCurrentContext(former_.raw()));
  }
}

}  // namespace pypto::acl
