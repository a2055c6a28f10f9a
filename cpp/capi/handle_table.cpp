// Slots of handles: making, invalidating, and the wait of a release for pins of other threads.
#include "handle_table.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pypto::capi {

namespace detail {

std::atomic<Slot*> chunks[kChunks] = {};
std::atomic<bool> remover_fences{false};
std::atomic<size_t> live_handles{0};
std::atomic<uint32_t> first_generation{0};
thread_local constinit ThreadRecord* this_thread = nullptr;

}  // namespace detail

namespace {

using detail::kChunks;
using detail::kSlotsPerChunk;
using detail::ThreadRecord;

// What the lock protects. Never destroyed: handles are released by static destructors too.
struct Table {
  std::mutex mutex;
  std::vector<uint32_t> free_slots;
  std::vector<uint32_t> generations;  // by slot
  ThreadRecord* threads = nullptr;
};

int Membarrier(int command) noexcept { return static_cast<int>(syscall(SYS_membarrier, command, 0, 0)); }

// 16 bytes that the kernel draws at random for each process, and the place of this copy of the library.
uint32_t RandomGeneration(const void* place) noexcept {
  uint64_t seed = 0;
  if (const auto* drawn = reinterpret_cast<const char*>(getauxval(AT_RANDOM)); drawn != nullptr) {
    std::memcpy(&seed, drawn + sizeof(seed), sizeof(seed));
  }
  seed ^= reinterpret_cast<uintptr_t>(place);
  seed *= 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(seed >> 33);
}

Table& TheTable();

// A child of fork has only the thread that forked: pins of the others are void.
void AfterForkInChild() {
  Table& table = TheTable();
  for (ThreadRecord* thread = table.threads; thread != nullptr; thread = thread->next) {
    if (thread == detail::this_thread) continue;
    for (std::atomic<const Slot*>& pin : thread->pins) pin.store(nullptr, std::memory_order_relaxed);
    thread->in_use = false;
    thread->spare_count = 0;  // it may have been at it
  }
  for (uint32_t i = 0; i < table.generations.size(); ++i)
    detail::FindSlot(i)->users.store(0, std::memory_order_relaxed);
  table.mutex.unlock();
}

Table* MakeTable() {
  auto* table = new Table();
  detail::first_generation.store(RandomGeneration(table), std::memory_order_relaxed);
  detail::remover_fences.store(Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0, std::memory_order_relaxed);
  pthread_atfork([] { TheTable().mutex.lock(); }, [] { TheTable().mutex.unlock(); }, AfterForkInChild);
  return table;
}

Table& TheTable() {
  static Table* table = MakeTable();
  return *table;
}

// Gives a thread's record away when the thread ends.
struct ThreadRecordOwner {
  ThreadRecord* record = nullptr;
  ~ThreadRecordOwner() {
    if (record == nullptr) return;
    detail::this_thread = nullptr;
    const std::lock_guard<std::mutex> lock(TheTable().mutex);
    record->depth = 0;
    record->in_use = false;
  }
};

// Orders the invalidation of a handle before the look at other threads' pins, in all threads.
void FenceAllThreads() noexcept {
  if (!detail::remover_fences.load(std::memory_order_relaxed)) return;
  if (Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  // After fork the process has to register again.
  if (Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0) Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void Pause(int round) noexcept {
  if (round < 64) {
    sched_yield();
    return;
  }
  const timespec time{0, 100'000};
  nanosleep(&time, nullptr);
}

uint32_t TakeSlot(Table* table) {
  if (!table->free_slots.empty()) {
    const uint32_t number = table->free_slots.back();
    table->free_slots.pop_back();
    return number;
  }
  const auto number = static_cast<uint32_t>(table->generations.size());
  if (number / kSlotsPerChunk >= kChunks) throw std::length_error("16777216 handles are live: release some");
  table->free_slots.reserve(number + 1);  // giving a slot back must not fail
  table->generations.push_back(detail::first_generation.load(std::memory_order_relaxed));
  std::atomic<Slot*>& chunk = detail::chunks[number / kSlotsPerChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    chunk.store(new (std::nothrow) Slot[kSlotsPerChunk], std::memory_order_release);
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      table->generations.pop_back();
      throw std::bad_alloc();
    }
  }
  return number;
}

// The object of a handle that names it no more and that nobody uses; its slot is free.
std::unique_ptr<Object> GiveBack(uint64_t handle) {
  Table& table = TheTable();
  std::unique_ptr<Object> object(detail::FindSlot(handle)->object.exchange(nullptr, std::memory_order_relaxed));
  const auto number = static_cast<uint32_t>(handle & 0xffffff);
  const std::lock_guard<std::mutex> lock(table.mutex);
  uint32_t& generation = table.generations[number];
  generation = GenerationOf(NextHandle(handle));
  // A slot that has been through all generations is never used again.
  if (generation != detail::first_generation.load(std::memory_order_relaxed)) table.free_slots.push_back(number);
  return object;
}

}  // namespace

detail::ThreadRecord* detail::NewThreadRecord() {
  static thread_local ThreadRecordOwner owner;
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  ThreadRecord* record = table.threads;
  while (record != nullptr && record->in_use) record = record->next;
  if (record == nullptr) {
    record = new ThreadRecord();
    record->next = table.threads;
    table.threads = record;
  }
  record->in_use = true;
  owner.record = record;
  this_thread = record;
  return record;
}

const char* KindText(Kind kind) noexcept {
  switch (kind) {
    case Kind::kProgram: return "a program";
    case Kind::kWorker: return "a worker";
    case Kind::kTensor: return "a tensor";
    case Kind::kRegistration: return "a registration";
    case Kind::kCompletion: return "a completion";
    case Kind::kOptions: return "options";
  }
  return "no object";
}

uint64_t AddObject(Kind kind, std::unique_ptr<Object> object, void* record, uint64_t owner) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const uint32_t number = TakeSlot(&table);
  Slot* slot = detail::FindSlot(number);
  const uint64_t handle =
      kHandleBit | uint64_t{table.generations[number]} << 32 | uint64_t{static_cast<uint8_t>(kind)} << 24 | number;
  slot->object.store(object.release(), std::memory_order_relaxed);
  slot->record.store(record, std::memory_order_relaxed);
  slot->owner.store(owner, std::memory_order_relaxed);
  slot->handle.store(handle, std::memory_order_release);
  detail::live_handles.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

bool Invalidate(uint64_t handle) {
  Slot* slot = detail::FindSlot(handle);
  if (slot == nullptr || handle == 0) return false;
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  if (slot->handle.load(std::memory_order_relaxed) != handle) return false;
  slot->handle.store(0, std::memory_order_seq_cst);
  detail::live_handles.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

std::unique_ptr<Object> Reclaim(uint64_t handle) {
  Slot* slot = detail::FindSlot(handle);
  Table& table = TheTable();
  ThreadRecord* threads = nullptr;
  bool alone = true;
  {
    const std::lock_guard<std::mutex> lock(table.mutex);
    threads = table.threads;
    for (const ThreadRecord* thread = threads; thread != nullptr; thread = thread->next) {
      alone = alone && (thread == detail::this_thread || !thread->in_use);
    }
  }
  // A thread that gets its record later finds the handle invalid.
  if (!alone) FenceAllThreads();
  for (const ThreadRecord* thread = alone ? nullptr : threads; thread != nullptr; thread = thread->next) {
    if (thread == detail::this_thread) continue;
    for (const std::atomic<const Slot*>& pin : thread->pins) {
      for (int round = 0; pin.load(std::memory_order_seq_cst) == slot; ++round) Pause(round);
    }
  }
  return GiveBack(handle);
}

bool Retire(uint64_t handle) noexcept {
  Slot* slot = detail::FindSlot(handle);
  uint64_t expected = handle;
  if (!slot->handle.compare_exchange_strong(expected, 0, std::memory_order_seq_cst)) return false;
  detail::live_handles.fetch_sub(1, std::memory_order_relaxed);
  // A call that counts itself from now on finds the handle gone.
  for (int round = 0; slot->users.load(std::memory_order_seq_cst) != 1; ++round) Pause(round);
  return true;
}

void KeepSpare(uint64_t handle) {
  ThreadRecord* thread = detail::ThisThread();
  // A slot that has been through all generations is never used again.
  const bool worn = GenerationOf(NextHandle(handle)) == detail::first_generation.load(std::memory_order_relaxed);
  if (thread->spare_count == detail::kMostSpares || worn) return GiveBack(handle).reset();
  thread->spares[thread->spare_count++] = handle;
}

size_t LiveHandles() { return detail::live_handles.load(std::memory_order_relaxed); }

}  // namespace pypto::capi
