// What callers of the runtime may ask about ACL libraries without opening a worker.
#pragma once

#include <string>

#include "pypto/base/export.h"

namespace pypto::runtime {

// Whether a library that could serve the hardware platforms is on this machine, usable or not. Any thread.
PYPTO_API bool HardwareLibraryFound();

// ACL objects that were alive when their library was closed, as text; empty when nothing leaked or the validation layer
// was off (PYPTO_ACL_LAYERS). Forgets what it returns. Any thread.
PYPTO_API std::string TakeLeakReports();

}  // namespace pypto::runtime
