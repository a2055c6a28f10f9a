// Writing JSON.
#include "json.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace pypto::capi {
namespace {

using options::RawValue;

void AppendString(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (byte < 0x20) {
      *out += "\\u00";
      *out += kHex[byte >> 4];
      *out += kHex[byte & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

template <typename T>
void AppendNumber(T number, std::string* out) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  out->append(digits, end);
}

struct Writer {
  std::string* out;
  void operator()(std::monostate) const { *out += "null"; }
  void operator()(bool flag) const { *out += flag ? "true" : "false"; }
  void operator()(int64_t number) const { AppendNumber(number, out); }
  void operator()(double number) const {
    if (!std::isfinite(number)) {
      *out += "null";
      return;
    }
    const size_t begin = out->size();
    AppendNumber(number, out);
    // A whole number stays a number of its type.
    if (out->find_first_of(".en", begin) == std::string::npos) *out += ".0";
  }
  void operator()(const std::string& text) const { AppendString(text, out); }
  void operator()(const RawValue::List& list) const {
    *out += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) *out += ", ";
      AppendJson(list[i], out);
    }
    *out += ']';
  }
  void operator()(const RawValue::Pairs& pairs) const {
    *out += '{';
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i != 0) *out += ", ";
      const auto* name = std::get_if<std::string>(&pairs[i].first.data);
      AppendString(name != nullptr ? *name : options::RawText(pairs[i].first), out);
      *out += ": ";
      AppendJson(pairs[i].second, out);
    }
    *out += '}';
  }
};

}  // namespace

void AppendJson(const RawValue& value, std::string* out) { std::visit(Writer{out}, value.data); }

}  // namespace pypto::capi
