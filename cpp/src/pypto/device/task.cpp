// Tasks and their record arena keep their memory for the next use.
#include "pypto/device/task.h"

#include <algorithm>
#include <cstring>

namespace pypto::device {
namespace {

template <typename T>
size_t BytesOf(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);
}

}  // namespace

std::byte* RecordArena::TakeBytes(size_t bytes) {
  while (chunk_ < chunks_.size() && chunks_[chunk_].bytes - used_ < bytes) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const size_t next = chunks_.empty() ? kFirstChunkBytes : std::min(kChunkBytes, 2 * chunks_.back().bytes);
    const size_t size = std::max(bytes, next);
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    capacity_ += size;
  }
  std::byte* taken = chunks_[chunk_].data.get() + used_;
  used_ += bytes;
  return taken;
}

void MoveBlocks(const std::vector<BlockMove>& moves, std::byte* workspace) {
  for (const BlockMove& move : moves) std::memmove(workspace + move.to, workspace + move.from, move.bytes);
}

void Task::Clear() noexcept {
  arena.Clear();
  leaves.clear();
  instances.clear();
  moves.clear();
  graph.Clear();
  figures = {};
  work_ns = 0;
  shared = by_instance = false;
  inner_begin = inner_bytes = 0;
}

size_t Task::capacity() const noexcept {
  return sizeof(Task) + arena.capacity() + BytesOf(leaves) + BytesOf(instances) + BytesOf(moves) +
         BytesOf(graph.first) + BytesOf(graph.successors) + BytesOf(graph.predecessors) + BytesOf(graph.ready) +
         BytesOf(graph.segments);
}

}  // namespace pypto::device
