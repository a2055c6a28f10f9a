// Order between the nodes of one root function that touch the same memory.
#include "pypto/compile/conflicts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace pypto::compile {
namespace {

struct Touch {
  uint32_t node = 0;
  Region region;
  int64_t end = 0;       // last element, counted like the key it is filed under
  bool updated = false;  // a whole operation's first operand, which may be changed where it lies
};

// Accesses whose offsets differ by constants, by first element.
struct Shelf {
  ExprId symbolic = kNoExpr;  // the offset without its constant
  std::multimap<int64_t, Touch> touches;
  int64_t longest = 0;
};

// Elements that a region spans from its offset on; nothing when a stride is symbolic.
std::optional<int64_t> SpanOf(const program::ExprPool& exprs, const Region& region) {
  int64_t span = 0;
  for (size_t i = 0; i < region.extents.size(); ++i) {
    const auto stride = exprs.ConstantValue(region.strides[i]);
    if (!stride) return std::nullopt;
    span += (region.extents[i] - 1) * *stride;
  }
  return span;
}

// Splits an offset into what is symbolic in it and a constant.
std::pair<ExprId, int64_t> SplitOffset(const program::ExprPool& exprs, ExprId offset) {
  if (const auto value = exprs.ConstantValue(offset)) return {kNoExpr, *value};
  const program::ExprNode& node = exprs.node(offset);
  if (node.op == program::ExprOp::kAdd) {
    if (const auto value = exprs.ConstantValue(node.b)) return {node.a, *value};
  }
  return {offset, 0};
}

// Where a - b lies. Makes no expression when the two differ by a constant.
std::pair<int64_t, int64_t> Difference(program::ExprPool& exprs, ExprId a, ExprId b) {
  if (a == b) return {0, 0};
  const auto [symbolic_a, constant_a] = SplitOffset(exprs, a);
  const auto [symbolic_b, constant_b] = SplitOffset(exprs, b);
  int64_t difference = 0;
  if (symbolic_a == symbolic_b && !__builtin_sub_overflow(constant_a, constant_b, &difference)) {
    return {difference, difference};
  }
  return exprs.Range(exprs.Sub(a, b));
}

bool DisjointBoxes(program::ExprPool& exprs, const Region& a, const Region& b) {
  if (a.starts.empty() || b.starts.empty()) return false;
  for (size_t i = 0; i < a.starts.size(); ++i) {
    const auto [low, high] = Difference(exprs, a.starts[i], b.starts[i]);
    if (low >= b.box[i] || (high != INT64_MAX && high <= -a.box[i])) return true;
  }
  return false;
}

bool ContainsBox(program::ExprPool& exprs, const Region& outer, const Region& inner) {
  if (outer.starts.empty() || inner.starts.empty()) return false;
  for (size_t i = 0; i < outer.starts.size(); ++i) {
    const auto [low, high] = Difference(exprs, inner.starts[i], outer.starts[i]);
    if (low < 0 || high > outer.box[i] - inner.box[i]) return false;
  }
  return true;
}

// Both go through the same cells in the same order of dims.
bool SameCells(const Region& a, const Region& b) {
  if (a.offset != b.offset) return false;
  const size_t rank = std::max(a.extents.size(), b.extents.size());
  for (size_t back = 1; back <= rank; ++back) {
    const int64_t extent_a = back <= a.extents.size() ? a.extents[a.extents.size() - back] : 1;
    const int64_t extent_b = back <= b.extents.size() ? b.extents[b.extents.size() - back] : 1;
    if (extent_a != extent_b) return false;
    if (extent_a != 1 && a.strides[a.strides.size() - back] != b.strides[b.strides.size() - back]) return false;
  }
  return true;
}

// The accesses to one variable so far.
class Touches {
 public:
  // visit(touch) says whether the touch is to be kept.
  template <typename Visit>
  void ForEachOverlap(program::ExprPool& exprs, const Region& region, Visit visit) {
    const auto span = SpanOf(exprs, region);
    const auto [symbolic, first] = SplitOffset(exprs, region.offset);
    for (auto& [key, shelf] : shelves_) {
      const bool comparable = span && key == symbolic;
      auto begin = comparable ? shelf.touches.lower_bound(first - shelf.longest) : shelf.touches.begin();
      const auto end = comparable ? shelf.touches.upper_bound(first + *span) : shelf.touches.end();
      while (begin != end) {
        const Touch& touch = begin->second;
        const bool apart = (comparable && touch.end < first) || DisjointBoxes(exprs, region, touch.region);
        begin = apart || visit(touch) ? std::next(begin) : shelf.touches.erase(begin);
      }
    }
    std::erase_if(unbounded_,
                  [&](const Touch& touch) { return !DisjointBoxes(exprs, region, touch.region) && !visit(touch); });
  }

  void Add(const program::ExprPool& exprs, uint32_t node, Region region, bool updated) {
    const auto span = SpanOf(exprs, region);
    if (!span) {
      unbounded_.push_back({node, std::move(region), 0, updated});
      return;
    }
    const auto [symbolic, first] = SplitOffset(exprs, region.offset);
    Shelf& shelf = shelves_[symbolic];
    shelf.longest = std::max(shelf.longest, *span);
    shelf.touches.emplace(first, Touch{node, std::move(region), first + *span, updated});
  }

 private:
  std::map<ExprId, Shelf> shelves_;
  std::vector<Touch> unbounded_;
};

// Operations whose result is their first operand with some cells changed.
bool UpdatesFirst(OpCode code) {
  return code == OpCode::kScatter || code == OpCode::kIndexAdd || code == OpCode::kIndexPut;
}

// Addresses of an operand of a matmul or a whole operation: overlap only, its dims are its own.
Region OperandRegion(Context& context, TensorId tensor) {
  const View& view = context.ViewOf(tensor);
  Region region;
  region.variable = view.variable;
  region.offset = view.offset;
  region.strides = view.strides;
  region.starts = view.starts;
  region.extents = StaticExtents(context.exprs(), context.tensors[tensor].shape);
  region.box = region.extents;
  return region;
}

// Goes through one graph in order. Owned by OrderNodes.
class Orderer {
 public:
  Orderer(Context& context, RootGraph& graph) : context_(context), graph_(graph) {}

  void Run() {
    for (const Node& node : graph_.nodes) {
      if (node.kind == NodeKind::kStore) stored_.try_emplace(node.target.variable);
    }
    if (stored_.empty()) return;
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].kind == NodeKind::kStore) {
        OrderStore(i);
      } else {
        OrderReads(i);
      }
    }
  }

 private:
  struct History {
    Touches reads;
    Touches writes;
  };

  void OrderReads(uint32_t index) {
    Node& node = graph_.nodes[index];
    for (const NodeInput& input : node.inputs) {
      if (!input.is_tensor() || (input.value != kNone && input.store == kNone)) continue;
      const auto found = stored_.find(context_.ViewOf(input.operand.tensor).variable);
      if (found == stored_.end()) continue;
      Region region =
          HasOwnLeaf(node) ? OperandRegion(context_, input.operand.tensor) : ReadRegion(context_, node, input);
      // What takes the value follows the store only when it is found to read the memory after all.
      if (input.store == kNone) {
        found->second.writes.ForEachOverlap(context_.exprs(), region, [&](const Touch& touch) {
          node.order.push_back({touch.node, false});
          return true;
        });
      }
      const bool updated = &input == node.inputs.data() && UpdatesFirst(node.code);
      found->second.reads.Add(context_.exprs(), index, std::move(region), updated);
    }
  }

  void OrderStore(uint32_t index) {
    Node& node = graph_.nodes[index];
    History& history = stored_.find(node.target.variable)->second;
    const bool whole = !node.step->region && node.guard == kNoExpr;
    // Whatever comes later and touches what this store may write comes behind the store: what was touched before inside
    // of that need not be looked at again.
    const auto follow = [&](const Touch& touch) {
      const bool may_share = touch.updated || !HasOwnLeaf(graph_.nodes[touch.node]);
      const bool same = may_share && SameCells(touch.region, node.target);
      node.order.push_back({touch.node, same});
      return !whole && !ContainsBox(context_.exprs(), node.target, touch.region);
    };
    history.reads.ForEachOverlap(context_.exprs(), node.target, follow);
    history.writes.ForEachOverlap(context_.exprs(), node.target, follow);
    history.writes.Add(context_.exprs(), index, node.target, false);
  }

  Context& context_;
  RootGraph& graph_;
  std::unordered_map<TensorId, History> stored_;
};

}  // namespace

void OrderNodes(Context& context, RootGraph& graph) {
  Orderer orderer(context, graph);
  orderer.Run();
}

}  // namespace pypto::compile
