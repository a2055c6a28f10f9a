// First-fit placement and compaction of blocks that outlive a device task.
#include "pypto/workspace/arena.h"

#include <algorithm>

namespace pypto::workspace {

void BoundaryArena::Insert(size_t position, const Block& block) {
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(position), block);
  current_ += block.bytes;
  peak_ = std::max(peak_, current_);
}

// Slides every block down; the offset behind the last one.
uint64_t BoundaryArena::Compact(std::vector<BlockMove>* moves) {
  uint64_t next = offset_;
  for (Block& block : blocks_) {
    if (block.offset != next) {
      moves->push_back({block.id, block.offset, next, block.bytes});
      block.offset = next;
    }
    next += block.bytes;
  }
  return next;
}

Outcome BoundaryArena::Place(uint64_t block, uint64_t bytes, uint64_t* offset, std::vector<BlockMove>* moves) {
  moves->clear();
  const uint64_t size = BlockBytes(bytes);
  if (size > capacity_ - current_) return Outcome::kExhausted;
  uint64_t hole = offset_;
  size_t position = 0;
  while (position < blocks_.size() && blocks_[position].offset - hole < size) {
    hole = blocks_[position].offset + blocks_[position].bytes;
    ++position;
  }
  if (position == blocks_.size() && offset_ + capacity_ - hole < size) hole = Compact(moves);
  *offset = hole;
  Insert(position, {block, hole, size});
  return Outcome::kOk;
}

bool BoundaryArena::Adopt(uint64_t block, uint64_t at, uint64_t bytes) {
  const uint64_t size = BlockBytes(bytes);
  if (at < offset_ || size > capacity_ || at - offset_ > capacity_ - size) return false;
  const auto above =
      std::partition_point(blocks_.begin(), blocks_.end(), [at](const Block& held) { return held.offset < at; });
  if (above != blocks_.end() && above->offset - at < size) return false;
  if (above != blocks_.begin() && at - (above - 1)->offset < (above - 1)->bytes) return false;
  Insert(static_cast<size_t>(above - blocks_.begin()), {block, at, size});
  return true;
}

bool BoundaryArena::Release(uint64_t block) noexcept {
  const auto it = std::find_if(blocks_.begin(), blocks_.end(), [block](const Block& held) { return held.id == block; });
  if (it == blocks_.end()) return false;
  current_ -= it->bytes;
  blocks_.erase(it);
  return true;
}

void BoundaryArena::Clear() noexcept {
  blocks_.clear();
  current_ = 0;
}

bool BoundaryArena::Find(uint64_t block, uint64_t* offset) const noexcept {
  const auto it = std::find_if(blocks_.begin(), blocks_.end(), [block](const Block& held) { return held.id == block; });
  if (it == blocks_.end()) return false;
  *offset = it->offset;
  return true;
}

}  // namespace pypto::workspace
