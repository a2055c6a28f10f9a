// Delivery of timing marks to a Python listener.
#pragma once

namespace pypto::bindings {

// Hands the records of the dispatch that this thread has just ended to the listener. The GIL is held, no worker
// entered.
void DeliverTraceRecords();

}  // namespace pypto::bindings
