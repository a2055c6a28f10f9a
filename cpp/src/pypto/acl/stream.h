// Streams: creation, waiting, state.
#pragma once

#include <cstdint>

#include "pypto/acl/event.h"
#include "pypto/acl/handle.h"

namespace pypto::acl {

using StreamView = HandleView<HandleKind::kStream>;

// Wait for ever.
inline constexpr int32_t kNoTimeout = -1;

class PYPTO_API Stream : public OwnedHandle<HandleKind::kStream> {
 public:
  using OwnedHandle::OwnedHandle;
  // In the current context, with the fast launch and fast synchronise flags where the library takes flags.
  static base::Result<Stream> Create(const Table& table);
};

// Waits for all work of the stream. A fault of earlier work appears here. kTimeout after timeout_ms (then the work
// goes on and the stream stays usable); 0 is refused by the library. With a time limit the library must offer
// aclrtSynchronizeStreamWithTimeout.
PYPTO_API base::Status SynchronizeStream(const Table& table, StreamView stream, int32_t timeout_ms = kNoTimeout);
// Whether all work is done, without waiting.
PYPTO_API base::Result<bool> QueryStream(const Table& table, StreamView stream);
// Stops running and queued work; later waits give class "cancelled". 200001 where the library cannot.
PYPTO_API base::Status AbortStream(const Table& table, StreamView stream);
// Later work of the stream waits for the latest record of the event.
PYPTO_API base::Status WaitForEvent(const Table& table, StreamView stream, EventView event);

}  // namespace pypto::acl
