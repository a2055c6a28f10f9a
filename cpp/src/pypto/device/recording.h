// Stitched launches that are kept, to be run again without walking the program.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "pypto/device/bound_launch.h"
#include "pypto/device/cell.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/pools.h"
#include "pypto/device/task.h"

namespace pypto::device {

// All tasks of one launch. It depends on the executable, the symbols, the scalars and the cells that control flow read:
// memory is named by slots. Immutable once kept, except what it is bound to.
struct Recording {
  LaunchShape shape;
  std::vector<NotedCell> cells;  // each once or more often; no launch of this shape writes them
  std::vector<std::unique_ptr<Task>> tasks;
  std::array<PoolBytes, program::kMostCopies> peaks{};  // per copy of the workspace
  bool shares = false;  // some task runs on several cores, in the order of its data as parameters that do not overlap
                        // give it
  size_t bytes = 0;
  BoundLaunch bound;

  // Whether control flow would read what it read: a launch of this shape whose memory is `slots` goes the same way.
  bool CellsHold(std::byte* const* slots) const noexcept;
  // Forgets all but the memory that it has.
  void Clear() noexcept;
};

// Recordings, the least recently used ones dropped when there are too many or they hold too much memory; and tasks to
// be used again. Owned by the engine. Thread rule: one thread at a time.
class RecordingStore {
 public:
  struct Limits {
    size_t recordings = 256;
    size_t bytes = size_t{64} << 20;             // of all recordings
    size_t bytes_per_launch = size_t{16} << 20;  // a launch that takes more is not kept
    size_t per_shape = 4;                        // that differ in nothing but the cells they read
  };
  RecordingStore() = default;
  explicit RecordingStore(const Limits& limits) : limits_(limits) {}

  // What the executable ran last, of whatever shape, or null.
  Recording* LastOf(const LoadedExecutable& executable) noexcept {
    const size_t index = last_[executable.serial() % kLasts];
    if (index >= entries_.size() || entries_[index].recording->shape.serial != executable.serial()) return nullptr;
    entries_[index].last_used = ++clock_;
    return entries_[index].recording.get();
  }
  // A recording of the shape of the launch that was opened last, or null.
  Recording* Find(const LoadedExecutable& executable, const LaunchState& launch);
  // The one whose cells hold, when the launch has its memory, or null.
  Recording* FindHolding(const LoadedExecutable& executable, const LaunchState& launch);

  // A launch begins to be walked; whether it may be kept.
  void Begin(bool keep);
  // Control flow has read a cell that the launch does not write.
  void Note(const NotedCell& cell);
  // The launch that is walked is not kept after all.
  void StopRecording();
  // An empty task.
  std::unique_ptr<Task> TakeTask();
  // The task has ended.
  void Return(std::unique_ptr<Task> task);
  // The launch ended well and is kept, if it may be.
  void Keep(const LoadedExecutable& executable, const LaunchState& launch, const Pools& pools);

  size_t size() const noexcept { return entries_.size(); }
  size_t bytes() const noexcept { return bytes_; }

 private:
  struct Entry {
    uint64_t hash = 0;
    uint64_t last_used = 0;
    std::unique_ptr<Recording> recording;
  };
  template <typename Fits>
  Recording* FindIf(const LoadedExecutable& executable, const LaunchState& launch, const Fits& fits);
  void Recycle(std::unique_ptr<Task> task);
  void Recycle(Recording* recording);
  void DropSameShape(uint64_t hash, const LoadedExecutable& executable, const LaunchState& launch);
  void Drop(std::vector<Entry>::iterator entry);

  const Limits limits_;
  std::vector<Entry> entries_;
  static constexpr size_t kLasts = 256;
  std::array<uint32_t, kLasts> last_{};  // entry found last, by the executable's serial number; executables may share
  uint64_t clock_ = 0;
  size_t bytes_ = 0;
  bool recording_ = false;
  std::unique_ptr<Recording> present_;  // of the launch that is walked
  std::unique_ptr<Recording> spare_;
  std::vector<std::unique_ptr<Task>> free_;
  size_t free_bytes_ = 0;
};

}  // namespace pypto::device
