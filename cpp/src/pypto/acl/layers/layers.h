// The named layers, and installing them from a list.
#pragma once

#include <string_view>

#include "pypto/acl/table.h"
#include "pypto/base/status.h"

namespace pypto::acl {

// Comma list, outermost first: "validation", "fault", "log". Empty: none. kInvalidArgument names an unknown one.
PYPTO_API base::Status InstallLayers(Table& table, std::string_view names);

}  // namespace pypto::acl
