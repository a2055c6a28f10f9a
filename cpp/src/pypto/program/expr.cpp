// The expression pool: interning of nodes, leaves, and taking nodes read from a file.
#include "pypto/program/expr.h"

#include <algorithm>
#include <bit>

#include "pypto/program/expr_linear.h"

namespace pypto::program {
namespace {

uint64_t HashOf(const ExprNode& node) {
  uint64_t hash = static_cast<uint64_t>(node.op) + 0x9e3779b97f4a7c15ULL;
  for (const uint64_t part :
       {uint64_t{node.a}, uint64_t{node.b}, uint64_t{node.c}, static_cast<uint64_t>(node.value)}) {
    hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

ExprId ExprPool::Intern(const ExprNode& node) {
  if (!index_.empty()) {
    const ExprId known = index_[PlaceOf(node)];
    if (known != kNoExpr) return known;
  }
  const auto id = static_cast<ExprId>(nodes_.size());
  nodes_.push_back(node);
  Index(id);
  ranges_.push_back(RangeOfNode(node, id));
  return id;
}

// Where the node stands in the index, or would stand.
size_t ExprPool::PlaceOf(const ExprNode& node) const {
  const size_t mask = index_.size() - 1;
  size_t place = HashOf(node) & mask;
  while (index_[place] != kNoExpr && !(nodes_[index_[place]] == node)) place = (place + 1) & mask;
  return place;
}

// Of equal nodes, which a file may hold, the first one counts.
void ExprPool::Index(ExprId id) {
  if (2 * nodes_.size() > index_.size()) {
    index_.assign(std::max<size_t>(64, 2 * index_.size()), kNoExpr);
    for (ExprId other = 0; other < id; ++other) {
      ExprId& known = index_[PlaceOf(nodes_[other])];
      if (known == kNoExpr) known = other;
    }
  }
  ExprId& known = index_[PlaceOf(nodes_[id])];
  if (known == kNoExpr) known = id;
}

ExprId ExprPool::Const(int64_t value) { return Intern({ExprOp::kConst, 0, 0, 0, value}); }
ExprId ExprPool::Symbol(uint32_t index) { return Intern({ExprOp::kSymbol, index, 0, 0, 0}); }
ExprId ExprPool::Scalar(uint32_t index) { return Intern({ExprOp::kScalar, index, 0, 0, 0}); }
ExprId ExprPool::LoopIndex(uint32_t loop) { return Intern({ExprOp::kLoopIndex, loop, 0, 0, 0}); }
ExprId ExprPool::Slot(uint32_t slot) { return Intern({ExprOp::kSlot, slot, 0, 0, 0}); }
ExprId ExprPool::Float(double value) { return Intern({ExprOp::kFloat, 0, 0, 0, std::bit_cast<int64_t>(value)}); }
ExprId ExprPool::FloatScalar(uint32_t index) { return Intern({ExprOp::kFloatScalar, index, 0, 0, 0}); }

void ExprPool::SetLoopBounds(uint32_t loop, ExprId low, ExprId high) { loop_bounds_[loop] = {low, high}; }
void ExprPool::SetSlotBounds(uint32_t slot, int64_t low, int64_t high) { slot_bounds_[slot] = {low, high}; }

std::optional<int64_t> ExprPool::ConstantValue(ExprId id) const {
  if (id >= nodes_.size() || nodes_[id].op != ExprOp::kConst) return std::nullopt;
  return nodes_[id].value;
}

bool ExprPool::IsConstant(ExprId id, int64_t value) const { return ConstantValue(id) == value; }

std::pair<int64_t, int64_t> ExprPool::Range(ExprId id) const { return ranges_[id]; }

base::Result<ExprPool> ExprPool::FromNodes(std::vector<ExprNode> nodes) {
  ExprPool pool;
  pool.nodes_.reserve(nodes.size());
  pool.ranges_.reserve(nodes.size());
  for (ExprNode& node : nodes) {
    const auto id = static_cast<ExprId>(pool.nodes_.size());
    const int children = ChildCount(node.op);
    if (children < 0) {
      return base::MakeStatus(base::StatusCode::kProgramFormat, "expression %u: unknown kind %u", id,
                              static_cast<unsigned>(node.op));
    }
    if ((children > 0 && node.a >= id) || (children > 1 && node.b >= id) || (children > 2 && node.c >= id)) {
      return base::MakeStatus(base::StatusCode::kProgramFormat,
                              "expression %u: an operand (%u, %u, %u) does not come before it", id, node.a, node.b,
                              node.c);
    }
    if (children < 3) node.c = 0;
    if (children < 2) node.b = 0;
    const bool number = node.op == ExprOp::kConst || node.op == ExprOp::kFloat;
    if (number) node.a = 0;
    if (!number) node.value = 0;
    pool.nodes_.push_back(node);
    pool.Index(id);
    pool.ranges_.push_back(pool.RangeOfNode(node, id));
  }
  return pool;
}

std::vector<ExprId> CloseUnderChildren(std::span<const ExprNode> nodes, std::span<const ExprId> roots) {
  std::vector<bool> seen(nodes.size());
  std::vector<ExprId> closed;
  std::vector<ExprId> work(roots.begin(), roots.end());
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (id >= nodes.size() || seen[id]) continue;
    seen[id] = true;
    closed.push_back(id);
    const ExprNode& node = nodes[id];
    const int children = ChildCount(node.op);
    if (children > 0) work.push_back(node.a);
    if (children > 1) work.push_back(node.b);
    if (children > 2) work.push_back(node.c);
  }
  std::sort(closed.begin(), closed.end());
  return closed;
}

}  // namespace pypto::program
