// The sinks that are added: who is called for a record, and the wait of a removal for calls under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pypto/log/sink.h"

namespace pypto::log {

// Thread-safe. Owned by the logger. Calls of sinks are made with no lock held.
class SinkList {
 public:
  uint64_t Add(std::shared_ptr<Sink> sink);
  bool Remove(uint64_t id);
  void Dispatch(std::span<const RecordView> records) noexcept;
  // Whether Dispatch would reach anybody: one relaxed load.
  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  // Around fork, so that the child finds the list whole.
  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }

 private:
  struct Entry {
    uint64_t id = 0;
    std::shared_ptr<Sink> sink;
    uint64_t generation = 0;  // of the process that added it
    std::atomic<bool> removed{false};
    std::atomic<uint32_t> active{0};  // calls under way
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  static void Call(Entry& entry, std::span<const RecordView> records) noexcept;

  std::mutex mutex_;
  std::shared_ptr<const Entries> entries_ = std::make_shared<const Entries>();
  std::atomic<size_t> count_{0};
  uint64_t next_id_ = 1;
  static thread_local const Entry* current_;  // the sink whose Write this thread is in
};

}  // namespace pypto::log
