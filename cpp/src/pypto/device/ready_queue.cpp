// Every node enters the list of ready ones at most once, so the list needs no locks and never runs full.
#include "pypto/device/ready_queue.h"

#include <algorithm>

#include "pypto/device/pause.h"

namespace pypto::device {
namespace {

constexpr int kSpins = 4000;           // about 50 µs
constexpr int64_t kSharesPerCore = 2;  // a claim takes one of so many parts of what is left, for every core
constexpr int64_t kLeastNotedNs = 5'000;
constexpr double kMostClaimNs = 200'000;  // of vector tiles: a core that loses its processor holds up no more

// Tiles of one column of a product.
int64_t ColumnOf(const LeafRecord& leaf) {
  return leaf.program->kind == program::LeafKind::kCube ? leaf.grid[leaf.program->rank - 2] : 0;
}

}  // namespace

void ReadyQueue::Reserve(uint32_t nodes) {
  if (nodes <= reserved_) return;
  reserved_ = std::max(nodes, 2 * reserved_);
  states_ = std::make_unique<State[]>(reserved_);
  ready_ = std::make_unique<std::atomic<uint32_t>[]>(reserved_);
}

void ReadyQueue::Begin(const Task& task, uint32_t cores) {
  task_ = &task;
  nodes_ = task.graph.nodes;
  working_ = task.graph.working;
  cores_ = int64_t{cores};
  Reserve(nodes_);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  int64_t unclaimed_ns = 0;
  for (uint32_t i = 0; i < nodes_; ++i) {
    State& state = states_[i];
    state.pending.store(task.graph.predecessors[i], kRelaxed);
    ready_[i].store(Claim::kNone, kRelaxed);
    if (i >= working_) continue;
    SetWork(task, i, &state);
    state.taken.store(0, kRelaxed);
    state.left.store(state.tiles, kRelaxed);
    unclaimed_ns += state.tiles * state.tile_ns;
  }
  for (size_t i = 0; i < task.graph.ready.size(); ++i) ready_[i].store(task.graph.ready[i], kRelaxed);
  head_.store(0, kRelaxed);
  tail_.store(static_cast<uint32_t>(task.graph.ready.size()), kRelaxed);
  ended_.store(0, kRelaxed);
  unclaimed_ns_.store(unclaimed_ns, kRelaxed);
}

void ReadyQueue::SetWork(const Task& task, uint32_t node, State* state) const {
  state->tiles = state->least = state->most = state->grain = 1;
  state->column = state->tile_ns = 0;
  if (task.by_instance) return;
  const LeafRecord& leaf = task.leaves[node];
  state->tiles = leaf.tiles;
  state->grain = leaf.tiles / INT32_MAX + 1;
  state->least = leaf.program->least_tiles;
  state->most = std::max(static_cast<int64_t>(kMostClaimNs / std::max(leaf.program->tile_ns, 1.0)), int64_t{1});
  state->column = ColumnOf(leaf);
  state->tile_ns = static_cast<int64_t>(std::min(leaf.program->tile_ns, 1e9));
}

bool ReadyQueue::Next(Claim* claim) {
  if (claim->node != Claim::kNone && GoOn(claim)) return true;
  for (int spins = 0;;) {
    uint32_t head = head_.load(std::memory_order_acquire);
    const uint32_t node = head < nodes_ ? ready_[head].load(std::memory_order_acquire) : Claim::kNone;
    if (node == Claim::kNone) {
      if (TellEnded(claim)) return false;
      Wait(head, &spins);
      continue;
    }
    const bool taken = Take(node, claim);
    if (!taken || claim->emptied) {
      head_.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel);
    }
    if (taken) return true;
  }
}

// Short claims do not count: the sum is told to all cores.
void ReadyQueue::NoteTaken(int64_t ns) {
  if (ns >= kLeastNotedNs) unclaimed_ns_.fetch_sub(ns, std::memory_order_relaxed);
}

// The other cores have enough to do while one works on a whole column.
bool ReadyQueue::MayTakeColumn(const State& state) const {
  return state.column * state.tile_ns * cores_ <= unclaimed_ns_.load(std::memory_order_relaxed);
}

// How many of `left` tiles a core takes; `again` when it has worked on the leaf before.
int64_t ReadyQueue::Share(const State& state, int64_t left, bool again) const {
  const int64_t part = left / (kSharesPerCore * cores_);
  if (state.column == 0) return std::max(std::min(part, state.most), state.least);
  // The wider a claim, the fewer times A is packed; a packed panel of B serves the rows of whole columns. A quarter is
  // kept for the core that is ahead.
  int64_t tiles = std::max(part, state.least);
  if (!again) tiles = std::max(tiles, std::min(state.tiles * 3 / (4 * cores_), left * 6 / (5 * cores_)));
  if (left >= state.column * cores_) {
    return std::max((tiles + state.column / 2) / state.column, int64_t{1}) * state.column;
  }
  return MayTakeColumn(state) ? std::max(tiles, state.column) : tiles;
}

bool ReadyQueue::Take(uint32_t node, Claim* claim) {
  State& state = states_[node];
  uint64_t taken = state.taken.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t front = static_cast<int64_t>(taken & UINT32_MAX) * state.grain;
    const int64_t back = static_cast<int64_t>(taken >> 32) * state.grain;
    const int64_t left = state.tiles - front - back;
    if (left <= 0) return false;
    const int64_t grains = (std::min(Share(state, left, claim->node == node), left) + state.grain - 1) / state.grain;
    const int64_t tiles = std::min(grains * state.grain, left);
    const uint64_t next = taken + (static_cast<uint64_t>(grains) << (claim->back ? 32 : 0));
    if (!state.taken.compare_exchange_weak(taken, next, std::memory_order_relaxed)) continue;
    claim->node = node;
    claim->first = claim->back ? state.tiles - back - tiles : front;
    claim->last = claim->first + tiles;
    claim->emptied = tiles == left;
    NoteTaken(tiles * state.tile_ns);
    return true;
  }
}

// The claim is done: what the core does next without a look at the list.
bool ReadyQueue::GoOn(Claim* claim) {
  State& state = states_[claim->node];
  const int64_t tiles = claim->last - claim->first;
  if (tiles != state.tiles && state.left.fetch_sub(tiles, std::memory_order_acq_rel) != tiles) {
    return Take(claim->node, claim);
  }
  claim->kept = claim->liked = Claim::kNone;
  Release(claim->node, claim);
  if (claim->kept == Claim::kNone) return claim->liked != Claim::kNone && Take(claim->liked, claim);
  claim->node = claim->kept;
  claim->first = 0;
  claim->last = states_[claim->node].tiles;
  NoteTaken(claim->last * states_[claim->node].tile_ns);
  return true;
}

// `node` has ended.
void ReadyQueue::Release(uint32_t node, Claim* claim) {
  ++claim->ended;
  const TaskGraph& graph = task_->graph;
  for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; ++i) {
    const uint32_t next = graph.successors[i];
    State& state = states_[next];
    if (state.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (next >= working_) {
      Release(next, claim);  // joins follow leaves only: no deeper
    } else if (!OfOneSegment(node, next)) {
      Publish(next);
    } else if (claim->kept == Claim::kNone && state.tiles <= state.least) {
      claim->kept = next;
    } else {
      Publish(next);
      if (claim->liked == Claim::kNone) claim->liked = next;
    }
  }
}

void ReadyQueue::Publish(uint32_t node) {
  const uint32_t place = tail_.fetch_add(1, std::memory_order_relaxed);
  ready_[place].store(node, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) != 0) Wake();
}

// True when the task has ended.
bool ReadyQueue::TellEnded(Claim* claim) {
  if (claim->ended == 0) return ended_.load(std::memory_order_acquire) == nodes_;
  const uint32_t ended = ended_.fetch_add(claim->ended, std::memory_order_seq_cst) + claim->ended;
  claim->ended = 0;
  if (ended != nodes_) return false;
  if (parked_.load(std::memory_order_seq_cst) != 0) Wake();
  return true;
}

void ReadyQueue::Wait(uint32_t head, int* spins) {
  if (++*spins < kSpins) return Pause();
  *spins = 0;
  const uint32_t before = signals_.load(std::memory_order_seq_cst);
  parked_.fetch_add(1, std::memory_order_seq_cst);
  const bool nothing = head_.load(std::memory_order_seq_cst) == head &&
                       (head >= nodes_ || ready_[head].load(std::memory_order_seq_cst) == Claim::kNone) &&
                       ended_.load(std::memory_order_seq_cst) != nodes_;
  if (nothing) signals_.wait(before, std::memory_order_acquire);
  parked_.fetch_sub(1, std::memory_order_seq_cst);
}

void ReadyQueue::Wake() {
  signals_.fetch_add(1, std::memory_order_seq_cst);
  signals_.notify_all();
}

}  // namespace pypto::device
