// Which part of a parameter a kernel is proven to write.
#include "pypto/compile/cover.h"

#include <algorithm>
#include <utility>

namespace pypto::compile {
namespace {

using program::ExprOp;

// Boxes of one parameter that are followed at a time.
constexpr size_t kMaxBoxes = 64;

bool AtMost(program::ExprPool& exprs, ExprId a, ExprId b) { return a == b || exprs.Range(exprs.Sub(b, a)).first >= 0; }

// coefficient * index + rest, where rest does not read the index; nothing when the expression is not of that form.
struct Affine {
  int64_t coefficient = 0;
  ExprId rest = kNoExpr;
};

bool Reads(const program::ExprPool& exprs, ExprId id, uint32_t loop) {
  const program::ExprNode& node = exprs.node(id);
  if (node.op == ExprOp::kLoopIndex) return node.a == loop;
  const int children = program::ChildCount(node.op);
  return (children > 0 && Reads(exprs, node.a, loop)) || (children > 1 && Reads(exprs, node.b, loop)) ||
         (children > 2 && Reads(exprs, node.c, loop));
}

bool ReadsSlot(const program::ExprPool& exprs, ExprId id) {
  const std::vector<ExprId> all = program::CloseUnderChildren(exprs.nodes(), std::span(&id, 1));
  return std::any_of(all.begin(), all.end(), [&](ExprId one) { return exprs.node(one).op == ExprOp::kSlot; });
}

// Sum of the coefficients of the index in a sum; nothing when the index stands anywhere else.
std::optional<int64_t> CoefficientOf(const program::ExprPool& exprs, ExprId id, uint32_t loop) {
  const program::ExprNode& node = exprs.node(id);
  if (node.op == ExprOp::kLoopIndex && node.a == loop) return 1;
  if (node.op == ExprOp::kAdd) {
    const auto a = CoefficientOf(exprs, node.a, loop);
    const auto b = CoefficientOf(exprs, node.b, loop);
    if (!a || !b) return std::nullopt;
    return *a + *b;
  }
  if (node.op == ExprOp::kMul) {
    const auto factor = exprs.ConstantValue(node.b);
    const auto inner = factor ? CoefficientOf(exprs, node.a, loop) : std::nullopt;
    if (inner && *inner == 1) return *factor;
  }
  return Reads(exprs, id, loop) ? std::nullopt : std::optional<int64_t>(0);
}

std::optional<Affine> AffineIn(program::ExprPool& exprs, ExprId id, uint32_t loop) {
  const auto coefficient = CoefficientOf(exprs, id, loop);
  if (!coefficient) return std::nullopt;
  const ExprId part = exprs.Mul(exprs.LoopIndex(loop), exprs.Const(*coefficient));
  const ExprId rest = exprs.Sub(id, part);
  if (Reads(exprs, rest, loop)) return std::nullopt;
  return Affine{*coefficient, rest};
}

// Joins b into a where both agree in all dims but one and touch there.
bool JoinBoxes(program::ExprPool& exprs, Box& a, const Box& b) {
  size_t differing = a.low.size();
  for (size_t i = 0; i < a.low.size(); ++i) {
    if (a.low[i] == b.low[i] && a.high[i] == b.high[i]) continue;
    if (differing != a.low.size()) return false;
    differing = i;
  }
  if (differing == a.low.size()) return true;
  const size_t d = differing;
  const bool forward = AtMost(exprs, a.low[d], b.low[d]) && AtMost(exprs, b.low[d], a.high[d]);
  const bool backward = !forward && AtMost(exprs, b.low[d], a.low[d]) && AtMost(exprs, a.low[d], b.high[d]);
  if (!forward && !backward) return false;
  // Whichever end is taken lies inside the union; the later one is the better guess.
  if (backward) a.low[d] = b.low[d];
  if (!AtMost(exprs, b.high[d], a.high[d])) a.high[d] = b.high[d];
  return true;
}

}  // namespace

void Cover::Add(program::ExprPool& exprs, Box box) {
  for (size_t i = boxes_.size(); i-- > 0;) {
    if (!JoinBoxes(exprs, boxes_[i], box)) continue;
    // The grown box may touch others now.
    box = std::move(boxes_[i]);
    boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(i));
    i = boxes_.size();
  }
  if (boxes_.size() < kMaxBoxes) boxes_.push_back(std::move(box));
}

bool Cover::Covers(program::ExprPool& exprs, const std::vector<ExprId>& shape) const {
  return std::any_of(boxes_.begin(), boxes_.end(), [&](const Box& box) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!AtMost(exprs, box.low[i], exprs.Const(0)) || !AtMost(exprs, shape[i], box.high[i])) return false;
    }
    return true;
  });
}

std::optional<Box> BoxOfStore(Context& context, const Step& step) {
  program::ExprPool& exprs = context.exprs();
  const program::Tensor& from = context.tensors[step.inputs[0].tensor];
  const program::Tensor& to = context.tensors[step.output];
  if (step.guard != kNoExpr) return std::nullopt;
  Box box;
  for (size_t i = 0; i < from.shape.size(); ++i) {
    const ExprId offset = step.region ? step.offsets[i] : exprs.Const(0);
    // Cells up to the static extent count as written when only the end of the destination cuts them off.
    const ExprId inside = exprs.Clamp(exprs.Sub(to.shape[i], offset), from.shape[i]);
    const ExprId extent = from.valid[i] == inside ? from.shape[i] : from.valid[i];
    box.low.push_back(offset);
    box.high.push_back(exprs.Add(offset, extent));
  }
  return box;
}

std::optional<Box> BoxOverLoop(program::ExprPool& exprs, const Loop& loop, const Box& box, bool has_slots) {
  const auto step = exprs.ConstantValue(loop.step);
  if (!step || *step <= 0) return std::nullopt;
  Box result = box;
  size_t moving = 0;
  for (size_t i = 0; i < box.low.size(); ++i) {
    // A slot may have another value in each iteration.
    if (has_slots && (ReadsSlot(exprs, box.low[i]) || ReadsSlot(exprs, box.high[i]))) return std::nullopt;
    if (!Reads(exprs, box.low[i], loop.id) && !Reads(exprs, box.high[i], loop.id)) continue;
    const auto start = AffineIn(exprs, box.low[i], loop.id);
    if (!start || start->coefficient <= 0 || ++moving > 1) return std::nullopt;
    int64_t advance = 0;
    if (__builtin_mul_overflow(start->coefficient, *step, &advance)) return std::nullopt;
    // Each iteration has to reach where the next one begins; then cells up to coefficient * stop are written, however
    // the step divides the range.
    if (!AtMost(exprs, exprs.Const(advance), exprs.Sub(box.high[i], box.low[i]))) return std::nullopt;
    const ExprId coefficient = exprs.Const(start->coefficient);
    result.low[i] = exprs.Add(exprs.Mul(coefficient, loop.start), start->rest);
    result.high[i] = exprs.Add(exprs.Mul(coefficient, loop.stop), start->rest);
  }
  // A loop that moves nothing has to run at all.
  if (moving == 0 && !AtMost(exprs, exprs.Add(loop.start, exprs.Const(1)), loop.stop)) return std::nullopt;
  return result;
}

}  // namespace pypto::compile
