// Evaluation of expressions, on the host and in the engine.
#include "pypto/program/expr.h"

namespace pypto::program {
namespace {

// One node whose children are evaluated.
inline EvalOutcome EvaluateNode(const ExprNode& node, const ExprEnvironment& environment,
                                std::span<const int64_t> slots, int64_t& out) {
  const auto outcome = [](bool overflow) { return overflow ? EvalOutcome::kOverflow : EvalOutcome::kOk; };
  switch (node.op) {
    case ExprOp::kConst: out = node.value; return EvalOutcome::kOk;
    case ExprOp::kSymbol: out = environment.symbols[node.a]; return EvalOutcome::kOk;
    case ExprOp::kScalar: out = environment.scalars[node.a]; return EvalOutcome::kOk;
    case ExprOp::kLoopIndex: out = environment.loop_indices[node.a]; return EvalOutcome::kOk;
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
  }
  return EvalOutcome::kOverflow;
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
