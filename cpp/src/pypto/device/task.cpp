// The record arena grows by chunks and keeps them.
#include "pypto/device/task.h"

#include <algorithm>

namespace pypto::device {

std::byte* RecordArena::TakeBytes(size_t bytes) {
  while (chunk_ < chunks_.size() && chunks_[chunk_].bytes - used_ < bytes) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const size_t size = std::max(bytes, kChunkBytes);
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
  }
  std::byte* taken = chunks_[chunk_].data.get() + used_;
  used_ += bytes;
  return taken;
}

}  // namespace pypto::device
