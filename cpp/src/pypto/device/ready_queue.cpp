// Every node enters the list of ready ones at most once, so the list needs no locks and never runs full.
#include "pypto/device/ready_queue.h"

#include <algorithm>

#include "pypto/device/pause.h"

namespace pypto::device {
namespace {

constexpr int kSpins = 4000;  // about 50 µs
constexpr int64_t kSharesPerCore = 2;
constexpr double kMostClaimNs = 200'000;  // a core that loses its processor holds up no more

// Whole columns of the tiles of a product share packed panels of B: they are taken together when there are enough of
// them for all cores.
int64_t UnitOf(const LeafRecord& leaf, int64_t shares) {
  if (leaf.program->kind != program::LeafKind::kCube) return 1;
  const int64_t down = leaf.grid[leaf.program->rank - 2];
  return down > 1 && leaf.tiles >= down * shares ? down : 1;
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
  shares_ = kSharesPerCore * int64_t{cores};
  Reserve(nodes_);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (uint32_t i = 0; i < nodes_; ++i) {
    State& state = states_[i];
    state.pending.store(task.graph.predecessors[i], kRelaxed);
    ready_[i].store(Claim::kNone, kRelaxed);
    if (i >= working_) continue;
    SetWork(task, i, &state);
    state.next.store(0, kRelaxed);
    state.left.store(state.tiles, kRelaxed);
  }
  for (size_t i = 0; i < task.graph.ready.size(); ++i) ready_[i].store(task.graph.ready[i], kRelaxed);
  head_.store(0, kRelaxed);
  tail_.store(static_cast<uint32_t>(task.graph.ready.size()), kRelaxed);
  ended_.store(0, kRelaxed);
}

void ReadyQueue::SetWork(const Task& task, uint32_t node, State* state) const {
  state->tiles = state->least = state->most = state->unit = 1;
  if (task.by_instance) return;
  const LeafRecord& leaf = task.leaves[node];
  state->tiles = leaf.tiles;
  state->least = leaf.program->least_tiles;
  state->most = std::max(static_cast<int64_t>(kMostClaimNs / std::max(leaf.program->tile_ns, 1.0)), int64_t{1});
  state->unit = UnitOf(leaf, shares_);
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
    if (!taken || claim->last == states_[node].tiles) {
      head_.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel);
    }
    if (taken) return true;
  }
}

bool ReadyQueue::Take(uint32_t node, Claim* claim) {
  State& state = states_[node];
  int64_t first = state.next.load(std::memory_order_relaxed);
  while (first < state.tiles) {
    const int64_t left = state.tiles - first;
    int64_t tiles = std::max(std::min(left / shares_, state.most), state.least);
    // The last ones are taken one by one, so that cores end together.
    if (left > state.unit * shares_) tiles = (tiles + state.unit - 1) / state.unit * state.unit;
    const int64_t last = std::min(first + tiles, state.tiles);
    if (!state.next.compare_exchange_weak(first, last, std::memory_order_relaxed)) continue;
    claim->node = node;
    claim->first = first;
    claim->last = last;
    return true;
  }
  return false;
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
