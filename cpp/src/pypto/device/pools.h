// The workspace of one launch: three pools and boundary memory per parallel copy, and where every outcast lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pypto/device/launch_state.h"
#include "pypto/workspace/arena.h"
#include "pypto/workspace/budget.h"

namespace pypto::device {

// Owned by the stitcher. Thread rule: one thread at a time; blocks move only in EndTask.
class Pools {
 public:
  // Everything is free.
  void Begin(const program::Plan& plan, LaunchState* launch);

  static workspace::Pool PoolOf(program::TensorClass tensor_class) noexcept;
  const workspace::PoolArena& arena(uint32_t copy, workspace::Pool pool) const noexcept {
    return copies_[copy].arenas[static_cast<size_t>(pool)];
  }

  // A block for a storage that an instance takes; room was checked before. An outcast's former block goes when the
  // task ends.
  std::byte* Take(uint32_t storage, uint32_t copy);
  bool present(uint32_t outcast) const noexcept { return blocks_[outcast].present; }

  // All instances of the task have ended: root-inner memory returns, outcasts that are live move to boundary memory
  // (or stay there), the others return. False when boundary memory does not hold them.
  bool EndTask(const std::vector<bool>& live);
  // Where the data of an outcast lies; null when there is none.
  std::byte* Data(uint32_t outcast) const noexcept;
  const std::vector<uint32_t>& outcasts() const noexcept { return outcasts_; }

  // Largest bytes that a copy held in this launch.
  std::array<uint64_t, workspace::kPoolCount> peaks(uint32_t copy) const noexcept;

 private:
  struct Copy {
    std::array<workspace::PoolArena, workspace::kPoolCount> arenas;
    workspace::BoundaryArena boundary;
  };
  struct Block {
    bool present = false;
    bool in_boundary = false;
    uint32_t copy = 0;
    uint64_t offset = 0;  // from the start of the copy
  };
  struct Retired {
    uint32_t storage = 0;
    uint32_t copy = 0;
  };
  std::byte* Address(uint32_t copy, uint64_t offset) const noexcept;
  bool MoveToBoundary(uint32_t storage);

  const program::Plan* plan_ = nullptr;
  LaunchState* launch_ = nullptr;
  std::vector<Copy> copies_;
  std::vector<Block> blocks_;       // per storage; used for outcasts
  std::vector<uint32_t> outcasts_;  // storages that are outcasts
  std::vector<Retired> retired_;    // boundary blocks that a new generation replaces
  std::vector<workspace::BlockMove> moves_;
};

}  // namespace pypto::device
