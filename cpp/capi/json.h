// Option values as JSON text.
#pragma once

#include <string>

#include "pypto/options/value.h"

namespace pypto::capi {

// Keys of objects that are numbers become strings, as JSON wants; numbers that JSON does not know become null.
void AppendJson(const options::RawValue& value, std::string* out);

}  // namespace pypto::capi
