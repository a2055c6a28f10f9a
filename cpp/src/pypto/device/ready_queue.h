// The leaves of a task that may run now, taken by the cores in pieces.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "pypto/device/task.h"

namespace pypto::device {

// Tiles [first, last) of a leaf, or a whole instance, taken by one core.
struct Claim {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t node = kNone;
  int64_t first = 0;
  int64_t last = 0;
  bool back = false;       // the core takes the last tiles of a leaf first
  bool emptied = false;    // nobody finds tiles of the leaf behind this claim
  uint32_t ended = 0;      // nodes that this core has ended and not yet told the others
  uint32_t kept = kNone;   // made ready by its work, for this core alone
  uint32_t liked = kNone;  // the same, for all
};

// Leaves in the order in which they become ready. A core goes on with the leaf it works on, then with what its own work
// made ready, while the data is in its cache. Half of the cores take tiles from the front of a leaf and half from its
// end, so that a core finds its part of the data of other leaves, and of the launch before, in its cache. The less of a
// leaf is left, the fewer tiles are taken at a time, so that all cores end together; of a product, a core takes the
// larger part of its share at once, however long that is. Owned by the task runner. Thread
// rule: Begin while no core works; Next from all cores.
class ReadyQueue {
 public:
  // `task` is shared among `cores` cores and stays unchanged until it has ended.
  void Begin(const Task& task, uint32_t cores);
  // The core has done its claim (none yet: Claim::kNone) and gets the next one, waiting for it if need be. False when
  // the task has ended.
  bool Next(Claim* claim);

 private:
  // Of one leaf.
  struct State {
    std::atomic<uint32_t> pending{0};  // predecessors that have not ended
    int64_t tiles = 0;
    int64_t least = 1;               // tiles that are worth a claim
    int64_t most = 1;                // tiles of one claim, but of a product
    int64_t column = 0;              // of a product: tiles of one column, which share panels of B
    int64_t tile_ns = 0;             // rough time of a tile
    int64_t grain = 1;               // tiles that are counted as one
    std::atomic<uint64_t> taken{0};  // what somebody has taken: from the front, and shifted by 32 from the end
    std::atomic<int64_t> left{0};    // tiles that have not ended
  };
  void Reserve(uint32_t nodes);
  void SetWork(const Task& task, uint32_t node, State* state) const;
  // Takes tiles of a ready node; false when there are none left.
  bool Take(uint32_t node, Claim* claim);
  int64_t Share(const State& state, int64_t left, bool again) const;
  bool MayTakeColumn(const State& state) const;
  void NoteTaken(int64_t ns);
  bool GoOn(Claim* claim);
  void Release(uint32_t node, Claim* claim);
  bool OfOneSegment(uint32_t a, uint32_t b) const {
    const std::vector<uint8_t>& segments = task_->graph.segments;
    return segments.empty() || segments[a] == segments[b];
  }
  void Publish(uint32_t node);
  bool TellEnded(Claim* claim);
  void Wait(uint32_t head, int* spins);
  void Wake();

  const Task* task_ = nullptr;
  uint32_t nodes_ = 0;
  uint32_t working_ = 0;
  uint32_t reserved_ = 0;
  int64_t cores_ = 1;
  std::unique_ptr<State[]> states_;
  std::unique_ptr<std::atomic<uint32_t>[]> ready_;  // nodes in the order in which they became ready; each at most once
  alignas(64) std::atomic<uint32_t> head_{0};       // the first one with tiles that nobody has taken
  alignas(64) std::atomic<uint32_t> tail_{0};
  alignas(64) std::atomic<uint32_t> ended_{0};
  alignas(64) std::atomic<int64_t> unclaimed_ns_{0};  // rough time of what nobody has taken
  alignas(64) std::atomic<uint32_t> parked_{0};
  std::atomic<uint32_t> signals_{0};
};

}  // namespace pypto::device
