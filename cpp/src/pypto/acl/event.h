// Events: creation, recording, waiting, elapsed time.
#pragma once

#include <cstdint>

#include "pypto/acl/handle.h"

namespace pypto::acl {

using EventView = HandleView<HandleKind::kEvent>;

class PYPTO_API Event : public OwnedHandle<HandleKind::kEvent> {
 public:
  using OwnedHandle::OwnedHandle;
  // In the current context, for ordering and timing; of the kind that takes a hardware id only when needed where the
  // library offers it.
  static base::Result<Event> Create(const Table& table);
};

// Marks the current point of the stream; the last record counts.
PYPTO_API base::Status RecordEvent(const Table& table, EventView event, HandleView<HandleKind::kStream> stream);
// Whether the last record is complete, without waiting.
PYPTO_API base::Result<bool> QueryEvent(const Table& table, EventView event);
// Waits for the last record; timeout_ms as for SynchronizeStream.
PYPTO_API base::Status SynchronizeEvent(const Table& table, EventView event, int32_t timeout_ms = -1);
// Milliseconds between two complete records.
PYPTO_API base::Result<float> ElapsedMilliseconds(const Table& table, EventView start, EventView end);

}  // namespace pypto::acl
