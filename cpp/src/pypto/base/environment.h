// Environment variables: reading, and the list of the PYPTO_ names that mean something.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pypto/base/export.h"

namespace pypto::base {

// The value, or nothing when the variable is unset. Not for hot paths.
PYPTO_API std::optional<std::string> GetEnvironment(const char* name);
// The value as a number in [low, high]; nothing when unset, not a number, or outside.
PYPTO_API std::optional<long long> GetEnvironmentInt(const char* name, long long low, long long high);
// Names that start with PYPTO_ and are not known, in the order of the environment.
PYPTO_API std::vector<std::string> UnknownPyptoVariables();

}  // namespace pypto::base
