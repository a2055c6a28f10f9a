// Gates that open for a job; parking by a futex (std::atomic::wait).
#include "pypto/device/core_scheduler.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <system_error>

#include "pypto/base/process.h"
#include "pypto/device/pause.h"

namespace pypto::device {
namespace {

constexpr int kSpins = 4000;          // about 50 µs
constexpr int kExpectSpins = 80'000;  // about 1 ms

// A gate is open while a job takes workers. Bits: number of the job, open flag, workers inside.
constexpr uint64_t kWorkerMask = 0xffff;
constexpr uint64_t kOpen = uint64_t{1} << 16;
constexpr uint64_t kJob = uint64_t{1} << 17;

bool TiedToOneProcessor() noexcept {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) == 1;
}

}  // namespace

struct CoreScheduler::Shared {
  // The job; written only while the gate is closed and nobody is inside.
  Function function = nullptr;
  void* context = nullptr;
  alignas(64) std::atomic<uint64_t> gate{0};
  alignas(64) std::atomic<uint32_t> wakeups{0};
  std::atomic<uint32_t> parked{0};
  std::atomic<bool> stopping{false};
  std::atomic<bool> expected{false};

  // True when the worker is inside the job; the gate closes behind the last one.
  bool Enter(uint64_t seen) { return gate.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel); }

  void Loop(uint32_t core) {
    uint64_t done = 0;  // the job worked on last
    int spins = 0;
    while (!stopping.load(std::memory_order_acquire)) {
      const uint64_t seen = gate.load(std::memory_order_acquire);
      if ((seen & kOpen) != 0 && seen / kJob != done) {
        if (!Enter(seen)) continue;
        done = seen / kJob;
        function(context, core);
        gate.fetch_sub(1, std::memory_order_release);
        spins = 0;
      } else if (++spins < (expected.load(std::memory_order_relaxed) ? kExpectSpins : kSpins)) {
        Pause();
      } else {
        Park(done);
        spins = 0;
      }
    }
  }

  void Park(uint64_t done) {
    const uint32_t before = wakeups.load(std::memory_order_seq_cst);
    parked.fetch_add(1, std::memory_order_seq_cst);
    const uint64_t seen = gate.load(std::memory_order_seq_cst);
    const bool work = (seen & kOpen) != 0 && seen / kJob != done;
    if (!work && !stopping.load(std::memory_order_seq_cst)) wakeups.wait(before, std::memory_order_acquire);
    parked.fetch_sub(1, std::memory_order_seq_cst);
  }

  void Wake() {
    if (parked.load(std::memory_order_seq_cst) == 0) return;
    wakeups.fetch_add(1, std::memory_order_seq_cst);
    wakeups.notify_all();
  }
};

CoreScheduler::CoreScheduler(uint32_t cores)
    : cores_(std::clamp<uint32_t>(cores, 1, 1024)),
      generation_(base::ProcessGeneration()),
      shared_(std::make_shared<Shared>()) {}

CoreScheduler::~CoreScheduler() {
  // When the process ends or was forked the threads are gone, or go without help.
  const bool leave = base::ProcessExiting() || base::ProcessGeneration() != generation_;
  shared_->stopping.store(true, std::memory_order_seq_cst);
  if (!leave) {
    shared_->wakeups.fetch_add(1, std::memory_order_seq_cst);
    shared_->wakeups.notify_all();
  }
  for (std::thread& thread : threads_) leave ? thread.detach() : thread.join();
}

void CoreScheduler::Start() {
  tied_ = TiedToOneProcessor();
  // Signals belong to the threads of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    threads_.reserve(cores_ - 1);
    for (uint32_t core = 1; core < cores_; ++core) {
      threads_.emplace_back([shared = shared_, core] { shared->Loop(core); });
      pthread_setname_np(threads_.back().native_handle(), ("pypto-core-" + std::to_string(core)).c_str());
    }
  } catch (const std::system_error&) {
    start_failed_ = true;  // the threads there are do the work
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool CoreScheduler::HasOtherProcessors() {
  if (cores_ == 1 || start_failed_ || base::ProcessGeneration() != generation_) return false;
  if (!threads_.empty()) return !tied_;
  if (TiedToOneProcessor()) return false;
  Start();
  return !threads_.empty();
}

void CoreScheduler::Expect() noexcept {
  if (threads_.empty() || base::ProcessGeneration() != generation_) return;
  shared_->expected.store(true, std::memory_order_relaxed);
  shared_->Wake();
}

void CoreScheduler::Unexpect() noexcept { shared_->expected.store(false, std::memory_order_relaxed); }

void CoreScheduler::Run(Function function, void* context) {
  runs_.store(runs() + 1, std::memory_order_relaxed);
  const bool forked = base::ProcessGeneration() != generation_;
  if (cores_ == 1 || forked) return function(context, 0);
  if (threads_.empty() && !start_failed_) Start();
  Shared& shared = *shared_;
  shared.function = function;
  shared.context = context;
  const uint64_t job = shared.gate.load(std::memory_order_relaxed) / kJob + 1;
  shared.gate.store(job * kJob | kOpen, std::memory_order_seq_cst);
  shared.Wake();
  function(context, 0);
  // Nobody enters any more; wait for those inside. One that takes long may have lost its processor, perhaps to this
  // thread.
  shared.gate.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int spins = 0; (shared.gate.load(std::memory_order_acquire) & kWorkerMask) != 0; ++spins) {
    spins % kSpins != kSpins - 1 ? Pause() : std::this_thread::yield();
  }
}

}  // namespace pypto::device
