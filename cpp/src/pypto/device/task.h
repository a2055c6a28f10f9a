// What a device task consists of: root instances and their leaves, resolved down to addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pypto/device/leaf_program.h"

namespace pypto::device {

// Where an access points: the element at coordinates 0, and the distance of neighbours in elements.
struct AccessRecord {
  std::byte* base = nullptr;
  const int64_t* strides = nullptr;  // rank of them
};

// A leaf of one instance. Extents that operations work on are already clipped to what is valid.
struct LeafRecord {
  const LeafProgram* program = nullptr;
  const AccessRecord* accesses = nullptr;
  const int64_t* bounds = nullptr;    // per operation, rank of them: end of the computed region. A matrix product has
                                      // its K behind them
  const uint32_t* numbers = nullptr;  // 4-byte elements
  Extents grid{};                     // tiles per dim
  int64_t tiles = 0;
};

// Memory for records that are all dropped at once. Owned by a Task. Thread rule: one thread at a time.
class RecordArena {
 public:
  // Uninitialised; for trivial types aligned to at most 8.
  template <typename T>
  T* Take(size_t count) {
    return reinterpret_cast<T*>(TakeBytes((count * sizeof(T) + 7) & ~size_t{7}));
  }
  void Clear() noexcept { chunk_ = used_ = 0; }

 private:
  static constexpr size_t kChunkBytes = 64 * 1024;
  std::byte* TakeBytes(size_t bytes);

  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    size_t bytes = 0;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  size_t used_ = 0;  // of the present chunk
};

// One stitched window. Its leaves are in program order.
struct Task {
  RecordArena arena;
  std::vector<LeafRecord> leaves;
  uint32_t instances = 0;

  void Clear() noexcept {
    arena.Clear();
    leaves.clear();
    instances = 0;
  }
};

}  // namespace pypto::device
