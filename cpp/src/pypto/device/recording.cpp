// Finds, keeps and drops recordings.
#include "pypto/device/recording.h"

#include <algorithm>
#include <utility>

namespace pypto::device {

Recording* RecordingStore::Find(const LoadedExecutable& executable, const LaunchState& launch) {
  Recording* last = LastOf(executable);
  if (last != nullptr && launch.IsOf(executable, last->shape)) return last;
  const uint64_t hash = launch.ShapeHash(executable);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.hash == hash && launch.IsOf(executable, entry.recording->shape);
  });
  if (found == entries_.end()) return nullptr;
  last_[executable.serial() % kLasts] = static_cast<uint32_t>(found - entries_.begin());
  found->last_used = ++clock_;
  return found->recording.get();
}

void RecordingStore::Begin(bool keep) {
  StopRecording();
  recording_ = keep;
  if (present_ == nullptr) present_ = spare_ != nullptr ? std::move(spare_) : std::make_unique<Recording>();
}

std::unique_ptr<Task> RecordingStore::TakeTask() {
  if (free_.empty()) return std::make_unique<Task>();
  std::unique_ptr<Task> task = std::move(free_.back());
  free_.pop_back();
  free_bytes_ -= task->capacity();
  return task;
}

void RecordingStore::Return(std::unique_ptr<Task> task) {
  if (!recording_) return Recycle(std::move(task));
  present_->bytes += task->capacity();
  present_->ordered_by_bytes = present_->ordered_by_bytes || task->shared;
  present_->tasks.push_back(std::move(task));
  if (present_->bytes > limits_.bytes_per_launch) StopRecording();
}

void RecordingStore::Recycle(std::unique_ptr<Task> task) {
  task->Clear();
  const size_t bytes = task->capacity();
  if (free_bytes_ + bytes > 2 * limits_.bytes_per_launch) return;
  free_bytes_ += bytes;
  free_.push_back(std::move(task));
}

void RecordingStore::StopRecording() {
  recording_ = false;
  if (present_ == nullptr) return;
  for (auto& task : present_->tasks) Recycle(std::move(task));
  present_->tasks.clear();
  present_->bytes = 0;
  present_->ordered_by_bytes = false;
}

void RecordingStore::Keep(const LoadedExecutable& executable, const LaunchState& launch, const Pools& pools) {
  if (!std::exchange(recording_, false)) return;
  present_->shape = launch.shape();
  present_->bound.Begin(launch.header());
  for (uint32_t copy = 0; copy < launch.budget().parallelism; ++copy) present_->peaks[copy] = pools.peaks(copy);
  bytes_ += present_->bytes;
  entries_.push_back({launch.ShapeHash(executable), ++clock_, std::move(present_)});
  while (entries_.size() > limits_.recordings || bytes_ > limits_.bytes) DropOldest();
  last_[executable.serial() % kLasts] = static_cast<uint32_t>(entries_.size() - 1);
}

void RecordingStore::DropOldest() {
  const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                       [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; });
  bytes_ -= oldest->recording->bytes;
  for (auto& task : oldest->recording->tasks) Recycle(std::move(task));
  oldest->recording->tasks.clear();
  oldest->recording->bytes = 0;
  oldest->recording->ordered_by_bytes = false;
  spare_ = std::move(oldest->recording);
  entries_.erase(oldest);
}

}  // namespace pypto::device
