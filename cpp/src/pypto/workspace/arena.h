// Arenas over offsets: a bump arena for a pool, and a first-fit arena for blocks that outlive a device task.
#pragma once

#include <cstdint>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/workspace/budget.h"

namespace pypto::workspace {

enum class Outcome : uint8_t { kOk, kExhausted };

// Bytes that a tensor of `bytes` takes: rounded up to kBlockAlignment; a size within 511 of 2^64 stays as it is
// (no arena has room for it). Zero bytes take no room.
constexpr uint64_t BlockBytes(uint64_t bytes) noexcept {
  const uint64_t rounded = (bytes + kBlockAlignment - 1) & ~(kBlockAlignment - 1);
  return rounded < bytes ? bytes : rounded;
}

// Memory of one pool of one copy: blocks are taken upwards, and all return at once when the device task ends.
// Owned by the engine's stitcher. Thread rule: one thread at a time.
class PoolArena {
 public:
  PoolArena() noexcept = default;
  PoolArena(uint64_t offset, uint64_t capacity) noexcept : offset_(offset), capacity_(capacity) {}
  explicit PoolArena(const PoolBudget& budget) noexcept : PoolArena(budget.offset, budget.capacity) {}

  // Places a block of BlockBytes(bytes) and writes its offset. kExhausted changes nothing.
  Outcome Allocate(uint64_t bytes, uint64_t* offset) noexcept {
    const uint64_t size = BlockBytes(bytes);
    if (size > available()) return Outcome::kExhausted;
    *offset = offset_ + current_;
    current_ += size;
    if (current_ > peak_) peak_ = current_;
    return Outcome::kOk;
  }

  // The task ended: every block returns. The peak stays.
  void Reset() noexcept { current_ = 0; }
  // A new launch: the peak starts anew from what is held.
  void ResetPeak() noexcept { peak_ = current_; }

  uint64_t offset() const noexcept { return offset_; }
  uint64_t capacity() const noexcept { return capacity_; }
  uint64_t current() const noexcept { return current_; }
  uint64_t peak() const noexcept { return peak_; }
  uint64_t available() const noexcept { return capacity_ - current_; }

 private:
  uint64_t offset_ = 0;
  uint64_t capacity_ = 0;
  uint64_t current_ = 0;
  uint64_t peak_ = 0;
};

// A block that compaction moves. Moves are listed by ascending offset and go downwards: done in order with memmove,
// none overwrites a block that is still to be moved.
struct BlockMove {
  uint64_t block = 0;  // the id given to Place or Adopt
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
};

// Blocks that stay alive over device tasks, placed first-fit inside [offset, offset + capacity): the boundary share of
// a copy, or a whole copy. Blocks stay where they are; only when no hole is large enough while the free bytes are, all
// blocks slide down and the moves are given to the caller, who copies the bytes.
// Owned by the engine's stitcher. Thread rule: one thread at a time.
class BoundaryArena {
 public:
  BoundaryArena() noexcept = default;
  BoundaryArena(uint64_t offset, uint64_t capacity) noexcept : offset_(offset), capacity_(capacity) {}

  // Places a block under an id of the caller's choice, which must not be in use. `moves` is cleared, and filled only
  // when compaction was needed. kExhausted changes nothing.
  Outcome Place(uint64_t block, uint64_t bytes, uint64_t* offset, std::vector<BlockMove>* moves);
  // Takes over a block that already lies at `at`. False when it would overlap a held block or leave the range.
  bool Adopt(uint64_t block, uint64_t at, uint64_t bytes);
  // False when the id is not held.
  bool Release(uint64_t block) noexcept;
  void Clear() noexcept;

  // Where a held block lies; false when the id is not held.
  bool Find(uint64_t block, uint64_t* offset) const noexcept;

  uint64_t offset() const noexcept { return offset_; }
  uint64_t capacity() const noexcept { return capacity_; }
  uint64_t current() const noexcept { return current_; }
  uint64_t peak() const noexcept { return peak_; }
  size_t block_count() const noexcept { return blocks_.size(); }

 private:
  struct Block {
    uint64_t id = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  void Insert(size_t position, const Block& block);
  uint64_t Compact(std::vector<BlockMove>* moves);

  uint64_t offset_ = 0;
  uint64_t capacity_ = 0;
  uint64_t current_ = 0;
  uint64_t peak_ = 0;
  std::vector<Block> blocks_;  // by ascending offset
};

}  // namespace pypto::workspace
