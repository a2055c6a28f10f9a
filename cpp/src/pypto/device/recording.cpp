// Finds, keeps and drops recordings.
#include "pypto/device/recording.h"

#include <algorithm>
#include <utility>

namespace pypto::device {

bool Recording::CellsHold(std::byte* const* slots) const noexcept {
  return std::all_of(cells.begin(), cells.end(), [slots](const NotedCell& cell) {
    return LoadCell(cell.dtype, slots[cell.slot] + cell.offset) == cell.value;
  });
}

void Recording::Clear() noexcept {
  cells.clear();
  tasks.clear();
  bytes = 0;
  shares = false;
}

Recording* RecordingStore::Find(const LoadedExecutable& executable, const LaunchState& launch) {
  Recording* last = LastOf(executable);
  if (last != nullptr && launch.IsOf(executable, last->shape)) return last;
  return FindIf(executable, launch, [](const Recording&) { return true; });
}

Recording* RecordingStore::FindHolding(const LoadedExecutable& executable, const LaunchState& launch) {
  return FindIf(executable, launch, [&](const Recording& recording) { return recording.CellsHold(launch.slots()); });
}

template <typename Fits>
Recording* RecordingStore::FindIf(const LoadedExecutable& executable, const LaunchState& launch, const Fits& fits) {
  const uint64_t hash = launch.ShapeHash(executable);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.hash == hash && launch.IsOf(executable, entry.recording->shape) && fits(*entry.recording);
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

void RecordingStore::Note(const NotedCell& cell) {
  if (!recording_) return;
  present_->cells.push_back(cell);
  present_->bytes += sizeof(NotedCell);
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
  present_->shares = present_->shares || task->shared;
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

void RecordingStore::Recycle(Recording* recording) {
  for (auto& task : recording->tasks) Recycle(std::move(task));
  recording->Clear();
}

void RecordingStore::StopRecording() {
  recording_ = false;
  if (present_ != nullptr) Recycle(present_.get());
}

void RecordingStore::Keep(const LoadedExecutable& executable, const LaunchState& launch, const Pools& pools) {
  if (!std::exchange(recording_, false)) return;
  present_->shape = launch.shape();
  present_->bound.Begin(launch.header());
  for (uint32_t copy = 0; copy < launch.budget().parallelism; ++copy) present_->peaks[copy] = pools.peaks(copy);
  const uint64_t hash = launch.ShapeHash(executable);
  if (!present_->cells.empty()) DropSameShape(hash, executable, launch);
  bytes_ += present_->bytes;
  entries_.push_back({hash, ++clock_, std::move(present_)});
  const auto older = [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; };
  while (entries_.size() > limits_.recordings || bytes_ > limits_.bytes) {
    Drop(std::min_element(entries_.begin(), entries_.end(), older));
  }
  last_[executable.serial() % kLasts] = static_cast<uint32_t>(entries_.size() - 1);
}

// Makes room for one more recording that differs from others in its cells.
void RecordingStore::DropSameShape(uint64_t hash, const LoadedExecutable& executable, const LaunchState& launch) {
  auto oldest = entries_.end();
  size_t same = 0;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->hash != hash || !launch.IsOf(executable, entry->recording->shape)) continue;
    ++same;
    if (oldest == entries_.end() || entry->last_used < oldest->last_used) oldest = entry;
  }
  if (same >= limits_.per_shape) Drop(oldest);
}

void RecordingStore::Drop(std::vector<Entry>::iterator entry) {
  bytes_ -= entry->recording->bytes;
  Recycle(entry->recording.get());
  spare_ = std::move(entry->recording);
  entries_.erase(entry);
}

}  // namespace pypto::device
