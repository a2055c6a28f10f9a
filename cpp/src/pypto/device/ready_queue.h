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
  uint32_t ended = 0;      // nodes that this core has ended and not yet told the others
  uint32_t kept = kNone;   // made ready by its work, for this core alone
  uint32_t liked = kNone;  // the same, for all
};

// Leaves in the order in which they become ready. A core goes on with the leaf it works on, then with what its own work
// made ready, while the data is in its cache. The less of a leaf is left, the fewer tiles are taken at a time, so that
// all cores end together. Owned by the task runner. Thread rule: Begin while no core works; Next from all cores.
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
    int64_t least = 1;             // tiles that are worth a claim
    int64_t most = 1;              // tiles of one claim
    int64_t unit = 1;              // the first claims take multiples of it
    std::atomic<int64_t> next{0};  // first tile that nobody has taken
    std::atomic<int64_t> left{0};  // tiles that have not ended
  };
  void Reserve(uint32_t nodes);
  void SetWork(const Task& task, uint32_t node, State* state) const;
  // Takes tiles of a ready node; false when there are none left.
  bool Take(uint32_t node, Claim* claim);
  bool GoOn(Claim* claim);
  void Release(uint32_t node, Claim* claim);
  void Publish(uint32_t node);
  bool TellEnded(Claim* claim);
  void Wait(uint32_t head, int* spins);
  void Wake();

  const Task* task_ = nullptr;
  uint32_t nodes_ = 0;
  uint32_t working_ = 0;
  uint32_t reserved_ = 0;
  int64_t shares_ = 1;  // a claim takes one of so many parts of what is left
  std::unique_ptr<State[]> states_;
  std::unique_ptr<std::atomic<uint32_t>[]> ready_;  // nodes in the order in which they became ready; each at most once
  alignas(64) std::atomic<uint32_t> head_{0};       // the first one with tiles that nobody has taken
  alignas(64) std::atomic<uint32_t> tail_{0};
  alignas(64) std::atomic<uint32_t> ended_{0};
  alignas(64) std::atomic<uint32_t> parked_{0};
  std::atomic<uint32_t> signals_{0};
};

}  // namespace pypto::device
