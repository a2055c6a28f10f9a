// Readers and writers of every space in groups, so that most groups are passed with one comparison.
#include "pypto/device/graph_builder.h"

#include <algorithm>
#include <cmath>

namespace pypto::device {
namespace {

// Below this, waking another core costs more than it saves.
constexpr double kLeastSavedNs = 10'000;
// So many writers behind one region that several read are worth a node of their own.
constexpr size_t kLeastJoined = 4;
// So many instances for each core, and so much of what cores may save at most: then they take whole instances, whose
// root-inner memory stays in their caches.
constexpr uint32_t kInstancesPerCore = 8;
constexpr double kWorthOfInstances = 0.8;
// A chain that takes less than one of so many parts of a core's share is run as it comes; longer ones are cut into at
// most so many segments.
constexpr double kPartsOfShare = 16;
constexpr double kMostSegments = 16;

}  // namespace

void GraphBuilder::Bounds::Add(const Region& region) {
  low = std::min(low, region.low);
  high = std::max(high, region.high);
  const bool periodic = region.dims > 0 && !region.wraps();
  if (row == -1) {
    row = periodic ? region.row() : 0;
    row_low = region.row_low;
    row_high = region.row_high;
  } else if (row != 0) {
    if (!periodic || region.row() != row) row = 0;
    row_low = std::min(row_low, region.row_low);
    row_high = std::max(row_high, region.row_high);
  }
}

bool GraphBuilder::Bounds::MayOverlap(const Region& region) const {
  if (region.high <= low || high <= region.low) return false;
  if (row <= 0 || region.row() != row || region.wraps()) return true;
  return region.row_low < row_high && row_low < region.row_high;
}

void GraphBuilder::Insert(List* list, uint32_t use) {
  if (list->last == kNone || chunks_[list->last].count == kChunkUses) {
    const auto fresh = static_cast<uint32_t>(chunks_.size());
    chunks_.emplace_back();
    if (list->last == kNone) {
      list->first = fresh;
    } else {
      chunks_[list->last].next = fresh;
    }
    list->last = fresh;
  }
  Chunk& chunk = chunks_[list->last];
  chunk.uses[chunk.count++] = use;
  chunk.bounds.Add(uses_[use].region);
  list->bounds.Add(uses_[use].region);
}

void GraphBuilder::AddEdge(uint32_t from, uint32_t to) {
  if (from == to || nodes_[from].marked == to) return;
  nodes_[from].marked = to;
  edges_.push_back({from, to});
  nodes_[to].begin_ns = std::max(nodes_[to].begin_ns, nodes_[from].begin_ns + nodes_[from].own_ns);
}

// Orders `use` behind what it overlaps in `list`. What it writes anew altogether need not be looked at again.
void GraphBuilder::OrderAgainst(List* list, const Use& use, bool drop_covered) {
  if (list->first == kNone || !list->bounds.MayOverlap(use.region)) return;
  bool all_dropped = true;
  for (uint32_t at = list->first; at != kNone; at = chunks_[at].next) {
    Chunk& chunk = chunks_[at];
    if (!chunk.bounds.MayOverlap(use.region)) {
      all_dropped = all_dropped && chunk.count == 0;
      continue;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < chunk.count; ++i) {
      const Use& other = uses_[chunk.uses[i]];
      if (Overlap(other.region, use.region)) {
        AddEdge(other.node, use.node);
        if (drop_covered && Covers(use.region, other.region)) continue;
      }
      chunk.uses[kept++] = chunk.uses[i];
    }
    chunk.count = kept;
    if (kept == 0) chunk.bounds = {};
    all_dropped = all_dropped && kept == 0;
  }
  if (!all_dropped) return;
  list->bounds = {};
  list->last = list->first;
  chunks_[list->first].next = kNone;
}

// Lists the leaves that wrote what `use` overlaps. False when the leaf itself is among them.
bool GraphBuilder::FindWriters(const List& list, const Use& use) {
  found_.clear();
  bool others = true;
  for (uint32_t at = list.first; at != kNone; at = chunks_[at].next) {
    const Chunk& chunk = chunks_[at];
    if (!chunk.bounds.MayOverlap(use.region)) continue;
    for (uint32_t i = 0; i < chunk.count; ++i) {
      const Use& other = uses_[chunk.uses[i]];
      if (!Overlap(other.region, use.region)) continue;
      others = others && other.node != use.node;
      found_.push_back(other.node);
    }
  }
  return others;
}

// The same region read again and again behind many writers: one join takes the place of the edges.
void GraphBuilder::OrderRead(uint32_t index) {
  const Use& use = uses_[index];
  Space& space = spaces_[use.space];
  const bool again = space.last_read != kNone && SameRegion(uses_[space.last_read].region, use.region);
  if (!again) space.join = kNone;
  space.last_read = index;
  if (space.join != kNone) return AddEdge(space.join, use.node);
  if (!again) return OrderAgainst(&space.writers, use, false);
  uint32_t to = use.node;
  if (FindWriters(space.writers, use) && found_.size() >= kLeastJoined) {
    to = space.join = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  for (const uint32_t writer : found_) AddEdge(writer, to);
  if (to != use.node) AddEdge(to, use.node);
}

void GraphBuilder::Order(uint32_t index) {
  const Use& use = uses_[index];
  Space& space = spaces_[use.space];
  if (!use.writes) {
    OrderRead(index);
    Insert(&space.readers, index);
    return;
  }
  OrderAgainst(&space.writers, use, true);
  OrderAgainst(&space.readers, use, true);
  space.last_read = space.join = kNone;
  Insert(&space.writers, index);
}

void GraphBuilder::Clear() {
  spaces_.assign(spaces_used_, {});
  chunks_.clear();
  edges_.clear();
  nodes_.clear();
}

double GraphBuilder::Span() const {
  double span = 0;
  for (const Node& node : nodes_) span = std::max(span, node.begin_ns + node.own_ns);
  return span;
}

// With leaves as nodes. Gives the time of the longest chain.
double GraphBuilder::OrderLeaves(const Task& task, uint32_t cores) {
  Clear();
  for (const LeafRecord& leaf : task.leaves) {
    const auto workers = static_cast<double>(std::min<int64_t>(cores, leaf.tiles));
    nodes_.push_back({kNone, leaf.program->tile_ns * static_cast<double>(leaf.tiles) / workers, 0});
  }
  for (uint32_t i = 0; task.leaves.size() > 1 && i < uses_.size(); ++i) {
    uses_[i].node = uses_[i].leaf;
    Order(i);
  }
  return Span();
}

// The same with instances as nodes, each the work of one core.
double GraphBuilder::OrderInstances(const Task& task) {
  Clear();
  nodes_.resize(task.instances.size());
  uint32_t use = 0;
  for (uint32_t instance = 0; instance < task.instances.size(); ++instance) {
    const auto [first, end] = task.LeavesOf(instance);
    for (uint32_t i = first; i < end; ++i) {
      nodes_[instance].own_ns += task.leaves[i].program->tile_ns * static_cast<double>(task.leaves[i].tiles);
    }
    for (; use < uses_.size() && uses_[use].leaf < end; ++use) {
      uses_[use].node = instance;
      if (!uses_[use].inner) Order(use);
    }
  }
  return Span();
}

void GraphBuilder::Finish(uint32_t cores, bool shaken, bool has_rooms, Task* task) {
  const auto leaves = static_cast<uint32_t>(task->leaves.size());
  const double saved_at_most = task->work_ns * (1 - 1.0 / cores);
  if (!shaken && saved_at_most < kLeastSavedNs) return;
  if (leaves == 0 || (leaves == 1 && task->leaves[0].tiles == 1)) return;
  const auto instances = static_cast<uint32_t>(task->instances.size());
  if (!shaken && has_rooms && instances >= kInstancesPerCore * cores) {
    const double saved = std::min(saved_at_most, task->work_ns - OrderInstances(*task));
    double longest = 0;
    for (uint32_t i = 0; i < instances; ++i) longest = std::max(longest, nodes_[i].own_ns);
    task->by_instance = saved >= kWorthOfInstances * saved_at_most && longest * 4 * cores <= task->work_ns;
    if (task->by_instance) {
      task->shared = true;
      Emit(instances, task);
      return CutChains(cores, task);
    }
  }
  const double saved = std::min(saved_at_most, task->work_ns - OrderLeaves(*task, cores));
  task->shared = shaken || saved >= kLeastSavedNs;
  if (!task->shared) return;
  Emit(leaves, task);
  CutChains(cores, task);
}

// What takes longest to the end begins first. Where chains of instances are long, all are brought forward segment by
// segment, so that no core is left with one when the others have ended.
void GraphBuilder::CutChains(uint32_t cores, Task* task) {
  TaskGraph& graph = task->graph;
  const double part = task->work_ns / cores / kPartsOfShare;
  tails_.assign(graph.nodes, 0);
  double longest = 0;
  for (uint32_t node = graph.working; node-- > 0;) {
    double behind = 0;
    for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; ++i) {
      const uint32_t next = graph.successors[i];
      behind = std::max(behind, tails_[next]);
      // A join is done when all of them are: those behind it come later than this node.
      for (uint32_t j = graph.first[next]; next >= graph.working && j < graph.first[next + 1]; ++j) {
        behind = std::max(behind, tails_[graph.successors[j]]);
      }
    }
    tails_[node] = behind + nodes_[node].own_ns;
    longest = std::max(longest, tails_[node]);
  }
  if (longest <= part) return;
  std::sort(graph.ready.begin(), graph.ready.end(),
            [this](uint32_t a, uint32_t b) { return tails_[a] != tails_[b] ? tails_[a] > tails_[b] : a < b; });
  if (!task->by_instance) return;
  const double segment = longest / std::min(std::ceil(longest / part), kMostSegments);
  graph.segments.resize(graph.nodes);
  for (uint32_t i = 0; i < graph.nodes; ++i) {
    graph.segments[i] = static_cast<uint8_t>(std::min(tails_[i] / segment, kMostSegments));
  }
}

void GraphBuilder::Emit(uint32_t working, Task* task) {
  TaskGraph& graph = task->graph;
  const size_t nodes = nodes_.size();
  graph.nodes = static_cast<uint32_t>(nodes);
  graph.working = working;
  graph.first.assign(nodes + 1, 0);
  graph.predecessors.assign(nodes, 0);
  graph.successors.resize(edges_.size());
  for (const Edge& edge : edges_) {
    ++graph.first[edge.from + 1];
    ++graph.predecessors[edge.to];
  }
  for (size_t i = 0; i < nodes; ++i) graph.first[i + 1] += graph.first[i];
  found_.assign(graph.first.begin(), graph.first.end());  // where the next successor goes
  for (const Edge& edge : edges_) graph.successors[found_[edge.from]++] = edge.to;
  for (uint32_t i = 0; i < nodes; ++i) {
    if (graph.predecessors[i] == 0) graph.ready.push_back(i);
  }
}

}  // namespace pypto::device
