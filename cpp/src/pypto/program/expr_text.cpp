// Text of expressions: `(x+8)`, `RUNTIME_Min(x, 5)`, `(y&&20)`.
#include <bit>

#include "pypto/program/expr_linear.h"

namespace pypto::program {
namespace {

// Shared parts are written out again, so nested expressions grow fast; what lies beyond these limits is "…".
constexpr size_t kMaxTextBytes = 4096;
constexpr int kMaxTextDepth = 48;

class Writer {
 public:
  Writer(const ExprPool& pool, const ExprPool::NameOf& name_of) : pool_(pool), name_of_(name_of) {}

  void Write(ExprId id, int depth) {
    const ExprNode& node = pool_.node(id);
    if (depth > kMaxTextDepth || text.size() > kMaxTextBytes) {
      text += "…";
      return;
    }
    switch (node.op) {
      case ExprOp::kConst: text += std::to_string(node.value); return;
      case ExprOp::kSymbol: Leaf(node, "symbol"); return;
      case ExprOp::kScalar: Leaf(node, "scalar"); return;
      case ExprOp::kLoopIndex: Leaf(node, "loop"); return;
      case ExprOp::kSlot: Leaf(node, "slot"); return;
      case ExprOp::kFloat: text += base::Format("%.17g", std::bit_cast<double>(node.value)); return;
      case ExprOp::kFloatScalar: Leaf(node, "scalar"); return;
      case ExprOp::kAdd: Sum(node, depth); return;
      case ExprOp::kMul: Infix(node, "*", depth); return;
      case ExprOp::kDiv: Infix(node, "/", depth); return;
      case ExprOp::kMod: Infix(node, "%", depth); return;
      case ExprOp::kMin: Call("RUNTIME_Min", node, depth); return;
      case ExprOp::kMax: Call("RUNTIME_Max", node, depth); return;
      case ExprOp::kEq: Infix(node, "==", depth); return;
      case ExprOp::kNe: Infix(node, "!=", depth); return;
      case ExprOp::kLt: Infix(node, "<", depth); return;
      case ExprOp::kLe: Infix(node, "<=", depth); return;
      case ExprOp::kAnd: Infix(node, "&&", depth); return;
      case ExprOp::kOr: Infix(node, "||", depth); return;
      case ExprOp::kNot:
        text += "(!";
        Write(node.a, depth + 1);
        text += ")";
        return;
      case ExprOp::kSelect:
        text += "(";
        Write(node.a, depth + 1);
        text += "?";
        Write(node.b, depth + 1);
        text += ":";
        Write(node.c, depth + 1);
        text += ")";
        return;
      case ExprOp::kToFloat:
        text += "float(";
        Write(node.a, depth + 1);
        text += ")";
        return;
      case ExprOp::kFloatAdd: Infix(node, "+", depth); return;
      case ExprOp::kFloatSub: Infix(node, "-", depth); return;
      case ExprOp::kFloatMul: Infix(node, "*", depth); return;
      case ExprOp::kFloatDiv: Infix(node, "/", depth); return;
      case ExprOp::kFloatMin: Call("RUNTIME_Min", node, depth); return;
      case ExprOp::kFloatMax: Call("RUNTIME_Max", node, depth); return;
    }
  }

  std::string text;

 private:
  void Leaf(const ExprNode& node, const char* fallback) {
    text += name_of_ ? name_of_(node) : fallback + std::to_string(node.a);
  }

  void Infix(const ExprNode& node, const char* sign, int depth) {
    text += "(";
    Write(node.a, depth + 1);
    text += sign;
    Write(node.b, depth + 1);
    text += ")";
  }

  void Call(const char* name, const ExprNode& node, int depth) {
    text += name;
    text += "(";
    Write(node.a, depth + 1);
    text += ", ";
    Write(node.b, depth + 1);
    text += ")";
  }

  // The chain a + b + … without inner brackets; a negative factor or constant becomes a minus sign.
  void Sum(const ExprNode& node, int depth) {
    std::vector<ExprId> terms = {node.b};
    ExprId rest = node.a;
    while (pool_.node(rest).op == ExprOp::kAdd && terms.size() < kMaxTextBytes) {
      terms.push_back(pool_.node(rest).b);
      rest = pool_.node(rest).a;
    }
    terms.push_back(rest);
    text += "(";
    // Terms that are added come first, so that 8 - x does not begin with a sign.
    bool first = true;
    for (const bool negative : {false, true}) {
      for (auto it = terms.rbegin(); it != terms.rend(); ++it) {
        if (IsNegative(*it) != negative) continue;
        if (negative) {
          WriteNegated(*it, depth);
        } else {
          if (!first) text += "+";
          Write(*it, depth + 1);
        }
        first = false;
      }
    }
    text += ")";
  }

  // The constant that is, or multiplies, the term; 1 when there is none.
  int64_t FactorOf(ExprId id) const {
    const ExprNode& node = pool_.node(id);
    if (node.op == ExprOp::kConst) return node.value;
    return node.op == ExprOp::kMul ? pool_.ConstantValue(node.b).value_or(1) : 1;
  }
  bool IsNegative(ExprId id) const { return FactorOf(id) < 0 && FactorOf(id) != INT64_MIN; }

  void WriteNegated(ExprId id, int depth) {
    const ExprNode& node = pool_.node(id);
    const int64_t magnitude = -FactorOf(id);
    text += "-";
    if (node.op == ExprOp::kConst) {
      text += std::to_string(magnitude);
    } else if (magnitude == 1) {
      Write(node.a, depth + 1);
    } else {
      text += "(";
      Write(node.a, depth + 1);
      text += "*" + std::to_string(magnitude) + ")";
    }
  }

  const ExprPool& pool_;
  const ExprPool::NameOf& name_of_;
};

}  // namespace

std::string ExprPool::ToText(ExprId id, const NameOf& name_of) const {
  if (id >= size()) return "none";
  Writer writer(*this, name_of);
  writer.Write(id, 0);
  return std::move(writer.text);
}

}  // namespace pypto::program
