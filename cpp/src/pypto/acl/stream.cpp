// Streams.
#include "pypto/acl/stream.h"

#include "pypto/acl/errors.h"

namespace pypto::acl {

base::Result<Stream> Stream::Create(const Table& table) {
  acl_abi::aclrtStream raw = nullptr;
  if (table.Has(CallId::aclrtCreateStreamWithConfig)) {
    constexpr uint32_t kHighestPriority = 0;
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateStreamWithConfig, &raw, kHighestPriority,
                                         acl_abi::kStreamFastLaunch | acl_abi::kStreamFastSync));
  } else {
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateStream, &raw));
  }
  return Stream(table, raw);
}

base::Status SynchronizeStream(const Table& table, StreamView stream, int32_t timeout_ms) {
  if (timeout_ms == kNoTimeout) return PYPTO_ACL_CALL(table, aclrtSynchronizeStream, stream.raw());
  return PYPTO_ACL_CALL(table, aclrtSynchronizeStreamWithTimeout, stream.raw(), timeout_ms);
}

base::Result<bool> QueryStream(const Table& table, StreamView stream) {
  acl_abi::aclrtStreamStatus status = acl_abi::kStreamNotReady;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtStreamQuery, stream.raw(), &status));
  return status == acl_abi::kStreamComplete;
}

base::Status AbortStream(const Table& table, StreamView stream) {
  return PYPTO_ACL_CALL(table, aclrtStreamAbort, stream.raw());
}

base::Status WaitForEvent(const Table& table, StreamView stream, EventView event) {
  return PYPTO_ACL_CALL(table, aclrtStreamWaitEvent, stream.raw(), event.raw());
}

}  // namespace pypto::acl
