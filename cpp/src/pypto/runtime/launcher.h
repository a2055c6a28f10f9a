// One handle's way from arguments to a launch.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pypto/program/launch_block.h"
#include "pypto/runtime/device_program.h"
#include "pypto/runtime/launch_profile.h"
#include "pypto/runtime/launch_records.h"
#include "pypto/runtime/packed_arguments.h"
#include "pypto/runtime/pending_launch.h"
#include "pypto/runtime/registration.h"
#include "pypto/runtime/repeat_key.h"
#include "pypto/runtime/statistics_blocks.h"
#include "pypto/runtime/task_blocks.h"
#include "pypto/runtime/worker_state.h"
#include "pypto/workspace/budget.h"

namespace pypto::runtime {

// Keeps the launch block, the figures resolved for the last sizes and a staging set, so that a call with the sizes of
// the last one allocates nothing. Owned by a Registration, or by the worker's queue of dropped handles.
// Thread rule: inside the worker's gate, except is_open(), image() and signature().
class Launcher {
 public:
  // Takes over one handle of the program.
  // `image`: one of the program's fingerprint; its source places are those of this handle.
  Launcher(WorkerState* state, DeviceProgram* program, std::shared_ptr<const program::Image> image);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
  const program::Image& image() const noexcept { return *image_; }
  const Signature& signature() const noexcept { return signature_; }
  // Open handles of its program; 0 when it is closed itself.
  size_t handles_of_program() const noexcept { return program_ != nullptr ? program_->handles : 0; }
  // Idempotent: waits for its work in flight, gives memory and program back. Not waited to the end: still open.
  base::Status Close(const Interrupt& interrupt = {});
  // Closed without asking the library for anything: the process was forked.
  void Forget() noexcept {
    ForgetLast();
    open_.store(false, std::memory_order_release);
  }

  base::Status Prepare(std::span<const ArgumentView> arguments);
  // Infinite while earlier work is in flight: this launch waits for it.
  double EstimatedMicroseconds() const noexcept {
    if (state_->stream_busy()) [[unlikely]]
      return std::numeric_limits<double>::infinity();
    return estimated_us_ + static_cast<double>(copied_bytes_) * kMicrosecondsPerByte;
  }
  base::Status Run(const CallOptions& options);
  // Prepares and runs one launch that is timed leaf by leaf. kUnsupported unless the library is the mock.
  base::Result<LaunchProfile> Profile(std::span<const ArgumentView> arguments, const CallOptions& options);
  // The resident tensors that a call must bring for the next one and for TryLeave.
  const RepeatKey& repeat_key() const noexcept { return key_; }
  // The call that brings the tensors of the key, from its checks to its end, when nothing is in flight. False: nothing
  // was done; Prepare and Run are to be called.
  bool TryRepeat(base::Status* status);
  // The same for a call with host tensors of the shapes and with the numbers of the last one.
  bool TryRepeat(std::span<const ArgumentView> arguments, base::Status* status);
  // The same for tensors known to be like those of the Prepare of that number.
  bool TryRepeat(std::span<const RepeatArgument> arguments, uint64_t number, base::Status* status);
  // 0 when calls like the last Prepare are not short.
  uint64_t repeat_number() const noexcept { return short_call_ ? prepared_number_ : 0; }
  // Launches it and leaves it in the queue, without a record of it, to the thread that waits for it. Over the mock
  // only.
  bool TryLeave(base::Status* status);
  // Runs what was left. False: it has not ended, or not well; MakeOrdinary and ask its record.
  bool WaitLeft();
  // Makes what was left an ordinary submitted launch, before anything else happens in the worker.
  std::shared_ptr<PendingLaunch> MakeOrdinary();
  base::Result<std::shared_ptr<PendingLaunch>> RunAsync(const Interrupt& interrupt);
  // Queues the fetch and the event of a launch that was left without them. On failure it has ended.
  base::Status Seal(const std::shared_ptr<PendingLaunch>& pending, const Interrupt& interrupt);
  base::Result<LaunchReport> Report(const Interrupt& interrupt);
  // A launch that recorded its tasks has ended: its records, at level INFO. Never fails a launch. Context current.
  void WriteRecords(uint64_t task_block, const workspace::Budget& budget);
  TaskBlocks& task_blocks() noexcept { return task_blocks_; }
  // Some of what was queued may never run.
  void LoseCount() noexcept { statistics_.LoseCount(); }
  // Of the last launch, as the device wrote them.
  base::Result<program::LaunchStatistics> ReadStatistics() { return statistics_.ReadLast(); }

 private:
  // Copies of host data run at about 10 GB/s.
  static constexpr double kMicrosecondsPerByte = 1e-4;
  // A submitted launch of less work is best run by the thread that waits for it.
  static constexpr double kWaiterMicroseconds = 50;
  // Waiting for less work needs no interrupt.
  static constexpr double kShortMicroseconds = 50;
  // Work below this is run by the thread that waits for it, without a look at the interrupt: should the estimate be
  // wrong by a factor of ten, an interrupt is still seen within 100 ms.
  static constexpr double kInlineMicroseconds = 10'000;

  enum class Place : uint8_t { kScalar, kResident, kInline, kStaged };
  struct Prepared {
    Place place = Place::kScalar;
    void* host = nullptr;
    uint64_t address = 0;  // on the device
    uint64_t bytes = 0;
    ResidentTensor* tensor = nullptr;
    uint64_t serial = 0;                           // of the tensor
    program::DType dtype = program::DType::kFp32;  // of a host tensor
  };

  base::Status CheckOpen() const;
  // The block of the last Prepare serves these arguments as it is: the same resident tensors, alive, and nothing that
  // the block depends on has changed.
  bool IsRepeat(std::span<const ArgumentView> arguments) const noexcept;
  // What the block depends on besides the tensors is as it was.
  bool BlockStands() const noexcept;
  bool MayRepeat() const noexcept;
  // No call is the last one again.
  void ForgetLast() noexcept {
    may_repeat_ = short_call_ = false;
    key_.count = RepeatKey::kNone;
    key_.number = 0;
  }
  // Notes in which ways the next call may be the one that was prepared.
  void NoteLast() noexcept;
  // All besides the arguments is as a short call needs it.
  bool StandsForShortCall() const noexcept;
  // One argument differs from that of the last call at most in where its host memory is, which is noted.
  bool TakeAgain(size_t index, const ParameterRule& rule, const ArgumentView& argument) noexcept;
  bool TakeResidentAgain(const Prepared& prepared, const ResidentTensor* tensor) const noexcept;
  bool TakeHostAgain(size_t index, void* data) noexcept;
  // From the copies to the host data's return, with all arguments taken. False: nothing was done.
  bool RunAgain(base::Status* status);
  void CopyOutAgain(base::Status* status);
  bool HostIsAsBefore(const Prepared& prepared, const ParameterRule& rule, const ArgumentView& argument) const noexcept;
  // As far as is known: for calls that the library refuses when it is not so.
  bool ContextMayBeCurrent() const noexcept;
  // Puts the block as it stands into the queue. False: nothing was done, another context is current. `status` of these
  // is ok and stays so when they succeed.
  bool LaunchAgain(base::Status* status);
  // Another context is current than was known.
  [[gnu::cold]] void ForgetContext() noexcept;
  [[gnu::cold]] bool LaunchRefused(acl::aclError code, base::Status* status);
  void WaitAgain(base::Status* status);
  bool IsShort() const noexcept;
  bool WritesOneHostTensor() const noexcept;
  // Checks and notes one argument. False: it does not fit.
  bool ReadArgument(size_t index, const ParameterRule& rule, const ArgumentView& argument) noexcept;
  bool ReadHost(size_t index, const ParameterRule& rule, const ArgumentView& argument) noexcept;
  [[gnu::cold]] base::Status Explain(size_t index, const ArgumentView& argument) const;
  base::Status CheckOverlaps() const;
  base::Status CheckOverlapsOf(size_t index) const;
  bool SizesChanged() const noexcept;
  base::Status ResolveSizes();
  base::Result<workspace::Requirement> EvaluateRequirement();
  base::Status SelectStatistics();
  void EstimateWork() noexcept;
  base::Status PlaceArguments();
  // Room for the block: header, slots and symbols alone, or with as much inline data as there can be.
  void ReserveBlock(size_t room);
  base::Status StageArgument(size_t index, Prepared* prepared);
  void FillHeader();
  [[gnu::cold]] void SwitchRecords(bool on);
  base::Status CheckProfiles() const;
  base::Result<LaunchProfile> FetchProfile(uint64_t block);

  void NoteCopies();
  base::Status CopyIn();
  base::Status CopyOut();
  base::Status Launch();
  base::Status LaunchWithKernelArgs();
  // For code that writes no statistics: nanoseconds between two events around the launch.
  base::Result<int64_t> RunBetweenEvents(const CallOptions& options);
  // What the library is handed: the launch block, or the packed arguments.
  std::span<std::byte> launch_bytes() noexcept {
    return packed_ ? packed_->bytes() : std::span<std::byte>(block_, header().bytes);
  }
  uint32_t blocks() const noexcept { return packed_ ? packed_->blocks() : 1; }
  base::Status WaitForEnd(const CallOptions& options, bool run_inline);
  // Of a call: whether the mock is to run what was prepared on the calling thread.
  bool RunsInline(const CallOptions& options) const noexcept;
  base::Status RunTimed(const CallOptions& options);
  void WriteSpans(const RoundTimes& times, int64_t begin, int64_t launched, int64_t ended) const;
  base::Status Unfinished(WaitEnd end, base::Status cause);
  std::shared_ptr<PendingLaunch> MakePending(acl::Event event);
  // Host memory for what a submitted launch brings back; none when the library has no page-locked memory.
  base::Status ReserveFetch();
  // Queues the copies to the host behind the launch.
  base::Status QueueFetch(PendingLaunch* pending);

  program::LaunchHeader& header() noexcept { return *reinterpret_cast<program::LaunchHeader*>(block_); }
  uint64_t* slots() noexcept { return reinterpret_cast<uint64_t*>(block_ + sizeof(program::LaunchHeader)); }

  WorkerState* state_;
  const acl::Table& table_;  // the worker's, while this is open
  std::shared_ptr<const program::Image> image_;
  DeviceProgram* program_;
  const std::shared_ptr<const Signature> shared_signature_;
  const Signature& signature_;
  std::atomic<bool> open_{true};
  bool prepared_ok_ = false;
  uint64_t prepared_number_ = 0;  // changes when arguments are prepared that may differ from the last ones
  bool may_repeat_ = false;       // the block holds what the last Prepare put there, for resident tensors only
  bool short_call_ = false;  // the block serves a short call with the same shapes and numbers once host data is put in
  RepeatKey key_;            // of a short call of resident tensors; all three only while this is open
  acl_abi::aclrtFuncHandle function_ = nullptr;
  std::vector<Prepared> prepared_;
  std::vector<int64_t> symbols_;
  std::vector<int64_t> scalars_;  // integer ones; 0 for the others
  bool resolved_ = false;
  std::vector<int64_t> resolved_symbols_;
  std::vector<int64_t> resolved_scalars_;
  std::vector<int64_t> expr_values_;
  workspace::Budget budget_;
  double estimated_us_ = 0;
  int64_t longest_ns_ = 0;  // that a call with these sizes has waited
  uint64_t copied_bytes_ = 0;
  uint64_t inline_bytes_ = 0;
  std::vector<uint32_t> staged_in_;  // parameters to copy
  std::vector<uint32_t> staged_out_;
  // Monotonic nanoseconds inside the last Prepare, while timing marks are on.
  struct PrepareMarks {
    int64_t begin = 0;
    int64_t checked = 0;
    int64_t placed = 0;
  };
  PrepareMarks marks_;
  std::unique_ptr<std::byte[]> storage_;
  std::byte* block_ = nullptr;  // in storage_, aligned for inline data
  size_t block_room_ = 0;
  uint32_t inline_begin_ = 0;
  std::unique_ptr<PackedArguments> packed_;  // of a device binary built elsewhere
  StagingSet* set_ = nullptr;                // kept between calls; given away by a submitted launch
  StatisticsBlocks statistics_;
  TaskBlocks task_blocks_;
  uint64_t task_block_ = 0;     // kept between calls; given away by a submitted launch
  TaskBlocks profile_blocks_;   // task blocks with a profile behind; none is kept after it
  uint64_t profile_block_ = 0;  // of the launch at hand
  LaunchRecords records_;       // of the last launch that recorded its tasks and was waited for
  bool ignored_said_ = false;   // which options the depths per pool overrule
};

}  // namespace pypto::runtime
