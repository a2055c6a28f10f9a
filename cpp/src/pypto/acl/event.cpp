// Events.
#include "pypto/acl/event.h"

#include "pypto/acl/errors.h"

namespace pypto::acl {

base::Result<Event> Event::Create(const Table& table) {
  constexpr uint32_t kFlags = acl_abi::kEventSync | acl_abi::kEventTimeLine;
  acl_abi::aclrtEvent raw = nullptr;
  if (table.Has(CallId::aclrtCreateEventExWithFlag)) {
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateEventExWithFlag, &raw, kFlags));
  } else if (table.Has(CallId::aclrtCreateEventWithFlag)) {
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateEventWithFlag, &raw, kFlags));
  } else {
    PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtCreateEvent, &raw));
  }
  return Event(table, raw);
}

base::Status RecordEvent(const Table& table, EventView event, HandleView<HandleKind::kStream> stream) {
  return PYPTO_ACL_CALL(table, aclrtRecordEvent, event.raw(), stream.raw());
}

base::Result<bool> QueryEvent(const Table& table, EventView event) {
  acl_abi::aclrtEventRecordedStatus status = acl_abi::kEventRecordedNotReady;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtQueryEventStatus, event.raw(), &status));
  return status == acl_abi::kEventRecordedComplete;
}

base::Status SynchronizeEvent(const Table& table, EventView event, int32_t timeout_ms) {
  if (timeout_ms == -1) return PYPTO_ACL_CALL(table, aclrtSynchronizeEvent, event.raw());
  return PYPTO_ACL_CALL(table, aclrtSynchronizeEventWithTimeout, event.raw(), timeout_ms);
}

base::Result<float> ElapsedMilliseconds(const Table& table, EventView start, EventView end) {
  float milliseconds = 0;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table, aclrtEventElapsedTime, &milliseconds, start.raw(), end.raw()));
  return milliseconds;
}

}  // namespace pypto::acl
