// Reading of JSON into option values.
#pragma once

#include <string>
#include <string_view>

#include "pypto/base/status.h"
#include "pypto/options/value.h"

namespace pypto::options {

// Objects become dicts; their keys that read as whole numbers become ints. kInvalidArgument names line and reason.
base::Result<RawValue> ParseJson(std::string_view text, const std::string& path);

}  // namespace pypto::options
