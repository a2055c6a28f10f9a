// What a program expects of its arguments, laid out for checking at every call.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pypto/base/status.h"
#include "pypto/program/image.h"
#include "pypto/runtime/argument_view.h"
#include "pypto/runtime/registration.h"

namespace pypto::runtime {

// One parameter. A dim is its static size, or ~symbol.
struct ParameterRule {
  bool is_tensor = true;
  program::Direction direction = program::Direction::kIn;
  program::DType dtype = program::DType::kFp32;
  program::ScalarKind scalar_kind = program::ScalarKind::kInt;
  uint8_t rank = 0;
  uint8_t defines = 0;  // bit i: dim i is where its symbol is first seen
  uint32_t scalar = 0;
  uint32_t element_bytes = 0;
  std::array<int64_t, program::kMaxRank> dims{};

  bool reads() const noexcept {
    return direction == program::Direction::kIn || direction == program::Direction::kInOut;
  }
  bool writes() const noexcept {
    return direction == program::Direction::kOut || direction == program::Direction::kInOut;
  }
};

// Immutable; refers to the plan, which must outlive it. Thread-safe.
class Signature {
 public:
  explicit Signature(const program::Plan& plan);

  std::span<const ParameterRule> rules() const noexcept { return rules_; }
  size_t symbol_count() const noexcept { return plan_.symbols.size(); }
  size_t scalar_count() const noexcept { return plan_.scalars.size(); }
  const program::Plan& plan() const noexcept { return plan_; }

  // Checks a tensor's shape; writes the symbols that the parameter defines, compares the others.
  static bool MatchShape(const ParameterRule& rule, const int64_t* shape, size_t rank, int64_t* symbols) noexcept {
    if (rank != rule.rank) return false;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t expected = rule.dims[i];
      if (expected >= 0) {
        if (shape[i] != expected) return false;
        continue;
      }
      int64_t& symbol = symbols[~expected];
      if ((rule.defines >> i & 1) != 0) {
        if (shape[i] < 0) return false;
        symbol = shape[i];
      } else if (symbol != shape[i]) {
        return false;
      }
    }
    return true;
  }

  // Why the arguments do not fit; called when a check has failed.
  [[gnu::cold]] base::Status ExplainCount(size_t got) const;
  [[gnu::cold]] base::Status ExplainArgument(size_t index, const ArgumentView& argument, const int64_t* symbols) const;
  // "argument 'x' of k"
  std::string ArgumentName(size_t index) const;

  base::Result<std::vector<OutputShape>> InferOutputs(std::span<const ArgumentView> given) const;

 private:
  std::string Expected(size_t index) const;
  base::Status ExplainShape(size_t index, std::span<const int64_t> shape, program::DType dtype,
                            const int64_t* symbols) const;
  base::Status CheckOmitted(size_t index) const;
  base::Status MatchGiven(std::span<const ArgumentView> given, std::vector<int64_t>* symbols,
                          std::vector<bool>* known) const;

  const program::Plan& plan_;
  std::vector<ParameterRule> rules_;
};

// Shape of a tensor argument, host or resident.
inline std::span<const int64_t> ShapeOf(const ArgumentView& argument) noexcept {
  return argument.kind == ArgumentKind::kResident ? argument.tensor->shape()
                                                  : std::span<const int64_t>(argument.shape, argument.rank);
}
inline program::DType DTypeOf(const ArgumentView& argument) noexcept {
  return argument.kind == ArgumentKind::kResident ? argument.tensor->dtype() : argument.dtype;
}
inline bool IsTensor(const ArgumentView& argument) noexcept {
  return argument.kind == ArgumentKind::kHost || argument.kind == ArgumentKind::kResident;
}

}  // namespace pypto::runtime
