// A registered program: the object whose call is the hot path.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pypto/program/image.h"
#include "pypto/runtime/argument_view.h"
#include "pypto/runtime/completion.h"
#include "pypto/runtime/counters.h"
#include "pypto/runtime/interrupt.h"
#include "pypto/runtime/launch_profile.h"
#include "pypto/runtime/launch_report.h"
#include "pypto/runtime/repeat_key.h"

namespace pypto::runtime {

class Worker;
class Launcher;

struct CallOptions {
  Interrupt interrupt;          // makes the wait sliced; give it when the call may be long
  bool may_run_here = false;    // work that is estimated as bounded may be run here without a look at the interrupt
  RoundTimes* times = nullptr;  // filled when not null; then statistics are read back too
};

// A tensor that a call makes for a trailing output that was left out.
struct OutputShape {
  uint32_t parameter = 0;
  program::DType dtype = program::DType::kFp32;
  std::vector<int64_t> dims;
};

// Made by Worker::Register. Holds its worker's object; closed when the worker closes or by Unregister.
// Thread rule: methods enter the worker by themselves, so a holder of the GIL releases it first. Prepare and Run are
// the pair for bindings: between Worker::TryEnter (or Enter) and Leave, Prepare may run with the GIL held, then the
// estimate says whether Run is long enough to release it.
class PYPTO_API Registration : public std::enable_shared_from_this<Registration> {
 public:
  Registration(std::shared_ptr<Worker> worker, std::unique_ptr<Launcher> launcher);
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration();  // hands the program back, deferred to the worker

  Worker& worker() const noexcept { return *worker_; }
  const std::shared_ptr<Worker>& worker_pointer() const noexcept { return worker_; }
  const program::Image& image() const noexcept;
  bool is_open() const noexcept;

  // Dispatches and waits. Every argument is checked before anything is copied; a failed call leaves the next one right.
  base::Status Call(std::span<const ArgumentView> arguments, const CallOptions& options = {});
  // Dispatches without waiting. Host inputs are captured before it returns. With 64 in flight it waits for the oldest.
  base::Result<std::shared_ptr<Completion>> Submit(std::span<const ArgumentView> arguments,
                                                   const Interrupt& interrupt = {});

  // In an entered worker: checks the arguments and builds the launch. Copies nothing to the device.
  base::Status Prepare(std::span<const ArgumentView> arguments);
  // Rough time on the device and in copies of what Prepare accepted; infinite when trip counts depend on
  // scalars or data, or while earlier work is in flight.
  double EstimatedMicroseconds() const noexcept;
  // In an entered worker, after a successful Prepare with nothing in between.
  base::Status Run(const CallOptions& options = {});
  base::Result<std::shared_ptr<Completion>> RunAsync(const Interrupt& interrupt = {});
  // In an entered worker: Prepare and Run, each leaf timed.
  base::Result<LaunchProfile> RunProfiled(std::span<const ArgumentView> arguments, const CallOptions& options = {});

  // In an entered worker: the resident tensors that a call must bring to be the last one again.
  const RepeatKey& repeat_key() const noexcept { return *repeat_key_; }
  // In an entered worker: Prepare and Run in one, for a call that brings the tensors of the key while nothing is in
  // flight. False: nothing was done, and they are to be called.
  bool TryRepeat(base::Status* status);
  // The same for a call with host tensors of the shapes and with the numbers of the last one.
  bool TryRepeat(std::span<const ArgumentView> arguments, base::Status* status);
  // The same for tensors that are like those of the Prepare of that number, resident in the same places and host
  // tensors of the same shapes and dtypes.
  bool TryRepeat(std::span<const RepeatArgument> arguments, uint64_t number, base::Status* status);
  // In an entered worker: the number of the last Prepare; 0 when calls like it are not short.
  uint64_t repeat_number() const noexcept;

  // In an entered worker: Submit for a call that brings the tensors of the key while nothing is in flight. The launch
  // is left to the thread that waits for it; nothing is recorded of it until somebody else enters the worker. Its
  // ticket, or 0: with an ok status nothing was done and Submit is to be called. The caller keeps this object and the
  // tensors until the launch has ended.
  uint64_t TryLeave(base::Status* status);
  // Enters the worker and runs the launch here; true when it has ended well. False: TakeLeft stands for it.
  bool WaitLeft(uint64_t ticket);
  // Enters the worker. The launch as an ordinary one; null when it was taken before.
  base::Result<std::shared_ptr<Completion>> TakeLeft(uint64_t ticket, const Interrupt& interrupt = {});
  // The same in an entered worker.
  std::shared_ptr<Completion> TakeLeftEntered(uint64_t ticket);

  // Shapes of the trailing outputs that `given` leaves out. kTypeMismatch when one of them is not a pure output or its
  // dims do not follow from the others. Needs no entered worker.
  base::Result<std::vector<OutputShape>> InferOutputs(std::span<const ArgumentView> given) const;

  // Idempotent. Waits for work in flight of this handle; unloads the program when it was its last handle.
  base::Status Unregister(const Interrupt& interrupt = {});
  // Reads the statistics block back.
  base::Result<LaunchReport> Report(const Interrupt& interrupt = {});
  // As Call, and times each leaf. kUnsupported for a library that is not the mock, and for device binaries.
  base::Result<LaunchProfile> Profile(std::span<const ArgumentView> arguments, const CallOptions& options = {});

 private:
  friend class Worker;
  std::shared_ptr<Worker> worker_;
  std::unique_ptr<Launcher> launcher_;
  const RepeatKey* repeat_key_;  // the launcher's
};

}  // namespace pypto::runtime
