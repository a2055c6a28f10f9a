// The pool of record points.
#include "pypto/mock_acl/record_point.h"

namespace pypto::mock {

void RecordRef::Drop() noexcept {
  RecordPoint* point = std::exchange(point_, nullptr);
  if (point != nullptr && point->references.fetch_sub(1, std::memory_order_acq_rel) == 1) point->pool->Recycle(point);
}

RecordRef RecordPool::Make() {
  std::lock_guard lock(lock_);
  if (free_.empty()) {
    points_.emplace_back().pool = this;
    if (free_.capacity() < points_.size()) free_.reserve(2 * points_.size());
    free_.push_back(&points_.back());
  }
  RecordPoint* point = free_.back();
  free_.pop_back();
  point->done.store(false, std::memory_order_relaxed);
  point->stamp_ns = 0;
  point->error = 0;
  return RecordRef(point);
}

void RecordPool::Complete(const RecordRef& record, int64_t stamp_ns, int32_t error) {
  record->stamp_ns = stamp_ns;
  record->error = error;
  record->done.store(true, std::memory_order_release);
  completed_.Notify();
}

void RecordPool::Recycle(RecordPoint* point) noexcept {
  std::lock_guard lock(lock_);
  free_.push_back(point);
}

}  // namespace pypto::mock
