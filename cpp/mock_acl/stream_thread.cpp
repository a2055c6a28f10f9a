// The stream's own thread: started at the first need, polls for a while, then sleeps.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <system_error>

#include "pypto/base/process.h"
#include "pypto/mock_acl/device.h"
#include "pypto/mock_acl/instance.h"
#include "pypto/mock_acl/stream.h"

namespace pypto::mock {
namespace {

constexpr std::chrono::microseconds kPollInterval{200};
constexpr std::chrono::milliseconds kPollFor{100};

// The process is ending: other threads may already have taken down what a task needs.
void ParkIfExiting() {
  while (base::ProcessExiting()) pause();
}

// Signals are for the program's own threads.
std::thread StartWithoutSignals(auto&& main) {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread thread;
  try {
    thread = std::thread(main);
    pthread_setname_np(thread.native_handle(), "mock-stream");
  } catch (const std::system_error&) {
    // No thread: whoever waits drains the queue.
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return thread;
}

}  // namespace

constinit std::atomic<uint64_t> Stream::threads_{0};

bool Stream::EnsureThread() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable() && !stop_.load(std::memory_order_relaxed)) {
    thread_ = StartWithoutSignals([this] { ThreadMain(); });
  }
  return thread_.joinable();
}

void Stream::KickThread() {
  if (!kicked_.exchange(true, std::memory_order_seq_cst)) wake_.Notify();
  if (EnsureThread()) return;
  // The system gives no thread: the caller does the work.
  execution_.Acquire();
  Drain(tail_.load(std::memory_order_acquire), true);
  execution_.Release();
}

void Stream::StopThread() {
  std::thread thread;
  {
    std::lock_guard lock(mutex_);
    stop_.store(true, std::memory_order_seq_cst);
    thread = std::move(thread_);
  }
  wake_.Notify();
  if (thread.joinable()) thread.join();
}

void Stream::ThreadMain() {
  struct Counted {
    Counted() { threads_.fetch_add(1, std::memory_order_relaxed); }
    ~Counted() { threads_.fetch_sub(1, std::memory_order_relaxed); }
  } counted_here;
  uint64_t seen_tail = 0;
  uint64_t seen_head = 0;
  auto last_push = SteadyClock::now();
  while (!stop_.load(std::memory_order_seq_cst)) {
    ParkIfExiting();
    if (kicked_.exchange(false, std::memory_order_seq_cst)) DrainOnThread();
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    const uint64_t head = head_.load(std::memory_order_acquire);
    const auto now = SteadyClock::now();
    if (tail != seen_tail) {
      last_push = now;
    } else if (head < tail && head == seen_head) {
      DrainOnThread();  // left lying for a whole interval
    }
    seen_tail = tail;
    seen_head = head;
    const auto called = [&] {
      return kicked_.load(std::memory_order_seq_cst) || stop_.load(std::memory_order_seq_cst);
    };
    if (now - last_push > kPollFor && FallAsleep(tail)) {
      context_->device->memory().Purge();
      Instance::Get().host_memory.Purge();
      wake_.SleepUntil(kNoDeadline, [&] { return called() || tail_.load(std::memory_order_acquire) != seen_tail; });
    } else {
      wake_.SleepUntil(now + kPollInterval, called);
    }
  }
}

// False when a task came in meanwhile. Afterwards the next push wakes the thread.
bool Stream::FallAsleep(uint64_t seen_tail) {
  std::lock_guard lock(push_lock_);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail != seen_tail || head_.load(std::memory_order_acquire) != tail) return false;
  asleep_ = true;
  return true;
}

void Stream::DrainOnThread() {
  while (!Idle() && !stop_.load(std::memory_order_relaxed)) {
    ParkIfExiting();
    execution_.Acquire();
    const Step step = Drain(tail_.load(std::memory_order_acquire), true);
    RecordRef awaited;
    Deadline deadline = kNoDeadline;
    if (step == Step::kBlocked) {
      awaited = TaskAt(head_.load(std::memory_order_relaxed)).record;
      deadline = TaskAt(head_.load(std::memory_order_relaxed)).wait_deadline;
    }
    execution_.Release();
    if (!awaited) continue;
    services_.records->completed().WaitUntil(deadline, [&] {
      return awaited.done() || discarding() || stop_.load(std::memory_order_relaxed) || base::ProcessExiting();
    });
  }
}

// Strict mode: lets other streams overtake, differently for each seed.
void Stream::Shake() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  switch (random_ & 7) {
    case 0: std::this_thread::sleep_for(std::chrono::microseconds((random_ >> 8) % 200)); break;
    case 1:
    case 2: std::this_thread::yield(); break;
    default: break;
  }
}

}  // namespace pypto::mock
