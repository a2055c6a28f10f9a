// Work sharing by an atomic counter; parking by a futex (std::atomic::wait).
#include "pypto/device/core_scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <system_error>

#include "pypto/base/process.h"

namespace pypto::device {
namespace {

// Below this, waking another core costs more than it saves.
constexpr double kLeastSharedNs = 20'000;
constexpr int kSpins = 4000;  // about 50 µs
constexpr int64_t kChunksPerCore = 4;

// A gate is open while a job takes workers. Bits: number of the job, open flag, workers inside.
constexpr uint64_t kWorkerMask = 0xffff;
constexpr uint64_t kOpen = uint64_t{1} << 16;
constexpr uint64_t kJob = uint64_t{1} << 17;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct CoreScheduler::Shared {
  // The job; written only while the gate is closed and nobody is inside.
  Function function = nullptr;
  void* context = nullptr;
  int64_t count = 0;
  int64_t chunk = 1;
  int64_t stride = 1;  // item i of the job is item (i * stride + shift) mod count of the leaf; 1 and 0 but when shaken
  int64_t shift = 0;
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint64_t> gate{0};
  alignas(64) std::atomic<uint32_t> wakeups{0};
  std::atomic<uint32_t> parked{0};
  std::atomic<bool> stopping{false};

  void Work(uint32_t core) {
    for (;;) {
      const int64_t first = next.fetch_add(chunk, std::memory_order_relaxed);
      if (first >= count) return;
      const int64_t last = std::min(first + chunk, count);
      if (stride == 1 && shift == 0) {
        function(context, core, first, last);
        continue;
      }
      for (int64_t i = first; i < last; ++i) {
        const auto product = static_cast<__int128>(i) * stride + shift;
        const auto item = static_cast<int64_t>(product % count);
        function(context, core, item, item + 1);
      }
    }
  }

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
        Work(core);
        gate.fetch_sub(1, std::memory_order_release);
        spins = 0;
      } else if (++spins < kSpins) {
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

CoreScheduler::CoreScheduler(uint32_t cores, uint64_t shake_seed)
    : cores_(std::clamp<uint32_t>(cores, 1, 1024)),
      shake_state_(shake_seed),
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

void CoreScheduler::Run(Function function, void* context, int64_t count, double item_ns) {
  if (shake_state_ != 0 && count > 1) return RunShaken(function, context, count);
  const bool alone = cores_ == 1 || count < 2 || static_cast<double>(count) * item_ns < kLeastSharedNs;
  if (alone || base::ProcessGeneration() != generation_) return function(context, 0, 0, count);
  shared_->stride = 1;
  shared_->shift = 0;
  shared_->chunk = std::max<int64_t>(1, count / (int64_t{cores_} * kChunksPerCore));
  RunShared(function, context, count);
}

// A permutation of the items that the seed decides: i → (i * stride + shift) mod count, stride and count coprime.
void CoreScheduler::RunShaken(Function function, void* context, int64_t count) {
  const auto random = [this] {
    shake_state_ = shake_state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int64_t>(shake_state_ >> 33);
  };
  shared_->stride = random() % count;
  while (std::gcd(shared_->stride, count) != 1) shared_->stride = (shared_->stride + 1) % count;
  shared_->shift = random() % count;
  shared_->chunk = 1;
  RunShared(function, context, count);
}

void CoreScheduler::RunShared(Function function, void* context, int64_t count) {
  const bool forked = base::ProcessGeneration() != generation_;
  if (threads_.empty() && cores_ > 1 && !start_failed_ && !forked) Start();
  ++shared_runs_;
  Shared& shared = *shared_;
  shared.function = function;
  shared.context = context;
  shared.count = count;
  shared.next.store(0, std::memory_order_relaxed);
  const uint64_t job = shared.gate.load(std::memory_order_relaxed) / kJob + 1;
  shared.gate.store(job * kJob | kOpen, std::memory_order_seq_cst);
  if (!threads_.empty() && !forked) shared.Wake();
  shared.Work(0);
  // Nobody enters any more; wait for those inside.
  shared.gate.fetch_and(~kOpen, std::memory_order_acq_rel);
  while ((shared.gate.load(std::memory_order_acquire) & kWorkerMask) != 0) Pause();
}

}  // namespace pypto::device
