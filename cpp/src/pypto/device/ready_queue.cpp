// Every node enters the list of ready ones at most once, so the list needs no locks and never runs full.
#include "pypto/device/ready_queue.h"

#include <algorithm>

#include "pypto/device/pause.h"

namespace pypto::device {
namespace {

constexpr int kSpins = 4000;  // about 50 µs
constexpr int64_t kChunksPerCore = 4;
constexpr double kLeastChunkNs = 2'000;

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
  leaves_ = static_cast<uint32_t>(task.leaves.size());
  Reserve(nodes_);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (uint32_t i = 0; i < nodes_; ++i) {
    State& state = states_[i];
    state.pending.store(task.graph.predecessors[i], kRelaxed);
    ready_[i].store(Claim::kNone, kRelaxed);
    if (i >= leaves_) continue;
    const LeafRecord& leaf = task.leaves[i];
    state.tiles = leaf.tiles;
    const auto least = static_cast<int64_t>(kLeastChunkNs / std::max(leaf.program->tile_ns, 1.0));
    state.chunk = std::max({int64_t{1}, least, leaf.tiles / (int64_t{cores} * kChunksPerCore)});
    state.next.store(0, kRelaxed);
    state.left.store(leaf.tiles, kRelaxed);
  }
  for (size_t i = 0; i < task.graph.ready.size(); ++i) ready_[i].store(task.graph.ready[i], kRelaxed);
  head_.store(0, kRelaxed);
  tail_.store(static_cast<uint32_t>(task.graph.ready.size()), kRelaxed);
  ended_.store(0, kRelaxed);
}

bool ReadyQueue::Next(Claim* claim) {
  if (claim->node != Claim::kNone) {
    claim->node = Finish(claim);
    if (claim->node != Claim::kNone) {
      claim->first = 0;
      claim->last = states_[claim->node].tiles;
      return true;
    }
  }
  for (int spins = 0;;) {
    uint32_t head = head_.load(std::memory_order_acquire);
    const uint32_t node = head < nodes_ ? ready_[head].load(std::memory_order_acquire) : Claim::kNone;
    if (node == Claim::kNone) {
      if (TellEnded(claim)) return false;
      Wait(head, &spins);
      continue;
    }
    State& state = states_[node];
    const int64_t first = state.next.fetch_add(state.chunk, std::memory_order_relaxed);
    if (first + state.chunk >= state.tiles) head_.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel);
    if (first >= state.tiles) continue;
    claim->node = node;
    claim->first = first;
    claim->last = std::min(first + state.chunk, state.tiles);
    return true;
  }
}

uint32_t ReadyQueue::Finish(Claim* claim) {
  State& state = states_[claim->node];
  const int64_t tiles = claim->last - claim->first;
  if (tiles != state.tiles && state.left.fetch_sub(tiles, std::memory_order_acq_rel) != tiles) return Claim::kNone;
  return Release(claim->node, Claim::kNone, claim);
}

// `node` has ended; `keep` is what this core goes on with.
uint32_t ReadyQueue::Release(uint32_t node, uint32_t keep, Claim* claim) {
  ++claim->ended;
  const TaskGraph& graph = task_->graph;
  for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; ++i) {
    const uint32_t next = graph.successors[i];
    State& state = states_[next];
    if (state.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (next >= leaves_) {
      keep = Release(next, keep, claim);  // joins follow leaves only: no deeper
    } else if (keep == Claim::kNone && state.tiles <= state.chunk) {
      keep = next;
    } else {
      Publish(next);
    }
  }
  return keep;
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
