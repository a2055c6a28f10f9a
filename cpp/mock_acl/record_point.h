// Record points: the place in a stream that one call of aclrtRecordEvent marked.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "pypto/mock_acl/wait_point.h"

namespace pypto::mock {

class RecordPool;

// Shared by the event (its latest record), the task that completes it and the tasks that wait for it. An event that is
// recorded again or destroyed leaves earlier record points as they are. Counted by references; recycled by the pool.
struct RecordPoint {
  std::atomic<uint32_t> references{0};
  std::atomic<bool> done{false};
  // Written before `done`.
  int64_t stamp_ns = 0;
  int32_t error = 0;  // of the stream at that place
  RecordPool* pool = nullptr;
};

// One reference. Thread rule: a value.
class RecordRef {
 public:
  RecordRef() = default;
  explicit RecordRef(RecordPoint* point) noexcept : point_(point) {
    if (point_ != nullptr) point_->references.fetch_add(1, std::memory_order_relaxed);
  }
  RecordRef(const RecordRef& other) noexcept : RecordRef(other.point_) {}
  RecordRef(RecordRef&& other) noexcept : point_(std::exchange(other.point_, nullptr)) {}
  RecordRef& operator=(RecordRef other) noexcept {
    std::swap(point_, other.point_);
    return *this;
  }
  ~RecordRef() { Drop(); }

  void Drop() noexcept;
  RecordPoint* operator->() const noexcept { return point_; }
  explicit operator bool() const noexcept { return point_ != nullptr; }
  bool done() const noexcept { return point_->done.load(std::memory_order_acquire); }

 private:
  RecordPoint* point_ = nullptr;
};

// Makes record points and wakes those who wait for one. Owned by the instance; thread-safe.
class RecordPool {
 public:
  RecordRef Make();
  void Complete(const RecordRef& record, int64_t stamp_ns, int32_t error);
  WaitPoint& completed() noexcept { return completed_; }

 private:
  friend class RecordRef;
  void Recycle(RecordPoint* point) noexcept;

  SpinLock lock_;
  std::deque<RecordPoint> points_;
  std::vector<RecordPoint*> free_;  // has room for all points, so that Recycle allocates nothing
  WaitPoint completed_;
};

}  // namespace pypto::mock
