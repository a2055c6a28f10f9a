// The table of all option keys: type, range, default, and the check of a value against it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/base/status.h"
#include "pypto/options/value.h"

namespace pypto::options {

// The part of a key before its dot; kTile holds the keys without a dot.
enum class Group : uint8_t { kRuntime, kHost, kPass, kCodegen, kVerify, kDebug, kOperation, kTile };

enum class ValueType : uint8_t {
  kInt,
  kBool,
  kString,
  kIntList,
  kDoubleList,
  kStringList,
  kIntDict,     // {int: int}
  kSidedDict,   // {int: int or (int, side)}
  kStringDict,  // {str: int or (int, side)}
  kPoolDepths,  // three ints
  kScopeTuple,  // scope id or (scope id, bool, bool); kept as three ints
  kOooScope,    // an int or a list of one; kept as a list of one
  kCubeTile,    // [m0, m1], [k0, k1(, k2)], [n0, n1](, enable_split_k)
};

// One key. Tables are built once and never change.
struct KeySpec {
  std::string_view name{};
  Group group = Group::kRuntime;
  ValueType type = ValueType::kInt;
  Value default_value{};
  int64_t low = std::numeric_limits<int64_t>::min();  // of ints, list elements, dict values
  int64_t high = std::numeric_limits<int64_t>::max();
  int64_t key_low = -1;                     // of dict keys
  std::vector<std::string_view> choices{};  // of strings; empty: any
  bool has_effect = false;                  // whether this version acts on it
  bool internal = false;                    // filled by the core, no keyword of a setter
};

PYPTO_API std::span<const KeySpec> Schema();
PYPTO_API const KeySpec* FindKey(std::string_view name);
PYPTO_API size_t KeyIndex(const KeySpec& spec);
PYPTO_API std::string_view GroupName(Group group);
PYPTO_API std::string_view ValueTypeText(ValueType type);
// Whether keys of the group may be set while a kernel is traced (pass, operation and tile keys may).
PYPTO_API bool SettableInKernel(Group group);
// kFailedPrecondition when the key may not be set while a kernel is traced; ok for unknown keys.
PYPTO_API base::Status CheckSettableInKernel(std::string_view name);

// "key: runtime.not_exist does not exist." with the nearest known name.
PYPTO_API base::Status UnknownKey(std::string_view name);

// Checks a value against a key. kTypeMismatch or kInvalidArgument with the text that users see.
PYPTO_API base::Result<Value> CheckValue(const KeySpec& spec, const RawValue& raw);

// A key with its checked value. Dict settings with func{m}_{o}, DEFAULT or label keys are split over the internal
// *_by_func and *_by_label keys, so that one setting may give several.
using Setting = std::pair<const KeySpec*, Value>;
PYPTO_API base::Result<std::vector<Setting>> CheckSetting(std::string_view name, const RawValue& raw);

}  // namespace pypto::options
