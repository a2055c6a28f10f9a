// Symbolic integer expressions: dims, loop indices, scalar parameters, slots and what is computed from them. Floating
// expressions stand in the same pool; their 64 bits are those of a double.
//
// Expressions are 64-bit signed. Division truncates toward zero and the remainder has the sign of the dividend (as in
// C). A pool hash-conses its nodes and keeps sums of products with constants in one canonical order, so that two ids
// are equal when the expressions differ only by linear rewriting: (i + 1) * 32 - i * 32 is the constant 32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pypto/base/status.h"

namespace pypto::program {

using ExprId = uint32_t;
inline constexpr ExprId kNoExpr = UINT32_MAX;

enum class ExprOp : uint8_t {
  kConst = 0,        // value
  kSymbol = 1,       // a: index into the symbols (dynamic dims)
  kScalar = 2,       // a: index into the scalar parameters, an integer one
  kLoopIndex = 3,    // a: loop id
  kSlot = 4,         // a: slot; its value when the expression is evaluated
  kFloat = 5,        // value: bits of a double
  kFloatScalar = 6,  // a: index into the scalar parameters, a floating one
  kAdd = 7,
  kMul = 8,
  kDiv = 9,  // truncates; a zero divisor is a kernel fault
  kMod = 10,
  kMin = 11,
  kMax = 12,
  kEq = 13,  // comparisons and logic give 0 or 1
  kNe = 14,
  kLt = 15,
  kLe = 16,
  kAnd = 17,
  kOr = 18,
  kNot = 19,      // a
  kSelect = 20,   // a ? b : c
  kToFloat = 21,  // of the integer a
  kFloatAdd = 22,
  kFloatSub = 23,
  kFloatMul = 24,
  kFloatDiv = 25,
  kFloatMin = 26,
  kFloatMax = 27,
};

inline constexpr ExprOp kLastExprOp = ExprOp::kFloatMax;

// How many operands (a, b, c) are expressions; -1 for a number that names no kind.
constexpr int ChildCount(ExprOp op) {
  if (op < ExprOp::kAdd) return 0;
  if (op == ExprOp::kNot || op == ExprOp::kToFloat) return 1;
  if (op == ExprOp::kSelect) return 3;
  return op <= kLastExprOp ? 2 : -1;
}

// Whether the value is that of a double; slots and selections are what is put into them.
constexpr bool GivesFloat(ExprOp op) {
  return op == ExprOp::kFloat || op == ExprOp::kFloatScalar || op >= ExprOp::kToFloat;
}

// Children have smaller ids than their parent.
struct ExprNode {
  ExprOp op = ExprOp::kConst;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  int64_t value = 0;
  bool operator==(const ExprNode&) const = default;
};

struct LinearForm;  // expr_linear.h

// Owned by a Program or a Plan. Thread rule: one thread builds; afterwards read-only from any thread.
class PYPTO_API ExprPool {
 public:
  ExprId Const(int64_t value);
  ExprId Symbol(uint32_t index);
  ExprId Scalar(uint32_t index);
  ExprId LoopIndex(uint32_t loop);
  ExprId Slot(uint32_t slot);
  ExprId Float(double value);
  ExprId FloatScalar(uint32_t index);
  ExprId Add(ExprId a, ExprId b);
  ExprId Sub(ExprId a, ExprId b);
  ExprId Mul(ExprId a, ExprId b);
  ExprId Neg(ExprId a);
  // kDiv … kFloatMax; folds constants and identities. A constant zero divisor is kInvalidArgument.
  base::Result<ExprId> Make(ExprOp op, ExprId a, ExprId b = kNoExpr, ExprId c = kNoExpr);
  ExprId Min(ExprId a, ExprId b);
  ExprId Max(ExprId a, ExprId b);
  ExprId CeilDiv(ExprId a, int64_t divisor);  // for a >= 0, divisor > 0
  ExprId AlignUp(ExprId a, int64_t alignment);
  // Min(Max(value, 0), limit)
  ExprId Clamp(ExprId value, ExprId limit);
  // The index of `loop` lies in [low, high] wherever it is read; makes ranges of expressions of it narrower. Given
  // before the first LoopIndex(loop).
  void SetLoopBounds(uint32_t loop, ExprId low, ExprId high);

  // Slot `slot` lies in [low, high] wherever it is read. Given before the first Slot(slot).
  void SetSlotBounds(uint32_t slot, int64_t low, int64_t high);

  std::optional<int64_t> ConstantValue(ExprId id) const;
  bool IsConstant(ExprId id, int64_t value) const;
  // Values the expression can be proven to lie in; wide open when nothing is known. Symbols and loop counts are >= 0.
  std::pair<int64_t, int64_t> Range(ExprId id) const;

  const ExprNode& node(ExprId id) const { return nodes_[id]; }
  std::span<const ExprNode> nodes() const { return nodes_; }
  size_t size() const { return nodes_.size(); }
  // Takes nodes as read from a file; kProgramFormat when a child does not precede its parent or an op is unknown.
  static base::Result<ExprPool> FromNodes(std::vector<ExprNode> nodes);

  using NameOf = std::function<std::string(const ExprNode& leaf)>;
  std::string ToText(ExprId id, const NameOf& name_of) const;

 private:
  friend class ExprFolder;
  ExprId Intern(const ExprNode& node);
  LinearForm LinearOf(ExprId id) const;
  ExprId FromLinear(const LinearForm& form);
  ExprId ProductOf(ExprId a, ExprId b);
  ExprId MulForms(const LinearForm& a, const LinearForm& b, ExprId fallback_a, ExprId fallback_b);
  std::optional<LinearForm> Substitute(const LinearForm& form, bool lower) const;
  std::pair<int64_t, int64_t> PlainRange(const LinearForm& form) const;
  std::pair<int64_t, int64_t> RangeOf(const LinearForm& form) const;
  std::pair<int64_t, int64_t> RangeOfNode(const ExprNode& node, ExprId id) const;
  std::vector<ExprNode> nodes_;
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // one per node
  std::unordered_map<uint32_t, std::pair<ExprId, ExprId>> loop_bounds_;
  std::unordered_map<uint32_t, std::pair<int64_t, int64_t>> slot_bounds_;
  size_t PlaceOf(const ExprNode& node) const;
  void Index(ExprId id);
  // Open addressing, a power of two of places, kNoExpr where free; at most half full.
  std::vector<ExprId> index_;
};

// What the leaves of an expression stand for while it is evaluated.
struct ExprEnvironment {
  std::span<const int64_t> symbols;
  std::span<const int64_t> scalars;
  std::span<const int64_t> loop_indices;
  std::span<const int64_t> slots = {};
};

enum class EvalOutcome : uint8_t { kOk, kDivisionByZero, kOverflow };

// Evaluates the nodes `wanted` (ascending ids, closed under children) into slots[id]. No allocation.
PYPTO_API EvalOutcome EvaluateNodes(std::span<const ExprNode> nodes, std::span<const ExprId> wanted,
                                    const ExprEnvironment& environment, std::span<int64_t> slots);
// One expression with its children; allocates. For the host side and for tests.
PYPTO_API base::Result<int64_t> Evaluate(const ExprPool& pool, ExprId id, const ExprEnvironment& environment);
// `roots` and everything below them, ascending.
PYPTO_API std::vector<ExprId> CloseUnderChildren(std::span<const ExprNode> nodes, std::span<const ExprId> roots);

}  // namespace pypto::program
