// JSON by nlohmann_json; its exceptions end here.
#include "pypto/options/defaults_json.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

namespace pypto::options {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxNesting = 32;

RawValue KeyOf(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

RawValue Convert(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      const bool fits = number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      return fits ? RawValue(static_cast<int64_t>(number)) : RawValue(static_cast<double>(number));
    }
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return json.get<std::string>();
    case Json::value_t::array: {
      RawValue::List list;
      for (const Json& element : json) list.push_back(Convert(element));
      return list;
    }
    case Json::value_t::object: {
      RawValue::Pairs pairs;
      for (const auto& [key, element] : json.items()) pairs.emplace_back(KeyOf(key), Convert(element));
      return pairs;
    }
    default: return {};
  }
}

// The reason without the library's own prefix "[json.exception.parse_error.101] ".
std::string Reason(const std::exception& error) {
  std::string text = error.what();
  const size_t end = text.find("] ");
  return text.starts_with("[json.") && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace

base::Result<RawValue> ParseJson(std::string_view text, const std::string& path) {
  bool too_deep = false;
  const auto watch = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxNesting;
    return !too_deep;
  };
  try {
    const Json json = Json::parse(text, watch, true, true);
    if (!too_deep) return Convert(json);
  } catch (const std::exception& error) {
    return base::Status(base::StatusCode::kInvalidArgument, path + " is no valid JSON: " + Reason(error));
  }
  return base::Status(base::StatusCode::kInvalidArgument, path + " is nested deeper than 32 levels");
}

}  // namespace pypto::options
