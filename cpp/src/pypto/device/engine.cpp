// The engine: prepares a launch, walks its control flow, writes its statistics.
#include "pypto/device/engine.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "pypto/base/clock.h"
#include "pypto/device/control_flow.h"
#include "pypto/device/core_scheduler.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/leaf_profiler.h"
#include "pypto/device/recording.h"
#include "pypto/device/scratch.h"
#include "pypto/device/simd/select.h"
#include "pypto/device/stitcher.h"
#include "pypto/device/task_recorder.h"
#include "pypto/device/task_runner.h"

namespace pypto::device {
namespace {

using program::FaultKind;
using program::LaunchStatistics;

constexpr int32_t kKernelFault = 507015;
constexpr int32_t kStreamAborted = 107023;

// While it lives, cores stay awake.
class Expectation {
 public:
  Expectation(CoreScheduler* scheduler, bool expects) : scheduler_(expects ? scheduler : nullptr) {
    if (scheduler_ != nullptr) scheduler_->Expect();
  }
  ~Expectation() {
    if (scheduler_ != nullptr) scheduler_->Unexpect();
  }
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;

 private:
  CoreScheduler* const scheduler_;
};

class CoreEngine final : public Engine {
 public:
  CoreEngine(const EngineOptions& options, const simd::KernelTable& kernels)
      : kernels_(kernels),
        scheduler_(options.cores),
        scratch_(scheduler_.cores()),
        runner_(kernels, &scheduler_, &scratch_, options.shake_seed) {}

  LaunchOutcome Run(const Executable& executable, std::span<const std::byte> block, const AddressMap& memory,
                    const std::atomic<bool>* abort) override {
    const MemoryState state = memory.state();
    if (!IsSet(abort) && RunAgain(executable, block, state)) return {};
    const uint64_t begin = base::Ticks();
    // Executables are made by Executable::Load only.
    const auto& program = static_cast<const LoadedExecutable&>(executable);
    Fault fault;
    Figures figures;
    Recording* recording = nullptr;  // that was replayed
    if (launch_.Open(program, block, memory, &fault)) [[likely]] {
      recording = recordings_.Find(program, launch_);
      if (recording == nullptr || !Replay(program, &recording, memory, abort, &figures, &fault)) {
        recording = nullptr;
        Walk(program, memory, abort, &figures, &fault);
      }
    }
    if (fault.kind == FaultKind::kAborted && runner_.fault().raised()) fault = runner_.fault().fault();
    if (LaunchStatistics* statistics = launch_.statistics(); statistics != nullptr) {
      WriteStatistics(begin, figures, {fault.kind, fault.place, fault.value}, launch_.header().serial, statistics);
      if (launch_.task_block() != nullptr) [[unlikely]] {
        std::memcpy(launch_.task_block(), statistics, sizeof(*statistics));
        if (!launch_.profile().empty() && !fault.any()) profiler_.End();
      }
    }
    if (fault.any()) [[unlikely]]
      return Describe(program, fault);
    if (recording != nullptr && state.epoch != 0 && recording->cells.empty()) {
      recording->bound.Update(block, state, launch_, recording->tasks, kernels_, scratch_.At(0));
    }
    return {};
  }

  bool RunAgain(const Executable& executable, std::span<const std::byte> block, MemoryState state) noexcept override {
    const uint64_t begin = base::Ticks();
    Recording* last = recordings_.LastOf(static_cast<const LoadedExecutable&>(executable));
    if (last == nullptr || !last->bound.Fits(block, state, scratch_.At(0))) return false;
    last->bound.Run();
    Count(&replayed_);
    last->bound.WriteStatistics(begin, SerialOf(block));
    return true;
  }

  bool Share(void (*function)(void* context, uint32_t core), void* context) override {
    if (!scheduler_.HasOtherProcessors()) return false;
    scheduler_.Run(function, context);
    Count(&other_runs_);
    return true;
  }

  EngineCounters counters() const noexcept override {
    const uint64_t others = other_runs_.load(std::memory_order_relaxed);
    return {walked_.load(std::memory_order_relaxed), replayed_.load(std::memory_order_relaxed),
            std::max(scheduler_.runs(), others) - others};
  }

 private:
  struct Figures {
    LaunchCounts counts;
    uint32_t copies = 0;  // of the workspace; 0 when nothing ran
    const PoolBytes* peaks = nullptr;
  };

  bool Prepare(const LoadedExecutable& program, const LaunchShape& shape, const AddressMap& memory,
               const std::atomic<bool>* abort, Fault* fault) {
    if (!launch_.Bind(program, shape, memory, fault)) return false;
    if (!scratch_.Reserve(program.scratch_bytes())) {
      return fault->Set(FaultKind::kWorkspace, 0, program.scratch_bytes(),
                        "there is no memory for the cores' local buffers");
    }
    LeafProfiler* profiler = nullptr;
    if (!launch_.profile().empty()) [[unlikely]] {
      profiler_.Begin(program, scheduler_.cores(), launch_.profile());
      profiler = &profiler_;
    }
    runner_.Begin(abort, &launch_, profiler);
    recorder_.Begin(launch_.task_block(), shape.budget.parallelism);
    return true;
  }

  // Only the launching thread counts.
  static void Count(std::atomic<uint64_t>* counter) noexcept {
    counter->store(counter->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  static bool IsSet(const std::atomic<bool>* flag) noexcept {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }

  static uint32_t SerialOf(std::span<const std::byte> block) noexcept {
    uint32_t serial = 0;
    std::memcpy(&serial, block.data() + offsetof(program::LaunchHeader, serial), sizeof(serial));
    return serial;
  }

  // Runs what was stitched for a launch of the same shape: `recording`, or another one when the cells that control flow
  // reads have changed. False, with nothing done, when this one must be walked.
  bool Replay(const LoadedExecutable& program, Recording** recording, const AddressMap& memory,
              const std::atomic<bool>* abort, Figures* figures, Fault* fault) {
    if (!Prepare(program, (*recording)->shape, memory, abort, fault)) return true;
    const bool by_place = (*recording)->shares || !(*recording)->cells.empty();
    if (by_place && launch_.ParametersOverlap(program, (*recording)->shape)) return false;
    if (!(*recording)->CellsHold(launch_.slots())) *recording = recordings_.FindHolding(program, launch_);
    if (*recording == nullptr) return false;
    Count(&replayed_);
    const Expectation expectation(&scheduler_, (*recording)->shares);
    figures->copies = (*recording)->shape.budget.parallelism;
    figures->peaks = (*recording)->peaks.data();
    for (const auto& task : (*recording)->tasks) {
      MoveBlocks(task->moves, launch_.workspace());
      recorder_.Close(figures->counts.device_tasks, task->figures);
      figures->counts = task->counts;
      if (runner_.Run(*task)) continue;
      fault->Set(FaultKind::kAborted, 0, 0, "the launch was aborted");
      break;
    }
    return true;
  }

  void Walk(const LoadedExecutable& program, const AddressMap& memory, const std::atomic<bool>* abort, Figures* figures,
            Fault* fault) {
    if (!launch_.Evaluate(program, fault) || !Prepare(program, launch_.shape(), memory, abort, fault)) return;
    Count(&walked_);
    uint64_t& sharer = sharers_[program.serial() % sharers_.size()];
    const Expectation expectation(&scheduler_, sharer == program.serial());
    const uint64_t runs = scheduler_.runs();
    stitcher_.Begin(program, &launch_, &runner_, fault);
    const bool ended = ControlFlow(&launch_, &stitcher_, abort, fault).Run(program.control());
    figures->counts = stitcher_.counts();
    figures->copies = launch_.budget().parallelism;
    for (uint32_t copy = 0; copy < figures->copies; ++copy) walked_peaks_[copy] = stitcher_.peaks(copy);
    figures->peaks = walked_peaks_.data();
    if (ended) stitcher_.Keep();
    if (scheduler_.runs() != runs) {
      sharer = program.serial();
    } else if (sharer == program.serial()) {
      sharer = 0;
    }
  }

  // A fault without its text.
  struct FaultMark {
    FaultKind kind = FaultKind::kNone;
    uint32_t place = 0;
    int64_t value = 0;
  };

  // In place: rows of copies that the launch does not have stay zero.
  void WriteStatistics(uint64_t begin, const Figures& figures, const FaultMark& fault, uint32_t serial,
                       LaunchStatistics* to) const {
    to->launches += 1;
    to->serial = serial;
    to->begin_ticks = begin;
    to->ticks_per_second = ticks_per_second_;
    to->fault = static_cast<uint32_t>(fault.kind);
    to->fault_place = fault.place;
    to->fault_value = fault.value;
    to->root_instances = figures.counts.root_instances;
    to->device_tasks = figures.counts.device_tasks;
    to->leaf_tiles = figures.counts.leaf_tiles;
    to->alloc_failures = figures.counts.alloc_failures;
    to->peak_bytes = {};
    if (figures.copies == 0) to->copy_peak_bytes = {};
    for (uint32_t copy = 0; copy < figures.copies; ++copy) {
      to->copy_peak_bytes[copy] = figures.peaks[copy];
      for (size_t pool = 0; pool < to->peak_bytes.size(); ++pool) {
        to->peak_bytes[pool] = std::max(to->peak_bytes[pool], figures.peaks[copy][pool]);
      }
    }
    for (size_t pool = 0; pool < to->peak_bytes.size(); ++pool) {
      to->largest_peak_bytes[pool] = std::max(to->largest_peak_bytes[pool], to->peak_bytes[pool]);
    }
    to->end_ticks = base::Ticks();
  }

  static LaunchOutcome Describe(const LoadedExecutable& program, const Fault& fault) {
    LaunchOutcome outcome;
    outcome.acl_code = fault.kind == FaultKind::kAborted ? kStreamAborted : kKernelFault;
    outcome.message = "kernel '" + std::string(program.entry()) + "': " + fault.text;
    const program::DebugInfo& debug = program.debug();
    if (fault.place == 0 || fault.place >= debug.places.size()) return outcome;
    const program::SourcePlace& place = debug.places[fault.place];
    outcome.message += " (";
    if (place.file < debug.files.size()) outcome.message += debug.files[place.file].name + ", ";
    outcome.message += "line " + std::to_string(place.line) + " of its def)";
    return outcome;
  }

  const double ticks_per_second_ = base::TicksPerSecond();  // measured here, not inside a launch
  const simd::KernelTable& kernels_;
  CoreScheduler scheduler_;
  ScratchArenas scratch_;
  TaskRunner runner_;
  LaunchState launch_;
  LeafProfiler profiler_;
  RecordingStore recordings_;
  TaskRecorder recorder_;
  Stitcher stitcher_{&recordings_, &recorder_};
  std::array<PoolBytes, program::kMostCopies> walked_peaks_{};
  std::array<uint64_t, 64> sharers_{};  // executables whose last walk had work for several cores, by serial number
  std::atomic<uint64_t> walked_{0};
  std::atomic<uint64_t> replayed_{0};
  std::atomic<uint64_t> other_runs_{0};  // of the scheduler, for work that is no launch
};

// An engine without kernels: every launch says why.
class RefusingEngine final : public Engine {
 public:
  LaunchOutcome Run(const Executable&, std::span<const std::byte>, const AddressMap&,
                    const std::atomic<bool>*) override {
    return {kKernelFault, simd::ActiveKernels().error};
  }
  bool RunAgain(const Executable&, std::span<const std::byte>, MemoryState) noexcept override { return false; }
  bool Share(void (*)(void*, uint32_t), void*) override { return false; }
  EngineCounters counters() const noexcept override { return {}; }
};

}  // namespace

std::unique_ptr<Engine> Engine::Make(const EngineOptions& options) {
  const simd::KernelTable* kernels = simd::ActiveKernels().table;
  if (kernels == nullptr) return std::make_unique<RefusingEngine>();
  return std::make_unique<CoreEngine>(options, *kernels);
}

}  // namespace pypto::device
