// Making a signature from a plan, inferring left-out outputs, and the texts of wrong arguments.
#include "pypto/runtime/signature.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

std::string DTypeText(program::DType dtype) { return "DT_" + std::string(program::InfoOf(dtype).name); }

const char* KindText(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kHost: return "a host tensor";
    case ArgumentKind::kResident: return "a DeviceTensor";
    case ArgumentKind::kInt: return "an int";
    case ArgumentKind::kFloat: return "a float";
  }
  return "something else";
}

}  // namespace

Signature::Signature(const program::Plan& plan) : plan_(plan) {
  std::vector<bool> seen(plan.symbols.size(), false);
  for (const program::PlanParameter& parameter : plan.parameters) {
    ParameterRule rule;
    rule.is_tensor = parameter.is_tensor;
    rule.direction = parameter.direction;
    rule.dtype = parameter.dtype;
    rule.scalar_kind = parameter.scalar_kind;
    rule.scalar = parameter.scalar;
    rule.element_bytes = program::BytesOf(parameter.dtype);
    rule.rank = static_cast<uint8_t>(parameter.dims.size());
    for (size_t i = 0; parameter.is_tensor && i < parameter.dims.size(); ++i) {
      const program::Dim& dim = parameter.dims[i];
      rule.dims[i] = dim.symbol < 0 ? dim.value : ~static_cast<int64_t>(dim.symbol);
      if (dim.symbol < 0 || seen[static_cast<size_t>(dim.symbol)]) continue;
      seen[static_cast<size_t>(dim.symbol)] = true;
      rule.defines |= static_cast<uint8_t>(1U << i);
    }
    rules_.push_back(rule);
  }
}

std::string Signature::ArgumentName(size_t index) const {
  return "argument '" + plan_.parameters[index].name + "' of " + plan_.name;
}

std::string Signature::Expected(size_t index) const {
  const program::PlanParameter& parameter = plan_.parameters[index];
  if (!parameter.is_tensor) return parameter.scalar_kind == program::ScalarKind::kInt ? "an int" : "a float";
  std::string text = "a tensor [";
  for (size_t i = 0; i < parameter.dims.size(); ++i) {
    const program::Dim& dim = parameter.dims[i];
    if (i != 0) text += ", ";
    text += dim.symbol < 0 ? std::to_string(dim.value) : plan_.symbols[static_cast<size_t>(dim.symbol)].name;
  }
  return text + "] " + DTypeText(parameter.dtype);
}

Status Signature::ExplainCount(size_t got) const {
  std::string names;
  for (const program::PlanParameter& parameter : plan_.parameters) {
    if (!names.empty()) names += ", ";
    names += parameter.name;
  }
  const size_t want = plan_.parameters.size();
  return MakeStatus(StatusCode::kTypeMismatch, "%s() takes %zu argument%s (%s), got %zu", plan_.name.c_str(), want,
                    want == 1 ? "" : "s", names.c_str(), got);
}

Status Signature::ExplainArgument(size_t index, const ArgumentView& argument, const int64_t* symbols) const {
  const ParameterRule& rule = rules_[index];
  if (rule.is_tensor && IsTensor(argument)) {
    const Status shape = ExplainShape(index, ShapeOf(argument), DTypeOf(argument), symbols);
    if (!shape.ok()) return shape;
    if (argument.kind == ArgumentKind::kHost && argument.data == nullptr) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: the host tensor has no data", ArgumentName(index).c_str());
    }
    return MakeStatus(StatusCode::kInvalidArgument, "%s: the tensor is too large", ArgumentName(index).c_str());
  }
  return MakeStatus(StatusCode::kTypeMismatch, "%s: expected %s, got %s", ArgumentName(index).c_str(),
                    Expected(index).c_str(), KindText(argument.kind));
}

Status Signature::ExplainShape(size_t index, std::span<const int64_t> shape, program::DType dtype,
                               const int64_t* symbols) const {
  const ParameterRule& rule = rules_[index];
  const std::string head = ArgumentName(index) + ": expected " + Expected(index).substr(2) + ", got " +
                           ShapeText(shape) + " " + DTypeText(dtype);
  if (!program::Serves(dtype, rule.dtype))
    return MakeStatus(StatusCode::kTypeMismatch, "%s: the dtype differs", head.c_str());
  if (shape.size() != rule.rank) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s: %d dims are needed, it has %zu", head.c_str(), rule.rank,
                      shape.size());
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto got = static_cast<long long>(shape[i]);
    const int64_t expected = rule.dims[i];
    if (expected >= 0 && shape[i] != expected) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: dim %zu must be %lld, it is %lld", head.c_str(), i,
                        static_cast<long long>(expected), got);
    }
    if (expected >= 0) continue;
    if (shape[i] < 0) return MakeStatus(StatusCode::kInvalidArgument, "%s: dim %zu is negative", head.c_str(), i);
    const program::Symbol& symbol = plan_.symbols[static_cast<size_t>(~expected)];
    if ((rule.defines >> i & 1) != 0 || symbols[~expected] == shape[i]) continue;
    return MakeStatus(StatusCode::kInvalidArgument, "%s: dim %zu is %lld, but %s is %lld (dim %u of '%s')",
                      head.c_str(), i, got, symbol.name.c_str(), static_cast<long long>(symbols[~expected]),
                      symbol.axis, plan_.parameters[symbol.parameter].name.c_str());
  }
  return base::OkStatus();
}

Status Signature::CheckOmitted(size_t index) const {
  const program::PlanParameter& parameter = plan_.parameters[index];
  if (parameter.is_tensor && parameter.direction == program::Direction::kOut) return base::OkStatus();
  if (parameter.is_tensor && parameter.direction == program::Direction::kInOut) {
    const bool partial = !parameter.partial_reason.empty();
    return MakeStatus(StatusCode::kTypeMismatch, "%s is missing and cannot be left out: parameter is inout%s%s",
                      ArgumentName(index).c_str(), partial ? " because " : "", parameter.partial_reason.c_str());
  }
  const char* reason = "only trailing outputs may be left out";
  if (!parameter.is_tensor) reason = "it is a number of each launch; pass one, or give its value when compiling";
  return MakeStatus(StatusCode::kTypeMismatch, "%s is missing: %s", ArgumentName(index).c_str(), reason);
}

Status Signature::MatchGiven(std::span<const ArgumentView> given, std::vector<int64_t>* symbols,
                             std::vector<bool>* known) const {
  for (size_t i = 0; i < given.size(); ++i) {
    const ParameterRule& rule = rules_[i];
    if (!rule.is_tensor) continue;
    if (!IsTensor(given[i])) return ExplainArgument(i, given[i], symbols->data());
    const std::span<const int64_t> shape = ShapeOf(given[i]);
    if (!MatchShape(rule, shape.data(), shape.size(), symbols->data())) {
      return ExplainArgument(i, given[i], symbols->data());
    }
    for (size_t d = 0; d < rule.rank; ++d) {
      if (rule.dims[d] < 0) (*known)[static_cast<size_t>(~rule.dims[d])] = true;
    }
  }
  return base::OkStatus();
}

Result<std::vector<OutputShape>> Signature::InferOutputs(std::span<const ArgumentView> given) const {
  if (given.size() > rules_.size()) return ExplainCount(given.size());
  for (size_t i = given.size(); i < rules_.size(); ++i) PYPTO_RETURN_IF_ERROR(CheckOmitted(i));
  std::vector<int64_t> symbols(plan_.symbols.size(), 0);
  std::vector<bool> known(plan_.symbols.size(), false);
  PYPTO_RETURN_IF_ERROR(MatchGiven(given, &symbols, &known));
  std::vector<OutputShape> outputs;
  for (size_t i = given.size(); i < rules_.size(); ++i) {
    OutputShape output{static_cast<uint32_t>(i), rules_[i].dtype, {}};
    for (size_t d = 0; d < rules_[i].rank; ++d) {
      const int64_t dim = rules_[i].dims[d];
      if (dim < 0 && !known[static_cast<size_t>(~dim)]) {
        return MakeStatus(StatusCode::kTypeMismatch,
                          "%s is missing and cannot be left out: %s does not follow from the other arguments",
                          ArgumentName(i).c_str(), plan_.symbols[static_cast<size_t>(~dim)].name.c_str());
      }
      output.dims.push_back(dim >= 0 ? dim : symbols[static_cast<size_t>(~dim)]);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace pypto::runtime
