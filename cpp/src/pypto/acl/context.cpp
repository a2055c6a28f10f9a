// Contexts of the calling thread.
#include "pypto/acl/context.h"

#include <array>
#include <atomic>

#include "pypto/acl/errors.h"

namespace pypto::acl {

namespace detail {

thread_local constinit void* found_current = nullptr;

}  // namespace detail

namespace {

// A remembered context and the library that it belongs to. Without a lock: a forked child may find it at any point of
// a change.
struct OwnContext {
  std::atomic<const void*> library{nullptr};  // null: the place is free
  std::atomic<void*> raw{nullptr};
};
constinit std::array<OwnContext, 128> own_contexts{};

// Tables of the same library have the same functions.
const void* LibraryOf(const Table& table) noexcept {
  return reinterpret_cast<const void*>(table.functions().aclrtSetCurrentContext);
}

// The place of the first context of the library for which `matches` holds, or null.
template <typename Matches>
OwnContext* FindOwn(const Table& table, const Matches& matches) noexcept {
  for (OwnContext& own : own_contexts) {
    void* raw = own.raw.load(std::memory_order_acquire);
    if (raw != nullptr && own.library.load(std::memory_order_relaxed) == LibraryOf(table) && matches(raw)) return &own;
  }
  return nullptr;
}

OwnContext* FindOwn(const Table& table, ContextView context) noexcept {
  return FindOwn(table, [context](void* raw) { return raw == context.raw(); });
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

base::Status PutBack(const Table& table, ContextView former) {
  if (!former) return base::OkStatus();
  ForgetCurrent();
  const aclError code = table.aclrtSetCurrentContext(former.raw());
  if (code == acl_abi::kErrorRtInvalidHandle || code == acl_abi::kErrorRtContextNull) {
    static_cast<void>(table.aclGetRecentErrMsg());
    return base::OkStatus();
  }
  return ToStatus(table, code, CallId::aclrtSetCurrentContext);
}

base::Result<Context> Context::Create(const Table& table, int32_t device_id) {
  PYPTO_ASSIGN_OR_RETURN(const ContextView former, CurrentContext(table));
  acl_abi::aclrtContext raw = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateContext, &raw, device_id));
  Context context(table, raw);
  PYPTO_RETURN_IF_ERROR(PutBack(table, former));
  return context;
}

void RememberOwnContext(const Table& table, ContextView context) noexcept {
  for (OwnContext& own : own_contexts) {
    const void* free = nullptr;
    if (!own.library.compare_exchange_strong(free, LibraryOf(table), std::memory_order_relaxed)) continue;
    own.raw.store(context.raw(), std::memory_order_release);
    return;
  }
}

void ForgetOwnContext(const Table& table, ContextView context) noexcept {
  OwnContext* own = FindOwn(table, context);
  if (own == nullptr) return;
  own->raw.store(nullptr, std::memory_order_relaxed);
  own->library.store(nullptr, std::memory_order_release);
}

ContextView AnyOwnContext(const Table& table) noexcept {
  const OwnContext* own = FindOwn(table, [](void*) { return true; });
  return ContextView(own != nullptr ? own->raw.load(std::memory_order_relaxed) : nullptr);
}

void ContextScope::Enter(aclError code, acl_abi::aclrtContext former, ContextView context, Back back) {
  const base::Result<ContextView> known = ReadCurrent(table_, code, former);
  if (!known.ok()) {
    status_ = known.status();
    return;
  }
  ForgetCurrent();
  status_ = PYPTO_ACL_CALL(table_, aclrtSetCurrentContext, context.raw());
  if (status_.ok() && *known && (back == Back::kAlways || FindOwn(table_, *known) == nullptr)) former_ = *known;
}

void ContextScope::Leave() {
  if (!table_.usable()) return;
  ForgetCurrent();
  // Tried twice: staying in a foreign context would make later work go to the wrong place.
  if (table_.aclrtSetCurrentContext(former_.raw()) != acl_abi::kSuccess) {
    static_cast<void>(table_.aclrtSetCurrentContext(former_.raw()));
  }
}

}  // namespace pypto::acl
