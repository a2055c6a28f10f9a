// The mock's own records, under the module name of the ACL layer.
#pragma once

#include "pypto/log/log.h"

namespace pypto::mock {

// Filtered by the level that the environment gives to module ASCENDCL. Thread-safe.
void MockLog(log::Level level, const char* format, ...) __attribute__((format(printf, 2, 3)));
bool MockLogEnabled(log::Level level);

}  // namespace pypto::mock
