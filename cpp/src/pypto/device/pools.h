// The workspace of one launch: accounts of three pools and of boundary memory per parallel copy, and where every
// outcast lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pypto/device/launch_state.h"
#include "pypto/device/leaf_resolver.h"
#include "pypto/device/task.h"
#include "pypto/workspace/arena.h"
#include "pypto/workspace/budget.h"

namespace pypto::device {

// Pools are accounts; blocks lie anywhere in their copy. A block that outlives its task stays where it is, and the
// pools of the next task are laid into the holes between such blocks. Owned by the stitcher. Thread rule: one thread at
// a time; blocks move only in EndTask.
class Pools {
 public:
  // Everything is free.
  void Begin(const program::Plan& plan, LaunchState* launch);

  static workspace::Pool PoolOf(program::TensorClass tensor_class) noexcept;
  const workspace::PoolArena& arena(uint32_t copy, workspace::Pool pool) const noexcept {
    return copies_[copy].arenas[static_cast<size_t>(pool)];
  }

  // An instance takes blocks in `copy`. Gives where those of the root-inner pool begin in the workspace.
  uint64_t BeginInstance(uint32_t copy) noexcept;
  // A block for a storage that the instance takes; room was checked before. Memory of an outcast's former block returns
  // when the task ends.
  Place Take(uint32_t storage, uint32_t copy);
  // The same for an outcast that is present in the copy, whose new block lies where the former one does.
  Place TakeOver(uint32_t outcast, uint32_t copy);
  // Where the root-inner pool of copy 0 begins in the workspace.
  uint64_t inner_begin() const noexcept {
    return launch_->budget().copy_offset(0) + copies_[0].begins[static_cast<size_t>(workspace::Pool::kRootInner)];
  }
  bool present(uint32_t outcast) const noexcept { return blocks_[outcast].present; }
  bool present_in(uint32_t outcast, uint32_t copy) const noexcept {
    return blocks_[outcast].present && blocks_[outcast].copy == copy;
  }
  // Outcasts that are present, in no order.
  const std::vector<uint32_t>& held() const noexcept { return held_; }
  // Nobody reads held()[index] any more; the last one takes its place in the list. Its memory returns when the task
  // ends.
  void Drop(size_t index);

  // All instances of the task have ended: what is held is charged to boundary memory, the rest returns. Lists the moves
  // that make room for the next task; the caller makes them. False when boundary memory is too small for what is held.
  bool EndTask(std::vector<BlockMove>* moves);
  // Where an outcast that is present lies.
  Place PlaceOf(uint32_t outcast) const noexcept;

  // Bytes that the pools of a copy hold, and the most that they held in this launch.
  PoolBytes held_bytes(uint32_t copy) const noexcept {
    const auto& arenas = copies_[copy].arenas;
    return {arenas[0].current(), arenas[1].current(), arenas[2].current()};
  }
  PoolBytes peaks(uint32_t copy) const noexcept {
    const auto& arenas = copies_[copy].arenas;
    return {arenas[0].peak(), arenas[1].peak(), arenas[2].peak()};
  }

 private:
  struct Copy {
    std::array<workspace::PoolArena, workspace::kPoolCount> arenas;  // accounts; offsets from the start of the pool
    std::array<uint64_t, workspace::kPoolCount> begins{};            // where the pool lies in the copy
    std::vector<uint32_t> live;                                      // outcasts in the copy, by offset; in EndTask
  };
  struct Block {
    bool present = false;
    uint32_t copy = 0;
    uint32_t space = 0;
    uint64_t offset = 0;  // from the start of the copy
  };
  uint64_t BytesOf(uint32_t outcast) const noexcept {
    return workspace::BlockBytes(launch_->storage_size(outcast).bytes);
  }
  bool PlacePools(Copy* copy) const;
  void Compact(uint32_t copy, std::vector<BlockMove>* moves);

  const program::Plan* plan_ = nullptr;
  LaunchState* launch_ = nullptr;
  std::vector<Copy> copies_;
  std::vector<Block> blocks_;  // per storage; used for outcasts
  std::vector<uint32_t> held_;
  uint32_t next_space_ = 0;
  uint64_t inner_ = 0;  // held of the root-inner pool when the instance began
};

}  // namespace pypto::device
