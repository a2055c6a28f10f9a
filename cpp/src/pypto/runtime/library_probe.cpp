// Questions about ACL libraries, handed to the acl layer.
#include "pypto/runtime/library_probe.h"

#include "pypto/acl/loader.h"
#include "pypto/acl/session.h"

namespace pypto::runtime {

bool HardwareLibraryFound() { return acl::HardwareLibraryFound({}); }

std::string TakeLeakReports() { return acl::TakeLeakReports(); }

}  // namespace pypto::runtime
