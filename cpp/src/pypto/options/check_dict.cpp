// Checks of dict options, and the split of their keys over the *_by_func and *_by_label keys.
#include <algorithm>

#include "pypto/options/check.h"

namespace pypto::options {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr int64_t kMaxKey = 2147483647;

Status Invalid(const KeySpec& spec, const std::string& text) {
  return {StatusCode::kInvalidArgument, "Option '" + std::string(spec.name) + "': " + text};
}

bool IsSide(std::string_view text) { return text == "left" || text == "right" || text == "auto"; }

Status WrongPart(const KeySpec& spec, const char* part, const RawValue& got) {
  return {StatusCode::kTypeMismatch, "Option '" + std::string(spec.name) + "' has invalid type. Expected " +
                                         std::string(ValueTypeText(spec.type)) + ", but got a " + part + " of type " +
                                         std::string(ElementTypeName(got)) + "."};
}

// 4 or (4, "left"); sides only where the key has them.
Result<DictValue> CheckEntry(const KeySpec& spec, const RawValue& raw) {
  const bool sided = spec.type != ValueType::kIntDict;
  const auto* pair = std::get_if<RawValue::List>(&raw.data);
  const RawValue& number = sided && pair != nullptr && pair->size() == 2 ? pair->front() : raw;
  const int64_t* value = std::get_if<int64_t>(&number.data);
  if (value == nullptr) return WrongPart(spec, "value", number);
  if (*value < spec.low || *value > spec.high) {
    return OutOfRange(spec, std::to_string(*value), std::to_string(spec.low) + ".." + std::to_string(spec.high));
  }
  DictValue entry{*value, ""};
  if (&number == &raw) return entry;
  const auto* side = std::get_if<std::string>(&pair->back().data);
  if (side == nullptr || !IsSide(*side)) {
    return Invalid(
        spec, "side " + RawText(pair->back()) + " doesn't within the value range {\"left\", \"right\", \"auto\"}.");
  }
  entry.side = *side;
  return entry;
}

Result<DictKey> CheckKey(const KeySpec& spec, const RawValue& raw) {
  if (spec.type == ValueType::kStringDict) {
    if (const auto* text = std::get_if<std::string>(&raw.data)) return DictKey(*text);
    return WrongPart(spec, "key", raw);
  }
  const int64_t* number = std::get_if<int64_t>(&raw.data);
  if (number == nullptr) return WrongPart(spec, "key", raw);
  if (*number < spec.key_low || *number > kMaxKey) {
    return Invalid(spec, "key " + std::to_string(*number) + " doesn't within the value range " +
                             std::to_string(spec.key_low) + ".." + std::to_string(kMaxKey) + ".");
  }
  return DictKey(*number);
}

// DEFAULT, or func{m}_{o} with two numbers.
bool IsFunctionKey(std::string_view text) {
  if (text == "DEFAULT") return true;
  if (!text.starts_with("func")) return false;
  const std::string_view rest = text.substr(4);
  const size_t line = rest.find('_');
  if (line == 0 || line == std::string_view::npos || line + 1 == rest.size()) return false;
  return std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == '_'; }) &&
         rest.find('_', line + 1) == std::string_view::npos;
}

// A dict setting taken apart by the kind of its keys.
struct Split {
  RawValue::Pairs by_number;
  RawValue::Pairs by_func;
  RawValue::Pairs by_label;
};

Split SplitKeys(const RawValue::Pairs& pairs) {
  Split split;
  for (const auto& pair : pairs) {
    const auto* text = std::get_if<std::string>(&pair.first.data);
    (text == nullptr ? split.by_number : IsFunctionKey(*text) ? split.by_func : split.by_label).push_back(pair);
  }
  return split;
}

Status Add(const std::string& name, const RawValue::Pairs& pairs, std::vector<Setting>* settings) {
  if (pairs.empty()) return base::OkStatus();
  const KeySpec* spec = FindKey(name);
  PYPTO_ASSIGN_OR_RETURN(Value value, CheckValue(*spec, pairs));
  settings->emplace_back(spec, std::move(value));
  return base::OkStatus();
}

}  // namespace

Result<Value> CheckDict(const KeySpec& spec, const RawValue& raw) {
  const auto* pairs = std::get_if<RawValue::Pairs>(&raw.data);
  if (pairs == nullptr) return WrongType(spec, raw);
  Dict dict;
  for (const auto& [raw_key, raw_value] : *pairs) {
    PYPTO_ASSIGN_OR_RETURN(DictKey key, CheckKey(spec, raw_key));
    PYPTO_ASSIGN_OR_RETURN(DictValue entry, CheckEntry(spec, raw_value));
    dict[std::move(key)] = std::move(entry);
  }
  return Value(std::move(dict));
}

Result<std::vector<Setting>> CheckSetting(std::string_view name, const RawValue& raw) {
  const KeySpec* spec = FindKey(name);
  if (spec == nullptr) return UnknownKey(name);
  std::vector<Setting> settings;
  const auto* pairs = std::get_if<RawValue::Pairs>(&raw.data);
  const bool splits = spec->type == ValueType::kIntDict || spec->type == ValueType::kSidedDict;
  if (!splits || pairs == nullptr) {
    PYPTO_ASSIGN_OR_RETURN(Value value, CheckValue(*spec, raw));
    settings.emplace_back(spec, std::move(value));
    return settings;
  }
  const Split split = SplitKeys(*pairs);
  if (!split.by_number.empty() && !split.by_func.empty()) {
    return Invalid(*spec, "cannot mix integer keys with func{m}_{o} or DEFAULT keys.");
  }
  if (!split.by_number.empty() || pairs->empty()) {
    PYPTO_ASSIGN_OR_RETURN(Value value, CheckValue(*spec, split.by_number));
    settings.emplace_back(spec, std::move(value));
  }
  PYPTO_RETURN_IF_ERROR(Add(std::string(name) + "_by_func", split.by_func, &settings));
  PYPTO_RETURN_IF_ERROR(Add(std::string(name) + "_by_label", split.by_label, &settings));
  return settings;
}

}  // namespace pypto::options
