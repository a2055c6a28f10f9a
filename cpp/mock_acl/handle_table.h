// Handles: numbers that cannot be dereferenced, checked in constant time, stale for ever once closed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pypto::mock {

enum class HandleKind : uint8_t { kContext = 1, kStream, kEvent, kBinary, kFunction, kArguments, kBinaryData };

struct HandleObject {
  std::atomic<uint64_t> handle{0};  // 0 while the object is dead
  uint32_t table_index = 0;
  // Under the table's lock.
  uint32_t visitors = 0;
  bool returned = false;  // while visited

  void* pointer() const noexcept { return reinterpret_cast<void*>(handle.load(std::memory_order_acquire)); }
};

// Owns objects of one kind. Objects are recycled and stay allocated while the table lives, so that a call racing with a
// close meets a dead object, never freed memory. T derives from HandleObject.
// A handle is: 0xac | kind | generation (24 bits) | index (24 bits). Thread-safe.
template <typename T, HandleKind kind>
class HandleTable {
 public:
  T* Find(const void* pointer) const noexcept {
    const auto handle = reinterpret_cast<uint64_t>(pointer);
    if ((handle >> 48) != kPrefix) [[unlikely]]
      return nullptr;
    const uint64_t index = handle & kIndexMask;
    if (index >= kChunks * kChunkObjects) [[unlikely]]
      return nullptr;
    T* chunk = chunks_[index / kChunkObjects].load(std::memory_order_acquire);
    if (chunk == nullptr) [[unlikely]]
      return nullptr;
    T* object = chunk + index % kChunkObjects;
    return object->handle.load(std::memory_order_acquire) == handle ? object : nullptr;
  }

  // A dead object to be filled, or null when the table is full. Publish makes it live.
  T* Take() {
    std::lock_guard lock(mutex_);
    if (free_.empty() && !Grow()) return nullptr;
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  void* Publish(T* object) {
    std::lock_guard lock(mutex_);
    const uint64_t index = object->table_index;
    const uint64_t generation = ++generations_[index] & kGenerationMask;
    const uint64_t handle = (kPrefix << 48) | (generation << 24) | index;
    object->handle.store(handle, std::memory_order_release);
    ++live_;
    return reinterpret_cast<void*>(handle);
  }
  // From now on the handle is stale; false when it was already. The object is emptied before Return.
  bool Retire(T* object) {
    std::lock_guard lock(mutex_);
    if (object->handle.exchange(0, std::memory_order_acq_rel) == 0) return false;
    --live_;
    return true;
  }
  // The same for all live objects that fulfil `wanted`: these, which nobody else closes.
  template <typename Wanted>
  std::vector<T*> RetireIf(Wanted&& wanted) {
    std::lock_guard lock(mutex_);
    std::vector<T*> result;
    EachLive([&](T& object) {
      if (!wanted(std::as_const(object))) return;
      object.handle.store(0, std::memory_order_release);
      --live_;
      result.push_back(&object);
    });
    return result;
  }
  void Return(T* object) {
    std::lock_guard lock(mutex_);
    object->returned = object->visitors != 0;
    if (!object->returned) free_.push_back(object);
  }
  // The object behind a handle that is still live, or null. It may be closed meanwhile, but is not taken again for
  // another use before Leave.
  T* Visit(const void* pointer) {
    std::lock_guard lock(mutex_);
    T* object = Find(pointer);
    if (object != nullptr) ++object->visitors;
    return object;
  }
  void Leave(T* object) {
    std::lock_guard lock(mutex_);
    if (--object->visitors == 0 && std::exchange(object->returned, false)) free_.push_back(object);
  }

  uint64_t live() const {
    std::lock_guard lock(mutex_);
    return live_;
  }
  // Calls `see` with every live object; none is closed meanwhile.
  template <typename See>
  void ForEachLive(See&& see) const {
    std::lock_guard lock(mutex_);
    EachLive(see);
  }
  // The live objects at this moment. They may be closed and taken again as soon as this returns.
  std::vector<T*> Live() const {
    std::vector<T*> result;
    ForEachLive([&](T& object) { result.push_back(&object); });
    return result;
  }

 private:
  static constexpr uint64_t kPrefix = 0xac00 | static_cast<uint64_t>(kind);
  static constexpr uint64_t kIndexMask = 0xffffff;
  static constexpr uint64_t kGenerationMask = 0xffffff;
  static constexpr uint64_t kChunkObjects = 64;
  static constexpr uint64_t kChunks = 4096;

  template <typename See>
  void EachLive(See&& see) const {
    for (uint64_t i = 0; i < generations_.size(); ++i) {
      T* object = chunks_[i / kChunkObjects].load(std::memory_order_relaxed) + i % kChunkObjects;
      if (object->handle.load(std::memory_order_relaxed) != 0) see(*object);
    }
  }
  bool Grow() {
    const uint64_t used = generations_.size();
    if (used == kChunks * kChunkObjects) return false;
    owned_.push_back(std::make_unique<T[]>(kChunkObjects));
    T* chunk = owned_.back().get();
    generations_.resize(used + kChunkObjects, 0);
    for (uint64_t i = kChunkObjects; i-- > 0;) {
      chunk[i].table_index = static_cast<uint32_t>(used + i);
      free_.push_back(chunk + i);
    }
    chunks_[used / kChunkObjects].store(chunk, std::memory_order_release);
    return true;
  }

  std::array<std::atomic<T*>, kChunks> chunks_{};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<T[]>> owned_;
  std::vector<uint32_t> generations_;
  std::vector<T*> free_;
  uint64_t live_ = 0;
};

}  // namespace pypto::mock
