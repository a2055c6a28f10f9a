// The rows of the schema; schema.cpp serves them.
#pragma once

#include <vector>

#include "pypto/options/schema.h"

namespace pypto::options {

std::vector<KeySpec> MakeSchemaTable();

}  // namespace pypto::options
