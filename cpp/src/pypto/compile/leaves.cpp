// Leaf partition: every node gets the lowest level above all that it cannot share a leaf with; nodes that are connected
// on one level share a leaf. Any edge between leaves goes from a lower to a higher level, so the leaves have an order.
// Then leaves sink to the level of their only next reader where they can join it.
#include "pypto/compile/leaves.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pypto::compile {
namespace {

struct Group {
  LeafGroup leaf;
  uint32_t level = 0;
  bool alive = true;
};

// An edge from a node to one that comes after it.
struct Edge {
  uint32_t reader = 0;
  bool joins = false;  // the value may be handed over inside a tile, or both touch the same cells of memory
};

// Owned by PartitionLeaves.
class Partitioner {
 public:
  explicit Partitioner(const RootGraph& graph)
      : graph_(graph), group_of_(graph.nodes.size(), kNone), edges_(graph.nodes.size()) {}

  LeafPartition Run() {
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) Place(i);
    Sink();
    return Finish();
  }

 private:
  uint32_t LevelOf(uint32_t node) const { return groups_[group_of_[node]].level; }

  bool MayJoin(const Node& node, const NodeInput& input) const {
    if (input.value == kNone || !input.direct || HasOwnLeaf(node)) return false;
    const Value& value = graph_.values[input.value];
    const Node& producer = graph_.nodes[value.node];
    if (producer.guard != node.guard) return false;
    // It writes its result to one place.
    if (HasOwnLeaf(producer)) {
      return node.kind == NodeKind::kStore && value.uses == 1 && value.storage == kNone;
    }
    return true;
  }

  // The node that has to be done before `node` can read this input from memory.
  uint32_t MemoryProducer(const NodeInput& input) const {
    return input.store != kNone ? input.store : graph_.values[input.value].node;
  }

  // Lowest level for a node that shares a leaf with none before it.
  uint32_t LevelAbove(const Node& node) const {
    uint32_t level = OrderLevel(node, kNone);
    for (const NodeInput& input : node.inputs) {
      if (input.value != kNone) level = std::max(level, LevelOf(MemoryProducer(input)) + 1);
    }
    return level;
  }

  // Lowest level above the nodes that touched its memory before and are not in the leaf that it joins.
  uint32_t OrderLevel(const Node& node, uint32_t joined) const {
    uint32_t level = 0;
    for (const Dependency& dependency : node.order) {
      const uint32_t group = group_of_[dependency.node];
      if (dependency.same_leaf && group == joined) continue;
      level = std::max(level, groups_[group].level + 1);
    }
    return level;
  }

  // Groups on the highest level of those that the node may take a value from inside a tile.
  std::vector<uint32_t> Candidates(const Node& node) const {
    std::vector<uint32_t> candidates;
    uint32_t level = 0;
    for (const NodeInput& input : node.inputs) {
      if (!MayJoin(node, input)) continue;
      const uint32_t group = group_of_[graph_.values[input.value].node];
      if (!candidates.empty() && groups_[group].level < level) continue;
      if (groups_[group].level > level) candidates.clear();
      level = groups_[group].level;
      if (std::find(candidates.begin(), candidates.end(), group) == candidates.end()) candidates.push_back(group);
    }
    return candidates;
  }

  // The grid on which the node runs in that group. A store takes over the grid of the value that it stores.
  static std::optional<Grid> JoinNode(const LeafGroup& leaf, const Node& node) {
    if (node.kind == NodeKind::kStore) return leaf.grid;
    return JoinGrids(leaf.grid, node.grid);
  }

  void Place(uint32_t index) {
    const Node& node = graph_.nodes[index];
    RecordEdges(index);
    for (const uint32_t candidate : Candidates(node)) {
      if (TryJoin(index, candidate)) return;
    }
    Group group;
    group.leaf.nodes.push_back(index);
    group.leaf.grid = node.grid;
    group.leaf.sealed = HasOwnLeaf(node);
    group.leaf.guard = node.guard;
    group.level = LevelAbove(node);
    group_of_[index] = static_cast<uint32_t>(groups_.size());
    groups_.push_back(std::move(group));
  }

  // Puts the node into `target`, together with the other groups on that level that it takes values from.
  bool TryJoin(uint32_t index, uint32_t target) {
    const Node& node = graph_.nodes[index];
    std::optional<Grid> grid = JoinNode(groups_[target].leaf, node);
    if (!grid) return false;
    std::vector<uint32_t> merged;
    const uint32_t level = groups_[target].level;
    if (OrderLevel(node, target) > level) return false;
    for (const NodeInput& input : node.inputs) {
      if (input.value == kNone) continue;
      const uint32_t producer = group_of_[graph_.values[input.value].node];
      if (producer == target && MayJoin(node, input)) continue;
      if (LevelOf(MemoryProducer(input)) < level) continue;
      if (!MayJoin(node, input) || groups_[producer].level != level || groups_[producer].leaf.sealed) return false;
      if (std::find(merged.begin(), merged.end(), producer) != merged.end()) continue;
      grid = JoinGrids(*grid, groups_[producer].leaf.grid);
      if (!grid) return false;
      merged.push_back(producer);
    }
    for (const uint32_t other : merged) target = Merge(target, other);
    groups_[target].leaf.grid = *std::move(grid);
    groups_[target].leaf.nodes.push_back(index);
    group_of_[index] = target;
    return true;
  }

  // Moves the nodes of the smaller group; returns the one that stays.
  uint32_t Merge(uint32_t a, uint32_t b) {
    if (groups_[a].leaf.nodes.size() < groups_[b].leaf.nodes.size()) std::swap(a, b);
    for (const uint32_t node : groups_[b].leaf.nodes) group_of_[node] = a;
    std::vector<uint32_t>& into = groups_[a].leaf.nodes;
    into.insert(into.end(), groups_[b].leaf.nodes.begin(), groups_[b].leaf.nodes.end());
    groups_[b].leaf.nodes.clear();
    groups_[b].alive = false;
    return a;
  }

  void RecordEdges(uint32_t index) {
    const Node& node = graph_.nodes[index];
    for (const NodeInput& input : node.inputs) {
      if (input.value == kNone) continue;
      edges_[graph_.values[input.value].node].push_back({index, MayJoin(node, input)});
      if (input.store != kNone) edges_[input.store].push_back({index, false});
    }
    for (const Dependency& dependency : node.order) edges_[dependency.node].push_back({index, dependency.same_leaf});
  }

  void Sink() {
    std::vector<uint32_t> order(groups_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return groups_[a].level > groups_[b].level; });
    for (const uint32_t group : order) {
      if (groups_[group].alive && !groups_[group].leaf.sealed) SinkGroup(group);
    }
  }

  // Joins the group to the one that reads from it first, if it is one, reads no memory that it has to wait for, and the
  // tiles agree.
  void SinkGroup(uint32_t group) {
    uint32_t first = kNone;
    bool joins = true;
    for (const uint32_t node : groups_[group].leaf.nodes) {
      for (const Edge& edge : edges_[node]) {
        const uint32_t reader = group_of_[edge.reader];
        if (reader == group) continue;
        if (first != kNone && groups_[reader].level > groups_[first].level) continue;
        if (first == kNone || groups_[reader].level < groups_[first].level) {
          first = reader;
          joins = edge.joins;
        } else {
          joins = joins && edge.joins && reader == first;
        }
      }
    }
    if (first == kNone || !joins || groups_[first].leaf.sealed) return;
    if (groups_[first].leaf.guard != groups_[group].leaf.guard) return;
    std::optional<Grid> grid = JoinGrids(groups_[group].leaf.grid, groups_[first].leaf.grid);
    if (!grid) return;
    const uint32_t level = groups_[first].level;
    const uint32_t kept = Merge(first, group);
    groups_[kept].level = level;
    groups_[kept].leaf.grid = *std::move(grid);
  }

  LeafPartition Finish() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].alive) continue;
      std::sort(groups_[i].leaf.nodes.begin(), groups_[i].leaf.nodes.end());
      order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (groups_[a].level != groups_[b].level) return groups_[a].level < groups_[b].level;
      return groups_[a].leaf.nodes.front() < groups_[b].leaf.nodes.front();
    });
    LeafPartition partition;
    partition.group_of.assign(graph_.nodes.size(), kNone);
    for (const uint32_t group : order) {
      for (const uint32_t node : groups_[group].leaf.nodes) {
        partition.group_of[node] = static_cast<uint32_t>(partition.groups.size());
      }
      SettleTile(groups_[group].leaf.grid);
      partition.groups.push_back(std::move(groups_[group].leaf));
    }
    return partition;
  }

  const RootGraph& graph_;
  std::vector<uint32_t> group_of_;  // per node
  std::vector<Group> groups_;
  std::vector<std::vector<Edge>> edges_;  // per node
};

}  // namespace

LeafPartition PartitionLeaves(const RootGraph& graph) { return Partitioner(graph).Run(); }

}  // namespace pypto::compile
