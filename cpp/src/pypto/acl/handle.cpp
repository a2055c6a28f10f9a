// Destroying handles by kind.
#include "pypto/acl/handle.h"

#include "pypto/acl/errors.h"
#include "pypto/log/log.h"

namespace pypto::acl {

std::string_view HandleKindName(HandleKind kind) {
  switch (kind) {
    case HandleKind::kContext: return "context";
    case HandleKind::kStream: return "stream";
    case HandleKind::kEvent: return "event";
    case HandleKind::kBinary: return "binary";
    case HandleKind::kFunction: return "function";
    case HandleKind::kDeviceMemory: return "device memory";
    case HandleKind::kHostMemory: return "host memory";
  }
  return "handle";
}

base::Status DestroyHandle(const Table& table, HandleKind kind, void* raw) {
  switch (kind) {
    case HandleKind::kContext: return PYPTO_ACL_CALL(table, aclrtDestroyContext, raw);
    case HandleKind::kStream: return PYPTO_ACL_CALL(table, aclrtDestroyStream, raw);
    case HandleKind::kEvent: return PYPTO_ACL_CALL(table, aclrtDestroyEvent, raw);
    case HandleKind::kBinary: return PYPTO_ACL_CALL(table, aclrtBinaryUnLoad, raw);
    case HandleKind::kDeviceMemory: return PYPTO_ACL_CALL(table, aclrtFree, raw);
    case HandleKind::kHostMemory: return PYPTO_ACL_CALL(table, aclrtFreeHost, raw);
    case HandleKind::kFunction: break;
  }
  return base::MakeStatus(base::StatusCode::kInternal, "a %s handle has no destroying call",
                          std::string(HandleKindName(kind)).c_str());
}

void DestroyHandleQuietly(const Table& table, HandleKind kind, void* raw) noexcept {
  if (!table.usable()) return;
  if (DestroyHandle(table, kind, raw).ok()) return;
  const base::Status again = DestroyHandle(table, kind, raw);
  if (again.ok()) return;
  PYPTO_LOG(kWarning, "%s %p is left behind: %s", std::string(HandleKindName(kind)).c_str(), raw,
            again.ToString().c_str());
}

}  // namespace pypto::acl
