// Blocks are taken upwards inside the pools of a task; pools are laid around what is live.
#include "pypto/device/pools.h"

#include <algorithm>

namespace pypto::device {

using program::TensorClass;

workspace::Pool Pools::PoolOf(TensorClass tensor_class) noexcept {
  switch (tensor_class) {
    case TensorClass::kAssembleOutcast: return workspace::Pool::kAssembleOutcast;
    case TensorClass::kExclusiveOutcast: return workspace::Pool::kExclusiveOutcast;
    default: return workspace::Pool::kRootInner;
  }
}

void Pools::Begin(const program::Plan& plan, LaunchState* launch) {
  plan_ = &plan;
  launch_ = launch;
  const workspace::Budget& budget = launch->budget();
  copies_.resize(budget.parallelism);
  for (Copy& copy : copies_) {
    for (size_t pool = 0; pool < copy.arenas.size(); ++pool) {
      copy.arenas[pool] = workspace::PoolArena(0, budget.pools[pool].capacity);
      copy.begins[pool] = budget.pools[pool].offset;
    }
  }
  blocks_.assign(plan.storages.size(), {});
  held_.clear();
  next_space_ = static_cast<uint32_t>(plan.storages.size());
}

uint64_t Pools::BeginInstance(uint32_t copy) noexcept {
  constexpr auto kInner = static_cast<size_t>(workspace::Pool::kRootInner);
  inner_ = copies_[copy].arenas[kInner].current();
  return launch_->budget().copy_offset(copy) + copies_[copy].begins[kInner] + inner_;
}

Place Pools::Take(uint32_t storage, uint32_t copy) {
  const auto pool = static_cast<size_t>(PoolOf(plan_->storages[storage].tensor_class));
  Copy& from = copies_[copy];
  uint64_t offset = 0;
  from.arenas[pool].Allocate(launch_->storage_size(storage).bytes, &offset);
  const uint32_t space = next_space_++;
  if (pool == static_cast<size_t>(workspace::Pool::kRootInner)) return {kInnerSlot, space, offset - inner_, 0};
  offset += from.begins[pool];
  Block& block = blocks_[storage];
  if (!block.present) held_.push_back(storage);
  block = {true, copy, space, offset};
  return {kWorkspaceSlot, space, launch_->budget().copy_offset(copy) + offset, 0};
}

Place Pools::TakeOver(uint32_t outcast, uint32_t copy) {
  const auto pool = static_cast<size_t>(PoolOf(plan_->storages[outcast].tensor_class));
  uint64_t charged = 0;
  copies_[copy].arenas[pool].Allocate(launch_->storage_size(outcast).bytes, &charged);
  return PlaceOf(outcast);
}

void Pools::Drop(size_t index) {
  blocks_[held_[index]].present = false;
  held_[index] = held_.back();
  held_.pop_back();
}

Place Pools::PlaceOf(uint32_t outcast) const noexcept {
  const Block& block = blocks_[outcast];
  return {kWorkspaceSlot, block.space, launch_->budget().copy_offset(block.copy) + block.offset, 0};
}

bool Pools::EndTask(std::vector<BlockMove>* moves) {
  moves->clear();
  next_space_ = static_cast<uint32_t>(plan_->storages.size());
  for (Copy& copy : copies_) copy.live.clear();
  for (const uint32_t outcast : held_) {
    copies_[blocks_[outcast].copy].live.push_back(outcast);
    blocks_[outcast].space = next_space_++;
  }
  for (uint32_t i = 0; i < copies_.size(); ++i) {
    Copy& copy = copies_[i];
    for (workspace::PoolArena& arena : copy.arenas) arena.Reset();
    std::sort(copy.live.begin(), copy.live.end(),
              [this](uint32_t a, uint32_t b) { return blocks_[a].offset < blocks_[b].offset; });
    uint64_t bytes = 0;
    for (const uint32_t outcast : copy.live) bytes += BytesOf(outcast);
    if (bytes > launch_->budget().boundary_bytes) return false;
    if (!PlacePools(&copy)) Compact(i, moves);
  }
  return true;
}

// Lays the pools, the largest first, each into the first hole that holds it. False when one finds none.
bool Pools::PlacePools(Copy* copy) const {
  const workspace::Budget& budget = launch_->budget();
  std::array<size_t, workspace::kPoolCount> order{0, 1, 2};
  std::sort(order.begin(), order.end(), [&budget](size_t a, size_t b) {
    const uint64_t of_a = budget.pools[a].capacity;
    const uint64_t of_b = budget.pools[b].capacity;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const uint64_t wanted = budget.pools[order[rank]].capacity;
    uint64_t at = 0;
    // Past every block and every pool laid before that stands in the way; each lies inside a hole.
    for (bool moved = true; moved;) {
      moved = false;
      const auto pass = [&](uint64_t begin, uint64_t bytes) {
        if (bytes == 0 || begin >= at + wanted || at >= begin + bytes) return;
        at = begin + bytes;
        moved = true;
      };
      for (const uint32_t outcast : copy->live) pass(blocks_[outcast].offset, BytesOf(outcast));
      for (size_t i = 0; i < rank; ++i) pass(copy->begins[order[i]], budget.pools[order[i]].capacity);
    }
    if (wanted > budget.boundary_offset + budget.boundary_bytes - at) return false;
    copy->begins[order[rank]] = at;
  }
  return true;
}

// Slides what is live down to the start of the copy and lays the pools behind it.
void Pools::Compact(uint32_t index, std::vector<BlockMove>* moves) {
  const workspace::Budget& budget = launch_->budget();
  Copy& copy = copies_[index];
  uint64_t at = 0;
  for (const uint32_t outcast : copy.live) {
    Block& block = blocks_[outcast];
    const uint64_t bytes = BytesOf(outcast);
    if (block.offset != at)
      moves->push_back({budget.copy_offset(index) + block.offset, budget.copy_offset(index) + at, bytes});
    block.offset = at;
    at += bytes;
  }
  for (size_t pool = 0; pool < copy.begins.size(); ++pool) {
    copy.begins[pool] = at;
    at += budget.pools[pool].capacity;
  }
}

}  // namespace pypto::device
