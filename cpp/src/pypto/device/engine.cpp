// The engine: prepares a launch, walks its control flow, writes its statistics.
#include "pypto/device/engine.h"

#include <algorithm>
#include <cstring>

#include "pypto/base/clock.h"
#include "pypto/device/control_flow.h"
#include "pypto/device/core_scheduler.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/scratch.h"
#include "pypto/device/simd/select.h"
#include "pypto/device/stitcher.h"
#include "pypto/device/task_runner.h"

namespace pypto::device {
namespace {

using program::FaultKind;
using program::LaunchStatistics;

constexpr int32_t kKernelFault = 507015;
constexpr int32_t kStreamAborted = 107023;

class CoreEngine final : public Engine {
 public:
  CoreEngine(const EngineOptions& options, const simd::KernelTable& kernels)
      : scheduler_(options.cores, options.shake_seed),
        scratch_(scheduler_.cores()),
        runner_(kernels, &scheduler_, &scratch_) {}

  LaunchOutcome Run(const Executable& executable, std::span<const std::byte> block, const AddressMap& memory,
                    const std::atomic<bool>* abort) override {
    const uint64_t begin = base::Ticks();
    // Executables are made by Executable::Load only.
    const auto& program = static_cast<const LoadedExecutable&>(executable);
    Fault fault;
    const bool ready = launch_.Prepare(program, block, memory, &fault);
    bool ran = false;
    if (ready && !scratch_.Reserve(program.scratch_bytes())) {
      fault.Set(FaultKind::kWorkspace, 0, program.scratch_bytes(), "there is no memory for the cores' local buffers");
    } else if (ready) {
      runner_.Begin(abort);
      stitcher_.Begin(program, &launch_, &runner_, &fault);
      ControlFlow(&launch_, &stitcher_, abort, &fault).Run(program.control());
      ran = true;
    }
    if (launch_.statistics() != nullptr) WriteStatistics(begin, ran, fault, launch_.statistics());
    if (!fault.any()) [[likely]]
      return {};
    return Describe(program, fault);
  }

 private:
  // In place: rows of copies that the launch does not have stay zero.
  void WriteStatistics(uint64_t begin, bool ran, const Fault& fault, LaunchStatistics* to) const {
    to->launches += 1;
    to->serial = launch_.header().serial;
    to->begin_ticks = begin;
    to->ticks_per_second = ticks_per_second_;
    to->fault = static_cast<uint32_t>(fault.kind);
    to->fault_place = fault.place;
    to->fault_value = fault.value;
    const LaunchCounts counts = ran ? stitcher_.counts() : LaunchCounts{};
    to->root_instances = counts.root_instances;
    to->device_tasks = counts.device_tasks;
    to->leaf_tiles = counts.leaf_tiles;
    to->alloc_failures = counts.alloc_failures;
    to->peak_bytes = {};
    if (!ran) to->copy_peak_bytes = {};
    const uint32_t copies = ran ? launch_.budget().parallelism : 0;
    for (uint32_t copy = 0; copy < copies; ++copy) {
      to->copy_peak_bytes[copy] = stitcher_.peaks(copy);
      for (size_t pool = 0; pool < to->peak_bytes.size(); ++pool) {
        to->peak_bytes[pool] = std::max(to->peak_bytes[pool], to->copy_peak_bytes[copy][pool]);
      }
    }
    for (size_t pool = 0; pool < to->peak_bytes.size(); ++pool) {
      to->largest_peak_bytes[pool] = std::max(to->largest_peak_bytes[pool], to->peak_bytes[pool]);
    }
    to->end_ticks = base::Ticks();
    if (launch_.task_block() != nullptr) std::memcpy(launch_.task_block(), to, sizeof(*to));
  }

  static LaunchOutcome Describe(const LoadedExecutable& program, const Fault& fault) {
    LaunchOutcome outcome;
    outcome.acl_code = fault.kind == FaultKind::kAborted ? kStreamAborted : kKernelFault;
    outcome.message = "kernel '" + std::string(program.entry()) + "': " + fault.text;
    const program::DebugInfo& debug = program.debug();
    if (fault.place == 0 || fault.place >= debug.places.size()) return outcome;
    const program::SourcePlace& place = debug.places[fault.place];
    outcome.message += " (";
    if (place.file < debug.files.size()) outcome.message += debug.files[place.file] + ", ";
    outcome.message += "line " + std::to_string(place.line) + ")";
    return outcome;
  }

  const double ticks_per_second_ = base::TicksPerSecond();  // measured here, not inside a launch
  CoreScheduler scheduler_;
  ScratchArenas scratch_;
  TaskRunner runner_;
  LaunchState launch_;
  Stitcher stitcher_;
};

// An engine without kernels: every launch says why.
class RefusingEngine final : public Engine {
 public:
  LaunchOutcome Run(const Executable&, std::span<const std::byte>, const AddressMap&,
                    const std::atomic<bool>*) override {
    return {kKernelFault, simd::ActiveKernels().error};
  }
};

}  // namespace

std::unique_ptr<Engine> Engine::Make(const EngineOptions& options) {
  const simd::KernelTable* kernels = simd::ActiveKernels().table;
  if (kernels == nullptr) return std::make_unique<RefusingEngine>();
  return std::make_unique<CoreEngine>(options, *kernels);
}

}  // namespace pypto::device
