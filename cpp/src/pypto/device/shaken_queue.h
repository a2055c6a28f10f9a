// The order of strict mode: any tile of any leaf that may run, as a seed decides.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "pypto/device/ready_queue.h"
#include "pypto/device/task.h"

namespace pypto::device {

// Owned by the task runner. Thread rule: Begin while no core works; Next from all cores.
class ShakenQueue {
 public:
  explicit ShakenQueue(uint64_t seed) : random_(seed) {}

  void Begin(const Task& task);
  // As in ReadyQueue; one tile at a time.
  bool Next(Claim* claim);

 private:
  // Tile i of the order is tile (i * stride + shift) mod tiles of the leaf.
  struct State {
    uint32_t pending = 0;
    int64_t next = 0;
    int64_t left = 0;
    int64_t stride = 1;
    int64_t shift = 0;
  };
  int64_t Random(int64_t below);
  void Release(uint32_t node);
  void MakeReady(uint32_t node);

  std::mutex mutex_;  // guards everything below
  uint64_t random_;
  const Task* task_ = nullptr;
  std::vector<State> states_;
  std::vector<uint32_t> ready_;  // leaves with tiles that nobody has taken
  uint32_t ended_ = 0;
};

}  // namespace pypto::device
