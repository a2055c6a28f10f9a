// Evaluation of expressions, on the host and in the engine.
#include <bit>

#include "pypto/program/expr.h"

namespace pypto::program {
namespace {

double AsFloat(int64_t bits) { return std::bit_cast<double>(bits); }
int64_t AsBits(double value) { return std::bit_cast<int64_t>(value); }

int64_t EvaluateFloat(const ExprNode& node, std::span<const int64_t> slots) {
  const double a = AsFloat(slots[node.a]);
  const double b = node.op == ExprOp::kToFloat ? 0 : AsFloat(slots[node.b]);
  switch (node.op) {
    case ExprOp::kToFloat: return AsBits(static_cast<double>(slots[node.a]));
    case ExprOp::kFloatAdd: return AsBits(a + b);
    case ExprOp::kFloatSub: return AsBits(a - b);
    case ExprOp::kFloatMul: return AsBits(a * b);
    case ExprOp::kFloatDiv: return AsBits(a / b);
    case ExprOp::kFloatMin: return AsBits(b < a ? b : a);
    default: return AsBits(a < b ? b : a);
  }
}

// One node whose children are evaluated.
inline EvalOutcome EvaluateNode(const ExprNode& node, const ExprEnvironment& environment,
                                std::span<const int64_t> slots, int64_t& out) {
  const auto outcome = [](bool overflow) { return overflow ? EvalOutcome::kOverflow : EvalOutcome::kOk; };
  switch (node.op) {
    case ExprOp::kConst: out = node.value; return EvalOutcome::kOk;
    case ExprOp::kSymbol: out = environment.symbols[node.a]; return EvalOutcome::kOk;
    case ExprOp::kScalar: out = environment.scalars[node.a]; return EvalOutcome::kOk;
    case ExprOp::kLoopIndex: out = environment.loop_indices[node.a]; return EvalOutcome::kOk;
    case ExprOp::kSlot: out = environment.slots[node.a]; return EvalOutcome::kOk;
    case ExprOp::kFloat: out = node.value; return EvalOutcome::kOk;
    case ExprOp::kFloatScalar: out = environment.scalars[node.a]; return EvalOutcome::kOk;
    case ExprOp::kAdd: return outcome(__builtin_add_overflow(slots[node.a], slots[node.b], &out));
    case ExprOp::kMul: return outcome(__builtin_mul_overflow(slots[node.a], slots[node.b], &out));
    case ExprOp::kDiv:
      if (slots[node.b] == 0) return EvalOutcome::kDivisionByZero;
      if (slots[node.b] == -1) return outcome(__builtin_sub_overflow(int64_t{0}, slots[node.a], &out));
      out = slots[node.a] / slots[node.b];
      return EvalOutcome::kOk;
    case ExprOp::kMod:
      if (slots[node.b] == 0) return EvalOutcome::kDivisionByZero;
      out = slots[node.b] == -1 ? 0 : slots[node.a] % slots[node.b];
      return EvalOutcome::kOk;
    case ExprOp::kMin: out = slots[node.a] < slots[node.b] ? slots[node.a] : slots[node.b]; return EvalOutcome::kOk;
    case ExprOp::kMax: out = slots[node.a] < slots[node.b] ? slots[node.b] : slots[node.a]; return EvalOutcome::kOk;
    case ExprOp::kEq: out = slots[node.a] == slots[node.b]; return EvalOutcome::kOk;
    case ExprOp::kNe: out = slots[node.a] != slots[node.b]; return EvalOutcome::kOk;
    case ExprOp::kLt: out = slots[node.a] < slots[node.b]; return EvalOutcome::kOk;
    case ExprOp::kLe: out = slots[node.a] <= slots[node.b]; return EvalOutcome::kOk;
    case ExprOp::kAnd: out = slots[node.a] != 0 && slots[node.b] != 0; return EvalOutcome::kOk;
    case ExprOp::kOr: out = slots[node.a] != 0 || slots[node.b] != 0; return EvalOutcome::kOk;
    case ExprOp::kNot: out = slots[node.a] == 0; return EvalOutcome::kOk;
    case ExprOp::kSelect: out = slots[node.a] != 0 ? slots[node.b] : slots[node.c]; return EvalOutcome::kOk;
    default: out = EvaluateFloat(node, slots); return EvalOutcome::kOk;
  }
}

}  // namespace

EvalOutcome EvaluateNodes(std::span<const ExprNode> nodes, std::span<const ExprId> wanted,
                          const ExprEnvironment& environment, std::span<int64_t> slots) {
  for (const ExprId id : wanted) {
    const EvalOutcome outcome = EvaluateNode(nodes[id], environment, slots, slots[id]);
    if (outcome != EvalOutcome::kOk) [[unlikely]]
      return outcome;
  }
  return EvalOutcome::kOk;
}

base::Result<int64_t> Evaluate(const ExprPool& pool, ExprId id, const ExprEnvironment& environment) {
  if (id >= pool.size()) {
    return base::MakeStatus(base::StatusCode::kOutOfRange, "expression %u of %zu does not exist", id, pool.size());
  }
  const std::vector<ExprId> wanted = CloseUnderChildren(pool.nodes(), std::span(&id, 1));
  for (const ExprId one : wanted) {
    const ExprNode& node = pool.node(one);
    const bool bad = (node.op == ExprOp::kSymbol && node.a >= environment.symbols.size()) ||
                     (node.op == ExprOp::kScalar && node.a >= environment.scalars.size()) ||
                     (node.op == ExprOp::kFloatScalar && node.a >= environment.scalars.size()) ||
                     (node.op == ExprOp::kSlot && node.a >= environment.slots.size()) ||
                     (node.op == ExprOp::kLoopIndex && node.a >= environment.loop_indices.size());
    if (bad) {
      return base::MakeStatus(base::StatusCode::kOutOfRange, "expression %u: no value is given for its operand %u", one,
                              node.a);
    }
  }
  std::vector<int64_t> slots(id + size_t{1});
  switch (EvaluateNodes(pool.nodes(), wanted, environment, slots)) {
    case EvalOutcome::kDivisionByZero:
      return base::Status(base::StatusCode::kInvalidArgument, "division by zero in a symbolic expression");
    case EvalOutcome::kOverflow:
      return base::Status(base::StatusCode::kInvalidArgument, "a symbolic expression exceeds 64 bits");
    case EvalOutcome::kOk: break;
  }
  return slots[id];
}

}  // namespace pypto::program
