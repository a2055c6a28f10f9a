// Values of options: what comes in from Python or JSON (RawValue), and what is kept (Value).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pypto/base/export.h"

namespace pypto::options {

// A value as a user gave it, before it is checked against a key. Tuples are lists; None is monostate.
struct RawValue {
  using List = std::vector<RawValue>;
  using Pairs = std::vector<std::pair<RawValue, RawValue>>;  // a dict, in the order given

  std::variant<std::monostate, bool, int64_t, double, std::string, List, Pairs> data;

  RawValue() = default;
  template <std::same_as<bool> T>  // no pointer becomes a flag
  RawValue(T value) : data(value) {}
  RawValue(int value) : data(static_cast<int64_t>(value)) {}
  RawValue(int64_t value) : data(value) {}
  RawValue(double value) : data(value) {}
  RawValue(const char* value) : data(std::string(value)) {}
  RawValue(std::string value) : data(std::move(value)) {}
  RawValue(List value) : data(std::move(value)) {}
  RawValue(Pairs value) : data(std::move(value)) {}

  friend bool operator==(const RawValue&, const RawValue&) = default;
};

// Key and value of a dict option: 3: 4, or 3: (4, "left"). An empty side is a plain number.
using DictKey = std::variant<int64_t, std::string>;
struct DictValue {
  int64_t value = 0;
  std::string side;
  friend bool operator==(const DictValue&, const DictValue&) = default;
};
using Dict = std::map<DictKey, DictValue>;

// Tile of a matmul: [m0, m1], [k0, k1, k2], [n0, n1].
struct CubeTile {
  std::array<int64_t, 2> m{};
  std::array<int64_t, 3> k{};
  std::array<int64_t, 2> n{};
  bool enable_split_k = false;
  friend bool operator==(const CubeTile&, const CubeTile&) = default;
};

// A checked value. monostate: unset (tile shapes that nobody has set).
using Value = std::variant<std::monostate, int64_t, bool, std::string, std::vector<int64_t>, std::vector<double>,
                           std::vector<std::string>, Dict, CubeTile>;

// "128", "true", "\"Iso\"", "[1, 2]", "{-1: 1}", "[[16, 16], [256, 512, 512], [128, 128], false]"; "unset".
PYPTO_API std::string ValueText(const Value& value);
PYPTO_API std::string RawText(const RawValue& value);
// What the setter of the key would take to get this value again.
PYPTO_API RawValue ToRaw(const Value& value);

}  // namespace pypto::options
