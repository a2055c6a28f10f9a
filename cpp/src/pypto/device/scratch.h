// The cores' local buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace pypto::device {

// One arena per core, kept between launches; memory of a core that never works is never touched. Owned by the engine.
// Thread rule: Reserve while no core works; core c uses At(c) alone.
class ScratchArenas {
 public:
  explicit ScratchArenas(uint32_t cores) : arenas_(cores) {}

  // False when there is no memory.
  bool Reserve(int64_t bytes) {
    if (bytes <= bytes_) return true;
    const size_t rounded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    for (auto& arena : arenas_) {
      arena.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
      if (arena == nullptr) {
        bytes_ = 0;
        return false;
      }
    }
    bytes_ = static_cast<int64_t>(rounded);
    return true;
  }
  std::byte* At(uint32_t core) const noexcept { return arenas_[core].get(); }

 private:
  static constexpr size_t kAlignment = 4096;
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> arenas_;
  int64_t bytes_ = 0;
};

}  // namespace pypto::device
