// Blocks of outcasts: taken from pools, moved to boundary memory between tasks.
#include "pypto/device/pools.h"

#include <cstring>

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
    for (int pool = 0; pool < workspace::kPoolCount; ++pool) {
      copy.arenas[pool] = workspace::PoolArena(budget.pools[pool]);
    }
    const bool same =
        copy.boundary.offset() == budget.boundary_offset && copy.boundary.capacity() == budget.boundary_bytes;
    if (same) {
      copy.boundary.Clear();
    } else {
      copy.boundary = workspace::BoundaryArena(budget.boundary_offset, budget.boundary_bytes);
    }
  }
  blocks_.assign(plan.storages.size(), {});
  outcasts_.clear();
  retired_.clear();
  for (uint32_t i = 0; i < plan.storages.size(); ++i) {
    const TensorClass tensor_class = plan.storages[i].tensor_class;
    const bool outcast =
        tensor_class == TensorClass::kAssembleOutcast || tensor_class == TensorClass::kExclusiveOutcast;
    if (outcast) outcasts_.push_back(i);
  }
}

std::byte* Pools::Address(uint32_t copy, uint64_t offset) const noexcept {
  return launch_->workspace() + launch_->budget().copy_offset(copy) + offset;
}

std::byte* Pools::Take(uint32_t storage, uint32_t copy) {
  const workspace::Pool pool = PoolOf(plan_->storages[storage].tensor_class);
  uint64_t offset = 0;
  const auto outcome =
      copies_[copy].arenas[static_cast<size_t>(pool)].Allocate(launch_->storage_size(storage).bytes, &offset);
  if (outcome != workspace::Outcome::kOk) return nullptr;
  if (pool != workspace::Pool::kRootInner) {
    Block& block = blocks_[storage];
    if (block.present && block.in_boundary) retired_.push_back({storage, block.copy});
    block = {true, false, copy, offset};
  }
  return Address(copy, offset);
}

std::byte* Pools::Data(uint32_t outcast) const noexcept {
  const Block& block = blocks_[outcast];
  return block.present ? Address(block.copy, block.offset) : nullptr;
}

bool Pools::EndTask(const std::vector<bool>& live) {
  for (const Retired& old : retired_) copies_[old.copy].boundary.Release(old.storage);
  retired_.clear();
  for (const uint32_t storage : outcasts_) {
    Block& block = blocks_[storage];
    if (!block.present || live[storage]) continue;
    if (block.in_boundary) copies_[block.copy].boundary.Release(storage);
    block = {};
  }
  for (const uint32_t storage : outcasts_) {
    const Block& block = blocks_[storage];
    if (block.present && !block.in_boundary && !MoveToBoundary(storage)) return false;
  }
  for (Copy& copy : copies_) {
    for (workspace::PoolArena& arena : copy.arenas) arena.Reset();
  }
  return true;
}

bool Pools::MoveToBoundary(uint32_t storage) {
  Block& block = blocks_[storage];
  const uint64_t bytes = launch_->storage_size(storage).bytes;
  uint64_t offset = 0;
  if (copies_[block.copy].boundary.Place(storage, bytes, &offset, &moves_) != workspace::Outcome::kOk) return false;
  for (const workspace::BlockMove& move : moves_) {
    std::memmove(Address(block.copy, move.to), Address(block.copy, move.from), move.bytes);
    blocks_[move.block].offset = move.to;
  }
  if (bytes != 0) std::memcpy(Address(block.copy, offset), Address(block.copy, block.offset), bytes);
  block.offset = offset;
  block.in_boundary = true;
  return true;
}

std::array<uint64_t, workspace::kPoolCount> Pools::peaks(uint32_t copy) const noexcept {
  const auto& arenas = copies_[copy].arenas;
  return {arenas[0].peak(), arenas[1].peak(), arenas[2].peak()};
}

}  // namespace pypto::device
