// A stream: an ordered queue of tasks, run by whoever synchronises it or by its own thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pypto/acl_abi/error_codes.h"
#include "pypto/mock_acl/context.h"
#include "pypto/mock_acl/handle_table.h"
#include "pypto/mock_acl/record_point.h"
#include "pypto/mock_acl/wait_point.h"

namespace pypto::mock {

// One end of a copy: device addresses are looked up when the copy runs.
struct Location {
  uint64_t address = 0;
  DeviceMemory* memory = nullptr;  // null: host

  std::byte* Resolve(uint64_t bytes) const noexcept;
};

// A queued task. Kept and reused by its stream, with its argument buffer.
struct Task {
  enum class Kind : uint8_t { kLaunch, kCopy, kFill, kRecord, kWait, kHostFunction };

  Kind kind = Kind::kLaunch;
  // Launch; also the captured bytes of a copy from the call's host memory.
  const Function* function = nullptr;
  uint32_t blocks = 1;
  std::byte* arguments = nullptr;  // alias of argument_address
  uint64_t argument_address = 0;   // device memory of the mock's own
  uint64_t argument_capacity = 0;
  uint64_t argument_bytes = 0;
  uint64_t captured_bytes = 0;    // of the last launch, as they came; 0: the buffer holds something else
  uint64_t argument_version = 1;  // another one when the first kVersionedBytes of the buffer have been written
  uint64_t device_arguments = 0;  // not 0: the arguments lie there
  // Copy, fill
  Location destination;
  Location source;
  uint64_t bytes = 0;
  int value = 0;
  // Record, wait
  RecordRef record;
  int64_t wait_limit_ns = 0;  // 0: none
  Deadline wait_deadline = kNoDeadline;
  // Host function
  acl_abi::aclrtHostFunc host_function = nullptr;
  void* host_arguments = nullptr;
};

// Owned by the instance's table. Push, Synchronize, Idle and Abort are thread-safe.
//
// A task runs under the execution lock, at the head of the queue, in one of two ways: a synchronise drains the queue on
// the calling thread, or the stream's own thread does. That thread starts with the first task, runs what it is kicked
// for, otherwise looks every 200 us whether a task was left lying, and sleeps after 100 ms without a new task.
class Stream : public HandleObject {
 public:
  enum class Kick : bool { kNo, kYes };
  struct Services {
    RecordPool* records = nullptr;
    uint64_t strict_seed = 0;
  };

  void Open(Context* context, uint32_t flags, int32_t id, const Services& services);
  // Waits for the queue, or throws it away, and ends the thread.
  void Close(bool wait_for_work);

  // Appends a task: `fill` sets it up under the push lock and may refuse with a code.
  template <typename Fill>
  acl_abi::aclError Push(Kick kick, Fill&& fill);
  // A buffer for `bytes` argument bytes in `task`, about to be written; false when the device is out of memory.
  bool ReserveArguments(Task& task, uint64_t bytes) {
    task.argument_version += 1;
    task.captured_bytes = 0;
    return task.argument_capacity >= bytes || GrowArguments(task, bytes);
  }

  // 0, the stream's error, or 507046 when the deadline passed with work left.
  acl_abi::aclError Synchronize(Deadline deadline);
  // Synchronize without a limit, in wait_here.h.
  acl_abi::aclError WaitHere();
  bool Idle() const noexcept { return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire); }
  // Lets the stream's thread run what is queued.
  void KickThread();
  void Abort();
  // Sticky: the first failure, or 107023 after an abort.
  acl_abi::aclError error() const noexcept;
  std::string error_text() const;

  // The process ends: nothing more is run.
  void AbandonForExit() noexcept { abort_.store(true, std::memory_order_seq_cst); }
  bool executing() const noexcept { return execution_.held(); }
  void WaitForShortLaunch() const noexcept { execution_.WaitForShortLaunch(); }
  // Of persistent and device-only streams: a synchronise returns at once.
  bool NeverWaitedFor() const noexcept {
    return (flags_ & (acl_abi::kStreamPersistent | acl_abi::kStreamCpuSchedule | acl_abi::kStreamDeviceUseOnly)) != 0;
  }

  // Threads of all streams.
  static uint64_t threads() noexcept { return threads_.load(std::memory_order_relaxed); }

  Context* context() const noexcept { return context_; }
  uint32_t flags() const noexcept { return flags_; }
  int32_t id() const noexcept { return id_; }

  bool counted = false;           // against the device's limit
  bool failure_mode_set = false;  // it can be set once

 private:
  enum class Step : uint8_t { kDone, kBlocked, kNeedsThread };
  static constexpr uint64_t kRingTasks = 1024;
  static std::atomic<uint64_t> threads_;

  Task& TaskAt(uint64_t position) const noexcept {
    return *ring_[(position - base_.load(std::memory_order_relaxed)) & (kRingTasks - 1)];
  }
  // Of an empty queue.
  Task& FirstSlot() {
    if (ring_[0] == nullptr) [[unlikely]]
      ring_[0] = std::make_unique<Task>();
    return *ring_[0];
  }
  Task& SlotFor(uint64_t position) {
    auto& slot = ring_[(position - base_.load(std::memory_order_relaxed)) & (kRingTasks - 1)];
    if (slot == nullptr) [[unlikely]]
      slot = std::make_unique<Task>();
    return *slot;
  }
  bool GrowArguments(Task& task, uint64_t bytes);
  void AfterPush(Kick kick, uint64_t queued, bool asleep);
  acl_abi::aclError WaitForRoom();
  bool WaitForHead(uint64_t target, Deadline deadline);
  Step Drain(uint64_t target, bool own_thread);
  // Drains a queue of one launch that the cores have run before. False: nothing was done.
  bool DrainOneAgain(uint64_t target);
  Step Run(Task& task, bool own_thread);
  void Discard(Task& task);
  void RunLaunch(Task& task);
  void RunCopy(Task& task);
  Step RunWait(Task& task);
  void RunHostFunction(Task& task);
  void CompleteRecord(Task& task);
  bool discarding() const noexcept;
  void SetError(int32_t code, std::string text);

  bool EnsureThread();
  void StopThread();
  void ThreadMain();
  void DrainOnThread();
  bool FallAsleep(uint64_t seen_tail);
  void Shake();

  ContextLink context_;
  Services services_;
  uint32_t flags_ = 0;
  int32_t id_ = 0;
  std::unique_ptr<std::unique_ptr<Task>[]> ring_;

  alignas(64) SpinLock push_lock_;
  std::atomic<uint64_t> tail_{0};
  std::atomic<uint64_t> base_{0};  // position of ring_[0]; moves only while the queue is empty
  bool asleep_ = true;             // nobody polls; under push_lock_

  alignas(64) ExecutionLock execution_;
  std::atomic<uint64_t> head_{0};
  std::atomic<bool> abort_{false};
  std::atomic<int32_t> error_{0};
  WaitPoint progress_;

  alignas(64) std::atomic<bool> kicked_{false};
  std::atomic<bool> stop_{false};
  WaitPoint wake_;
  mutable std::mutex mutex_;  // of the following
  std::string error_text_;
  std::thread thread_;
  uint64_t random_ = 0;
};

template <typename Fill>
[[gnu::always_inline]] inline acl_abi::aclError Stream::Push(Kick kick, Fill&& fill) {
  while (true) {
    if (abort_.load(std::memory_order_relaxed)) [[unlikely]]
      return error();
    uint64_t queued = 0;
    bool asleep = false;
    {
      const std::lock_guard lock(push_lock_);
      const uint64_t tail = tail_.load(std::memory_order_relaxed);
      queued = tail - head_.load(std::memory_order_acquire);
      if (queued < kRingTasks) [[likely]] {
        if (queued == 0) base_.store(tail, std::memory_order_relaxed);
        const acl_abi::aclError code = fill(queued == 0 ? FirstSlot() : SlotFor(tail));
        if (code != acl_abi::kSuccess) [[unlikely]]
          return code;
        tail_.store(tail + 1, std::memory_order_release);
        asleep = std::exchange(asleep_, false);
      }
    }
    if (queued < kRingTasks) [[likely]] {
      if (kick == Kick::kYes || queued != 0 || asleep || services_.strict_seed != 0) [[unlikely]] {
        AfterPush(kick, queued + 1, asleep);
      }
      return acl_abi::kSuccess;
    }
    const acl_abi::aclError code = WaitForRoom();
    if (code != acl_abi::kSuccess) return code;
  }
}

}  // namespace pypto::mock
