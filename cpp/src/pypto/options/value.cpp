// Values of options as text and as what a setter takes.
#include "pypto/options/value.h"

#include <array>
#include <charconv>

namespace pypto::options {
namespace {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// The shortest text that reads back as the same number, with a point or exponent.
std::string DoubleText(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

template <typename List, typename Function>
std::string Joined(const List& list, Function text_of) {
  std::string text;
  for (const auto& element : list) text += (text.empty() ? "" : ", ") + text_of(element);
  return text;
}

template <typename T, size_t N>
RawValue::List RawList(const std::array<T, N>& numbers) {
  return RawValue::List(numbers.begin(), numbers.end());
}

template <typename T>
RawValue RawVector(const std::vector<T>& elements) {
  return RawValue::List(elements.begin(), elements.end());
}

RawValue RawDict(const Dict& dict) {
  RawValue::Pairs pairs;
  for (const auto& [key, entry] : dict) {
    RawValue raw_key = std::visit([](const auto& k) { return RawValue(k); }, key);
    RawValue raw_value = entry.side.empty() ? RawValue(entry.value) : RawValue::List{entry.value, entry.side};
    pairs.emplace_back(std::move(raw_key), std::move(raw_value));
  }
  return pairs;
}

}  // namespace

RawValue ToRaw(const Value& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return RawValue(); }, [](const Dict& dict) { return RawDict(dict); },
                 [](const CubeTile& tile) {
                   return RawValue(RawValue::List{RawList(tile.m), RawList(tile.k), RawList(tile.n),
                                                  RawValue(tile.enable_split_k)});
                 },
                 []<typename T>(const std::vector<T>& elements) { return RawVector(elements); },
                 [](const auto& scalar) { return RawValue(scalar); }},
      value);
}

std::string RawText(const RawValue& value) {
  return std::visit(
      Overloaded{
          [](std::monostate) { return std::string("None"); },
          [](bool flag) { return std::string(flag ? "true" : "false"); },
          [](int64_t number) { return std::to_string(number); }, [](double number) { return DoubleText(number); },
          [](const std::string& text) { return Quoted(text); },
          [](const RawValue::List& list) { return "[" + Joined(list, RawText) + "]"; },
          [](const RawValue::Pairs& pairs) {
            return "{" + Joined(pairs, [](const auto& p) { return RawText(p.first) + ": " + RawText(p.second); }) + "}";
          }},
      value.data);
}

std::string ValueText(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "unset";
  return RawText(ToRaw(value));
}

}  // namespace pypto::options
