// Parts of the value check that check.cpp and check_dict.cpp share.
#pragma once

#include <string>
#include <string_view>

#include "pypto/base/status.h"
#include "pypto/options/schema.h"

namespace pypto::options {

// Names of types in messages: "string", "int64" of whole values; "str", "int" of elements.
std::string_view WholeTypeName(const RawValue& raw);
std::string_view ElementTypeName(const RawValue& raw);

// "Option 'x' has invalid type. Expected int64, but got string."
base::Status WrongType(const KeySpec& spec, const RawValue& raw);
// "Option 'x': value 0 doesn't within the value range 1..1024."
base::Status OutOfRange(const KeySpec& spec, const std::string& value, const std::string& range);

base::Result<Value> CheckDict(const KeySpec& spec, const RawValue& raw);

}  // namespace pypto::options
