// Checks of values against the schema, with the messages users see.
#include "pypto/options/check.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace pypto::options {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

Status Invalid(std::string text) { return {StatusCode::kInvalidArgument, std::move(text)}; }
Status BadType(std::string text) { return {StatusCode::kTypeMismatch, std::move(text)}; }

std::string RangeText(const KeySpec& spec) { return std::to_string(spec.low) + ".." + std::to_string(spec.high); }

const RawValue::List* ListOf(const RawValue& raw) { return std::get_if<RawValue::List>(&raw.data); }
const int64_t* IntOf(const RawValue& raw) { return std::get_if<int64_t>(&raw.data); }

Status WrongElement(const KeySpec& spec, size_t index, std::string_view expected, const RawValue& got) {
  return BadType(base::Format("Option '%s' has invalid list element type at index %zu. Expected %s, but got %s",
                              std::string(spec.name).c_str(), index, std::string(expected).c_str(),
                              std::string(ElementTypeName(got)).c_str()));
}

Result<Value> CheckInt(const KeySpec& spec, const RawValue& raw) {
  const int64_t* number = IntOf(raw);
  if (number == nullptr) return WrongType(spec, raw);
  if (*number < spec.low || *number > spec.high) return OutOfRange(spec, RawText(raw), RangeText(spec));
  return Value(*number);
}

// Text of the form func1_0 names a function of a program, so a label may not look like it.
bool LooksLikeFunctionHash(std::string_view text) {
  if (!text.starts_with("func")) return false;
  text.remove_prefix(4);
  const size_t line = text.find('_');
  if (line == std::string_view::npos) return false;
  const auto digits = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(text.substr(0, line)) && digits(text.substr(line + 1));
}

Result<Value> CheckString(const KeySpec& spec, const RawValue& raw) {
  const auto* text = std::get_if<std::string>(&raw.data);
  if (text == nullptr) return WrongType(spec, raw);
  if (spec.name == "semantic_label" && LooksLikeFunctionHash(*text)) {
    return Invalid("Semantic label \"" + *text +
                   "\" conflicts with function-granularity hashOrder. Choose another text.");
  }
  if (!spec.choices.empty() && std::find(spec.choices.begin(), spec.choices.end(), *text) == spec.choices.end()) {
    std::string choices;
    for (const std::string_view choice : spec.choices) {
      choices += (choices.empty() ? "{" : ", ") + ("\"" + std::string(choice) + "\"");
    }
    return OutOfRange(spec, RawText(raw), choices + "}");
  }
  return Value(*text);
}

// The ints of a list within the range of the key.
Result<std::vector<int64_t>> CheckInts(const KeySpec& spec, const RawValue::List& list) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t* number = IntOf(list[i]);
    if (number == nullptr) return WrongElement(spec, i, "int", list[i]);
    if (*number < spec.low || *number > spec.high) return OutOfRange(spec, std::to_string(*number), RangeText(spec));
    numbers.push_back(*number);
  }
  return numbers;
}

Result<Value> CheckIntList(const KeySpec& spec, const RawValue& raw) {
  const auto* list = ListOf(raw);
  if (list == nullptr) return WrongType(spec, raw);
  PYPTO_ASSIGN_OR_RETURN(auto numbers, CheckInts(spec, *list));
  return Value(std::move(numbers));
}

Result<Value> CheckStringList(const KeySpec& spec, const RawValue& raw) {
  const auto* list = ListOf(raw);
  if (list == nullptr) return WrongType(spec, raw);
  std::vector<std::string> texts;
  for (size_t i = 0; i < list->size(); ++i) {
    const auto* text = std::get_if<std::string>(&(*list)[i].data);
    if (text == nullptr) return WrongElement(spec, i, "str", (*list)[i]);
    texts.push_back(*text);
  }
  return Value(std::move(texts));
}

Result<Value> CheckDoubleList(const KeySpec& spec, const RawValue& raw) {
  const auto* list = ListOf(raw);
  if (list == nullptr) return WrongType(spec, raw);
  std::vector<double> numbers;
  for (size_t i = 0; i < list->size(); ++i) {
    const RawValue& element = (*list)[i];
    if (const int64_t* number = IntOf(element)) {
      numbers.push_back(static_cast<double>(*number));
    } else if (const auto* real = std::get_if<double>(&element.data)) {
      numbers.push_back(*real);
    } else {
      return WrongElement(spec, i, "float", element);
    }
  }
  return Value(std::move(numbers));
}

Result<Value> CheckPoolDepths(const RawValue& raw) {
  const auto* list = ListOf(raw);
  const bool good = list != nullptr && list->size() == 3 && std::all_of(list->begin(), list->end(), [](const auto& e) {
                      const int64_t* depth = IntOf(e);
                      return depth != nullptr && *depth >= 0 && *depth <= 1024;
                    });
  if (!good) {
    return Invalid(
        "Invalid stitch_function_num_per_pool: " + RawText(raw) +
        ". It must be a list or tuple of exactly three ints in 0..1024, for root_inner, assemble_outcast and "
        "exclusive_outcast.");
  }
  std::vector<int64_t> depths;
  for (const RawValue& element : *list) depths.push_back(*IntOf(element));
  return Value(std::move(depths));
}

// A flag of a scope tuple; 0 and 1 as well, since that is what reading the option gives.
std::optional<int64_t> ScopeFlag(const RawValue& raw) {
  if (const bool* flag = std::get_if<bool>(&raw.data)) return *flag ? 1 : 0;
  const int64_t* number = IntOf(raw);
  if (number != nullptr && (*number == 0 || *number == 1)) return *number;
  return std::nullopt;
}

Result<Value> CheckScopeTuple(const KeySpec& spec, const RawValue& raw) {
  const std::string where = "Option '" + std::string(spec.name) + "': ";
  const auto* list = ListOf(raw);
  if (list == nullptr && IntOf(raw) == nullptr) {
    return BadType(where + "Expected int64 or tuple, but got " + std::string(ElementTypeName(raw)) + ".");
  }
  if (list != nullptr && list->size() != 3) {
    return Invalid(where + "Expected 3 elements (scope_id, bool, bool), but got " + std::to_string(list->size()) + ".");
  }
  const RawValue& id = list != nullptr ? list->front() : raw;
  std::vector<int64_t> numbers = {0, 0, 0};
  if (IntOf(id) == nullptr) {
    return BadType(where + "Expected int64 as scope_id, but got " + std::string(ElementTypeName(id)) + ".");
  }
  numbers[0] = *IntOf(id);
  if (numbers[0] < spec.low || numbers[0] > spec.high) {
    return Invalid("scope_id " + std::to_string(numbers[0]) + " is out of range. Expected -1~2147483647.");
  }
  for (size_t i = 1; list != nullptr && i < 3; ++i) {
    const auto flag = ScopeFlag((*list)[i]);
    if (!flag) {
      return BadType(where + "Expected bool at index " + std::to_string(i) + ", but got " +
                     std::string(ElementTypeName((*list)[i])) + ".");
    }
    numbers[i] = *flag;
  }
  return Value(std::move(numbers));
}

Result<Value> CheckOooScope(const KeySpec& spec, const RawValue& raw) {
  const auto* list = ListOf(raw);
  const RawValue& inner = list != nullptr && list->size() == 1 ? list->front() : raw;
  const int64_t* number = IntOf(inner);
  if (number != nullptr && (*number == -1 || (*number >= spec.low && *number <= spec.high))) {
    return Value(std::vector<int64_t>{*number});
  }
  const std::string text = "Option '" + std::string(spec.name) +
                           "': Expected -1 or an integer in [1, 100000], but got " + RawText(raw) + ".";
  return number != nullptr ? Invalid(text) : BadType(text);
}

template <size_t N>
Status FillTile(const KeySpec& spec, const RawValue& raw, const char* name, std::array<int64_t, N>* out) {
  const auto* list = ListOf(raw);
  if (list == nullptr) return WrongType(spec, raw);
  PYPTO_ASSIGN_OR_RETURN(auto numbers, CheckInts(spec, *list));
  if (N == 3 && numbers.size() == 2) numbers.push_back(numbers.back());
  if (numbers.size() != N) {
    return Invalid(base::Format("Option '%s': %s has %zu elements, expected %s", std::string(spec.name).c_str(), name,
                                numbers.size(), N == 3 ? "2 or 3" : "2"));
  }
  std::copy(numbers.begin(), numbers.end(), out->begin());
  return base::OkStatus();
}

Result<Value> CheckCubeTile(const KeySpec& spec, const RawValue& raw) {
  const auto* list = ListOf(raw);
  if (list == nullptr) return WrongType(spec, raw);
  if (list->size() != 3 && list->size() != 4) {
    return Invalid("Option '" + std::string(spec.name) +
                   "': expected [m0, m1], [k0, k1(, k2)], [n0, n1] and optionally " + "enable_split_k, but got " +
                   std::to_string(list->size()) + " elements");
  }
  CubeTile tile;
  PYPTO_RETURN_IF_ERROR(FillTile(spec, (*list)[0], "m", &tile.m));
  PYPTO_RETURN_IF_ERROR(FillTile(spec, (*list)[1], "k", &tile.k));
  PYPTO_RETURN_IF_ERROR(FillTile(spec, (*list)[2], "n", &tile.n));
  if (list->size() == 4) {
    const bool* split = std::get_if<bool>(&(*list)[3].data);
    if (split == nullptr) return WrongElement(spec, 3, "bool", (*list)[3]);
    tile.enable_split_k = *split;
  }
  return Value(tile);
}

}  // namespace

std::string_view WholeTypeName(const RawValue& raw) {
  static constexpr std::string_view kNames[] = {"None", "bool", "int64", "double", "string", "list", "dict"};
  return kNames[raw.data.index()];
}

std::string_view ElementTypeName(const RawValue& raw) {
  static constexpr std::string_view kNames[] = {"None", "bool", "int", "float", "str", "list", "dict"};
  return kNames[raw.data.index()];
}

Status WrongType(const KeySpec& spec, const RawValue& raw) {
  return BadType("Option '" + std::string(spec.name) + "' has invalid type. Expected " +
                 std::string(ValueTypeText(spec.type)) + ", but got " + std::string(WholeTypeName(raw)) + ".");
}

Status OutOfRange(const KeySpec& spec, const std::string& value, const std::string& range) {
  return Invalid("Option '" + std::string(spec.name) + "': value " + value + " doesn't within the value range " +
                 range + ".");
}

Result<Value> CheckValue(const KeySpec& spec, const RawValue& raw) {
  if (spec.group == Group::kTile && std::holds_alternative<std::monostate>(raw.data)) return Value();
  switch (spec.type) {
    case ValueType::kInt: return CheckInt(spec, raw);
    case ValueType::kBool:
      if (const bool* flag = std::get_if<bool>(&raw.data)) return Value(*flag);
      return WrongType(spec, raw);
    case ValueType::kString: return CheckString(spec, raw);
    case ValueType::kIntList: return CheckIntList(spec, raw);
    case ValueType::kDoubleList: return CheckDoubleList(spec, raw);
    case ValueType::kStringList: return CheckStringList(spec, raw);
    case ValueType::kIntDict:
    case ValueType::kSidedDict:
    case ValueType::kStringDict: return CheckDict(spec, raw);
    case ValueType::kPoolDepths: return CheckPoolDepths(raw);
    case ValueType::kScopeTuple: return CheckScopeTuple(spec, raw);
    case ValueType::kOooScope: return CheckOooScope(spec, raw);
    case ValueType::kCubeTile: return CheckCubeTile(spec, raw);
  }
  return Status(StatusCode::kInternal, "option type without a check");
}

}  // namespace pypto::options
