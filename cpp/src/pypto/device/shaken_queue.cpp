// A list of ready leaves under a lock; which one is next is drawn.
#include "pypto/device/shaken_queue.h"

#include <numeric>
#include <thread>

namespace pypto::device {

int64_t ShakenQueue::Random(int64_t below) {
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  return static_cast<int64_t>(random_ >> 33) % below;
}

void ShakenQueue::Begin(const Task& task) {
  const std::lock_guard lock(mutex_);
  task_ = &task;
  ended_ = 0;
  ready_.clear();
  states_.assign(task.graph.nodes, {});
  for (uint32_t i = 0; i < task.graph.nodes; ++i) states_[i].pending = task.graph.predecessors[i];
  for (const uint32_t node : task.graph.ready) MakeReady(node);
}

void ShakenQueue::MakeReady(uint32_t node) {
  if (node >= task_->leaves.size()) return Release(node);
  State& state = states_[node];
  const int64_t tiles = task_->leaves[node].tiles;
  state.left = tiles;
  state.shift = Random(tiles);
  state.stride = Random(tiles);
  while (std::gcd(state.stride, tiles) != 1) state.stride = (state.stride + 1) % tiles;
  ready_.push_back(node);
}

void ShakenQueue::Release(uint32_t node) {
  ++ended_;
  const TaskGraph& graph = task_->graph;
  for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; ++i) {
    if (--states_[graph.successors[i]].pending == 0) MakeReady(graph.successors[i]);
  }
}

bool ShakenQueue::Next(Claim* claim) {
  std::unique_lock lock(mutex_);
  if (claim->node != Claim::kNone && --states_[claim->node].left == 0) Release(claim->node);
  claim->node = Claim::kNone;
  while (ready_.empty()) {
    if (ended_ == task_->graph.nodes) return false;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  const auto drawn = static_cast<size_t>(Random(static_cast<int64_t>(ready_.size())));
  const uint32_t node = ready_[drawn];
  State& state = states_[node];
  const int64_t tiles = task_->leaves[node].tiles;
  claim->node = node;
  claim->first = static_cast<int64_t>((static_cast<__int128>(state.next++) * state.stride + state.shift) % tiles);
  claim->last = claim->first + 1;
  if (state.next == tiles) {
    ready_[drawn] = ready_.back();
    ready_.pop_back();
  }
  return true;
}

}  // namespace pypto::device
