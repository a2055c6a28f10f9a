// Handles of the C ABI: names of objects in a table of slots that never move, and pins that keep an object while a call
// uses it.
//
// A handle is no address: bit 63 is set, which no user-space pointer has; then 31 bits of generation, 8 bits of kind,
// 24 bits of slot number. A slot holds the handle that names it now, so one comparison tells a live handle from any
// other. Generations start at a random number, so handles of another process or of another copy of the library do not
// match.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pypto::capi {

enum class Kind : uint8_t { kProgram = 1, kWorker, kTensor, kRegistration, kCompletion, kOptions };

// "a worker"
const char* KindText(Kind kind) noexcept;

// What every object behind a handle is. Deleted by whoever removed it from the table.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

// Read without a lock; written while nobody can name it, under the table's lock or by the thread that keeps it as a
// spare.
struct alignas(64) Slot {
  std::atomic<uint64_t> handle{0};  // that names it, 0 when none does
  std::atomic<Object*> object{nullptr};
  std::atomic<void*> record{nullptr};  // of a tensor: the runtime's
  std::atomic<uint64_t> owner{0};      // of a tensor: number of its worker
  std::atomic<uint32_t> users{0};      // of a completion: calls that use it
};

namespace detail {

inline constexpr int kMostPins = 4;
inline constexpr int kMostSpares = 8;

// What one thread uses at the moment. Never freed; taken over by another thread after its own has ended.
struct ThreadRecord {
  std::atomic<const Slot*> pins[kMostPins] = {};
  int depth = 0;  // kMostPins inside a callback: nothing can be pinned there
  bool in_use = false;
  ThreadRecord* next = nullptr;
  // Slots without a name, each with an empty object: the handle that it had last.
  uint64_t spares[kMostSpares] = {};
  int spare_count = 0;
};

inline constexpr uint32_t kSlotsPerChunk = 256;
inline constexpr uint32_t kChunks = 1U << 16;
extern std::atomic<Slot*> chunks[kChunks];
// Whether the thread that removes makes the fence for all (membarrier), so that a pin needs none.
extern std::atomic<bool> remover_fences;
extern std::atomic<size_t> live_handles;
extern std::atomic<uint32_t> first_generation;  // of every slot
extern thread_local constinit ThreadRecord* this_thread __attribute__((tls_model("initial-exec")));
ThreadRecord* NewThreadRecord();

inline ThreadRecord* ThisThread() {
  ThreadRecord* record = this_thread;
  return record != nullptr ? record : NewThreadRecord();
}

inline Slot* FindSlot(uint64_t handle) noexcept {
  const auto number = static_cast<uint32_t>(handle & 0xffffff);
  Slot* chunk = chunks[number / kSlotsPerChunk].load(std::memory_order_acquire);
  return chunk != nullptr ? &chunk[number % kSlotsPerChunk] : nullptr;
}

}  // namespace detail

inline constexpr uint64_t kHandleBit = uint64_t{1} << 63;
inline constexpr uint32_t kGenerationMask = 0x7fffffff;
inline uint32_t GenerationOf(uint64_t handle) noexcept { return static_cast<uint32_t>(handle >> 32) & kGenerationMask; }
// The same slot and kind, one generation later.
inline uint64_t NextHandle(uint64_t handle) noexcept {
  return kHandleBit | uint64_t{(GenerationOf(handle) + 1) & kGenerationMask} << 32 | (handle & 0xffffffff);
}
inline Kind KindOf(uint64_t handle) noexcept { return static_cast<Kind>(handle >> 24 & 0xff); }

// A new name for the object, which the table owns from now on. Throws std::bad_alloc or std::length_error; then the
// object is deleted. Thread-safe.
uint64_t AddObject(Kind kind, std::unique_ptr<Object> object, void* record = nullptr, uint64_t owner = 0);
// No handle names it from now on. False: it was not live. Thread-safe.
bool Invalidate(uint64_t handle);
// Waits until no other thread has the slot of an invalidated handle pinned, and gives the object out.
std::unique_ptr<Object> Reclaim(uint64_t handle);
// What a thread gives back it may keep for its next handle of the same kind, slot and all: no lock and no allocation.
// Used for completions alone, whose users are counted (CountedSlot).
//
// No handle names the object from now on; waits until nobody but the caller, who has it pinned, uses it. False: the
// handle was not live.
bool Retire(uint64_t handle) noexcept;
// Of a retired handle, whose object is empty now.
void KeepSpare(uint64_t handle);
inline bool HasSpare() { return detail::ThisThread()->spare_count != 0; }
// A new name for what this thread keeps; `begin` is called with the object before anybody can know it.
template <typename Begin>
uint64_t NameSpare(Begin&& begin) noexcept {
  detail::ThreadRecord* thread = detail::ThisThread();
  const uint64_t handle = NextHandle(thread->spares[--thread->spare_count]);
  Slot* slot = detail::FindSlot(handle);
  begin(slot->object.load(std::memory_order_relaxed));
  slot->handle.store(handle, std::memory_order_release);
  detail::live_handles.fetch_add(1, std::memory_order_relaxed);
  return handle;
}
// Handles that are live, for tests.
size_t LiveHandles();

// Keeps the object of a handle for a scope: a release in another thread waits for it. Costs no locked instruction.
// Thread rule: on the stack of one thread, last in first out.
class PinnedSlot {
 public:
  PinnedSlot(uint64_t handle, Kind kind) : thread_(detail::ThisThread()) {
    const Slot* slot = detail::FindSlot(handle);
    const int depth = thread_->depth;
    if (slot == nullptr || depth >= detail::kMostPins || KindOf(handle) != kind || handle == 0) [[unlikely]]
      return;
    // The pin must be visible before the handle is compared.
    if (detail::remover_fences.load(std::memory_order_relaxed)) [[likely]] {
      thread_->pins[depth].store(slot, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      thread_->pins[depth].store(slot, std::memory_order_seq_cst);
    }
    if (slot->handle.load(std::memory_order_seq_cst) != handle) [[unlikely]] {
      thread_->pins[depth].store(nullptr, std::memory_order_relaxed);
      return;
    }
    thread_->depth = depth + 1;
    object_ = slot->object.load(std::memory_order_relaxed);
  }
  PinnedSlot(const PinnedSlot&) = delete;
  PinnedSlot& operator=(const PinnedSlot&) = delete;
  ~PinnedSlot() {
    if (object_ == nullptr) return;
    thread_->depth -= 1;
    thread_->pins[thread_->depth].store(nullptr, std::memory_order_release);
  }

  Object* object() const noexcept { return object_; }

 private:
  detail::ThreadRecord* thread_;
  Object* object_ = nullptr;
};

// The same for objects that come and go with each call: a count in the slot, so that their release needs no fence of
// all threads.
class CountedSlot {
 public:
  CountedSlot(uint64_t handle, Kind kind) {
    Slot* slot = detail::FindSlot(handle);
    const bool in_callback = detail::ThisThread()->depth >= detail::kMostPins;
    if (slot == nullptr || in_callback || KindOf(handle) != kind || handle == 0) [[unlikely]]
      return;
    slot->users.fetch_add(1, std::memory_order_seq_cst);
    if (slot->handle.load(std::memory_order_seq_cst) != handle) [[unlikely]] {
      slot->users.fetch_sub(1, std::memory_order_release);
      return;
    }
    slot_ = slot;
  }
  CountedSlot(const CountedSlot&) = delete;
  CountedSlot& operator=(const CountedSlot&) = delete;
  ~CountedSlot() {
    if (slot_ != nullptr) slot_->users.fetch_sub(1, std::memory_order_release);
  }

  Object* object() const noexcept { return slot_ != nullptr ? slot_->object.load(std::memory_order_relaxed) : nullptr; }

 private:
  Slot* slot_ = nullptr;
};

// While it lives, this thread runs a callback of the user: handles cannot be used.
class CallbackScope {
 public:
  CallbackScope() : thread_(detail::ThisThread()), depth_(thread_->depth) { thread_->depth = detail::kMostPins; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope() { thread_->depth = depth_; }
  static bool Inside() { return detail::ThisThread()->depth >= detail::kMostPins; }

 private:
  detail::ThreadRecord* thread_;
  int depth_;
};

}  // namespace pypto::capi
