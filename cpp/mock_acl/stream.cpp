// The queue of a stream and the tasks in it. The stream's own thread is in stream_thread.cpp.
#include "pypto/mock_acl/stream.h"

#include <algorithm>
#include <cstring>

#include "pypto/base/checked.h"
#include "pypto/mock_acl/clock.h"
#include "pypto/mock_acl/device.h"
#include "pypto/mock_acl/instance.h"
#include "pypto/mock_acl/thread_state.h"

namespace pypto::mock {

using namespace acl_abi;

namespace {

constexpr uint64_t kLeastArgumentCapacity = 512;

}  // namespace

std::byte* Location::Resolve(uint64_t bytes) const noexcept {
  if (memory == nullptr) return reinterpret_cast<std::byte*>(address);
  return memory->Translate(address, bytes);
}

void Stream::Open(Context* context, uint32_t flags, int32_t id, const Services& services) {
  context_ = context;
  services_ = services;
  flags_ = flags;
  id_ = id;
  counted = false;
  failure_mode_set = false;
  // Positions go on from the stream that was here before: a thread that still waits for its end finds it reached.
  head_.store(tail_.load());
  base_.store(tail_.load());
  asleep_ = true;
  abort_.store(false);
  error_.store(0);
  kicked_.store(false);
  stop_.store(false);
  error_text_.clear();
  random_ = services.strict_seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(id) + 1;
  if (ring_ == nullptr) ring_ = std::make_unique<std::unique_ptr<Task>[]>(kRingTasks);
}

void Stream::Close(bool wait_for_work) {
  if (wait_for_work) static_cast<void>(Synchronize(kNoDeadline));
  Abort();
  StopThread();
  context_->device->Forget(this);
  for (uint64_t i = 0; i < kRingTasks && ring_[i] != nullptr; ++i) {
    Task& task = *ring_[i];
    task.record.Drop();
    if (task.argument_address != 0) context_->device->memory().FreeInternal(task.argument_address);
    task.argument_address = 0;
    task.argument_capacity = 0;
    task.captured_bytes = 0;
  }
}

bool Stream::GrowArguments(Task& task, uint64_t bytes) {
  DeviceMemory& memory = context_->device->memory();
  if (task.argument_address != 0) memory.FreeInternal(task.argument_address);
  task.argument_capacity = 0;
  const uint64_t capacity = base::AlignUp(std::max(bytes, kLeastArgumentCapacity), kLeastArgumentCapacity);
  task.argument_address = memory.AllocateInternal(capacity);
  if (task.argument_address == 0) return false;
  task.argument_capacity = capacity;
  task.arguments = memory.Translate(task.argument_address, capacity);
  return true;
}

void Stream::AfterPush(Kick kick, uint64_t queued, bool asleep) {
  if (kick == Kick::kYes || queued > 1 || services_.strict_seed != 0) {
    KickThread();
  } else if (asleep && EnsureThread()) {
    wake_.Notify();
  }
}

aclError Stream::WaitForRoom() {
  const uint64_t enough = tail_.load(std::memory_order_acquire) - kRingTasks + 1;
  if (CurrentThread().in_host_function) {
    return Fail(kErrorRtFeatureNotSupported, "the stream is full and a host function must not wait for it");
  }
  WaitForHead(enough, kNoDeadline);
  return kSuccess;
}

bool Stream::discarding() const noexcept {
  return abort_.load(std::memory_order_relaxed) || context_->stopped.load(std::memory_order_relaxed) != 0;
}

aclError Stream::Synchronize(Deadline deadline) {
  const uint64_t target = tail_.load(std::memory_order_acquire);
  if (head_.load(std::memory_order_acquire) < target) {
    if (deadline == kNoDeadline && services_.strict_seed == 0 && execution_.TryAcquire()) {
      Drain(target, false);
      execution_.Release();
    }
    if (head_.load(std::memory_order_acquire) < target) [[unlikely]] {
      if (CurrentThread().in_host_function) {
        return Fail(kErrorRtFeatureNotSupported, "a host function must not wait for a stream");
      }
      if (!WaitForHead(target, deadline)) return kErrorRtStreamSyncTimeout;
    }
  }
  return error();
}

bool Stream::WaitForHead(uint64_t target, Deadline deadline) {
  KickThread();
  const auto reached = [&] { return head_.load(std::memory_order_acquire) >= target; };
  constexpr int kSpins = 1000;
  for (int i = 0; i < kSpins; ++i) {
    if (reached()) return true;
    Pause();
  }
  return progress_.WaitUntil(deadline, reached);
}

aclError Stream::error() const noexcept {
  const int32_t own = error_.load(std::memory_order_acquire);
  return own != 0 ? own : context_->stopped.load(std::memory_order_acquire);
}

std::string Stream::error_text() const {
  std::lock_guard lock(mutex_);
  return error_text_.empty() ? "another stream of this context failed while failure mode 1 was on" : error_text_;
}

void Stream::SetError(int32_t code, std::string text) {
  {
    std::lock_guard lock(mutex_);
    int32_t none = 0;
    if (!error_.compare_exchange_strong(none, code, std::memory_order_acq_rel)) return;
    error_text_ = std::move(text);
  }
  if (context_->stop_on_failure.load(std::memory_order_relaxed)) context_->stopped.store(code);
}

void Stream::Abort() {
  {
    std::lock_guard lock(mutex_);
    int32_t none = 0;
    if (error_.compare_exchange_strong(none, kErrorRtStreamAbort)) error_text_ = "the stream was aborted";
  }
  abort_.store(true, std::memory_order_seq_cst);
  const uint64_t target = tail_.load(std::memory_order_acquire);
  if (CurrentThread().in_host_function) return;
  execution_.Acquire();
  Drain(target, true);
  execution_.Release();
  progress_.Notify();
}

// Runs tasks up to `target`. The caller holds the execution lock.
Stream::Step Stream::Drain(uint64_t target, bool own_thread) {
  uint64_t head = head_.load(std::memory_order_relaxed);
  for (; head < target; ++head) {
    Task& task = TaskAt(head);
    if (discarding()) [[unlikely]] {
      Discard(task);
    } else {
      if (own_thread && services_.strict_seed != 0) Shake();
      const Step step = Run(task, own_thread);
      if (step != Step::kDone) return step;
    }
    head_.store(head + 1, std::memory_order_release);
    own_thread ? progress_.Notify() : progress_.NotifyCheap();
  }
  return Step::kDone;
}

void Stream::Discard(Task& task) {
  if (task.kind == Task::Kind::kRecord) CompleteRecord(task);
  task.record.Drop();
}

Stream::Step Stream::Run(Task& task, bool own_thread) {
  switch (task.kind) {
    case Task::Kind::kLaunch: RunLaunch(task); return Step::kDone;
    case Task::Kind::kRecord: CompleteRecord(task); return Step::kDone;
    case Task::Kind::kWait: return RunWait(task);
    case Task::Kind::kCopy:
    case Task::Kind::kFill: RunCopy(task); return Step::kDone;
    case Task::Kind::kHostFunction: break;
  }
  if (!own_thread) return Step::kNeedsThread;
  RunHostFunction(task);
  return Step::kDone;
}

void Stream::RunLaunch(Task& task) {
  Device& device = *context_->device;
  const std::byte* arguments = task.arguments;
  if (task.device_arguments != 0) [[unlikely]] {
    arguments = device.memory().Translate(task.device_arguments, task.argument_bytes);
    if (arguments == nullptr) {
      SetError(kErrorRtAiCoreException, "kernel '" + task.function->name + "': its argument block is not live memory");
      return;
    }
  }
  const LaunchBytes block{{arguments, task.argument_bytes},
                          task.device_arguments == 0 ? task.argument_version : uint64_t{0}};
  if (device.RunAgain(this, *task.function->image, block)) [[likely]]
    return;
  std::string message;
  const int32_t code =
      device.RunKernel(this, *task.function->image, task.function->name, task.blocks, block, abort_, &message);
  if (code != 0) [[unlikely]] {
    SetError(code, message.empty() ? "kernel '" + task.function->name + "' was made to fail" : std::move(message));
  }
}

void Stream::RunCopy(Task& task) {
  std::byte* destination = task.destination.Resolve(task.bytes);
  if (task.kind == Task::Kind::kFill) {
    if (destination != nullptr) {
      std::memset(destination, task.value, task.bytes);
      return;
    }
  } else {
    const std::byte* source = task.source.Resolve(task.bytes);
    if (destination != nullptr && source != nullptr) {
      const Location& device = task.destination.memory != nullptr ? task.destination : task.source;
      Instance::Get().CopyBytes(destination, source, task.bytes, device.address);
      return;
    }
  }
  SetError(kErrorRtSystemDma, "a queued copy or fill touched device memory that was freed before it ran");
}

void Stream::CompleteRecord(Task& task) {
  services_.records->Complete(task.record, DeviceClock::Now(), error());
  task.record.Drop();
}

Stream::Step Stream::RunWait(Task& task) {
  if (!task.record.done()) {
    if (task.wait_limit_ns == 0) return Step::kBlocked;
    const auto now = SteadyClock::now();
    if (task.wait_deadline == kNoDeadline) task.wait_deadline = now + std::chrono::nanoseconds(task.wait_limit_ns);
    if (now < task.wait_deadline) return Step::kBlocked;
    SetError(kErrorRtWaitTimeout, "a stream waited too long for an event");
  }
  task.record.Drop();
  return Step::kDone;
}

void Stream::RunHostFunction(Task& task) {
  ThreadState& thread = CurrentThread();
  thread.in_host_function = true;
  task.host_function(task.host_arguments);
  thread.in_host_function = false;
}

}  // namespace pypto::mock
