// Contexts of the calling thread.
#include "pypto/acl/context.h"

#include "pypto/acl/errors.h"

namespace pypto::acl {

base::Result<ContextView> CurrentContext(const Table& table) {
  acl_abi::aclrtContext raw = nullptr;
  const aclError code = table.aclrtGetCurrentContext(&raw);
  if (code == acl_abi::kErrorRtContextNull) {
    // Expected: its text must not turn up in the message of a later failure.
    static_cast<void>(table.aclGetRecentErrMsg());
    return ContextView();
  }
  PYPTO_RETURN_IF_ERROR(ToStatus(table, code, CallId::aclrtGetCurrentContext));
  return ContextView(raw);
}

base::Result<Context> Context::Create(const Table& table, int32_t device_id) {
  PYPTO_ASSIGN_OR_RETURN(const ContextView former, CurrentContext(table));
  acl_abi::aclrtContext raw = nullptr;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateContext, &raw, device_id));
  Context context(table, raw);
  if (former) PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtSetCurrentContext, former.raw()));
  return context;
}

ContextScope::ContextScope(const Table& table, ContextView context) : table_(table) {
  const base::Result<ContextView> former = CurrentContext(table);
  if (!former.ok()) {
    status_ = former.status();
    return;
  }
  if (*former == context) return;
  status_ = PYPTO_ACL_CALL(table, aclrtSetCurrentContext, context.raw());
  if (status_.ok()) former_ = *former;
}

ContextScope::~ContextScope() {
  if (!former_ || !table_.usable()) return;
  // Tried twice: staying in a foreign context would make later work go to the wrong place.
  if (table_.aclrtSetCurrentContext(former_.raw()) != acl_abi::kSuccess) {
    static_cast<void>(table_.aclrtSetCurrentContext(former_.raw()));
  }
}

}  // namespace pypto::acl
