// The device worker: one device, one stream, its memory and its programs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pypto/base/status.h"
#include "pypto/program/image.h"
#include "pypto/runtime/argument_view.h"
#include "pypto/runtime/counters.h"
#include "pypto/runtime/interrupt.h"
#include "pypto/runtime/registration.h"
#include "pypto/runtime/resident_tensor.h"
#include "pypto/runtime/run_config.h"
#include "pypto/runtime/worker_gate.h"

namespace pypto::acl {
class Session;
}

namespace pypto::runtime {

class Launcher;
class WorkerState;
struct PendingLaunch;

// Contiguous host memory with a shape.
struct HostTensorView {
  void* data = nullptr;
  std::span<const int64_t> shape;
  program::DType dtype = program::DType::kFp32;
};

// One in-order queue: what is called takes effect in call order. A synchronous copy first waits for the stream.
// Held by std::shared_ptr: registrations hold the object, open or closed.
// Thread rule: any thread; methods serialise themselves through the gate (so a holder of the GIL releases it first),
// except those marked "entered", which the caller brackets with TryEnter or Enter and Leave.
// `interrupt` ends waiting for the device, and waiting for a worker that another thread occupies, with
// kFailedPrecondition.
// After fork, methods of a worker of the parent return kFailedPrecondition and touch nothing.
class PYPTO_API Worker : public std::enable_shared_from_this<Worker> {
 public:
  // Opens the device at once. kInvalidArgument for a bad config, kDeviceUnavailable when library or device is missing.
  static base::Result<std::shared_ptr<Worker>> Open(RunConfig config);
  // The same on a library that is open already, whatever the platform says about libraries.
  static base::Result<std::shared_ptr<Worker>> OpenOn(RunConfig config, acl::Session library);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();  // closes, unless the process is ending

  // Opens again after Close; no-op when open. Tensors and handles of earlier openings stay dead.
  base::Status Init(const Interrupt& interrupt = {});
  // Idempotent. Waits for work in flight, frees what is held (one WARNING record when tensors or raw buffers were),
  // unloads programs, marks handles closed. Returns the first error; the worker is closed in any case.
  base::Status Close(const Interrupt& interrupt = {});

  bool is_open() const noexcept;
  // Why nothing can be called any more (closed, broken, forked), or ok.
  base::Status CheckUsable() const;
  const RunConfig& config() const noexcept { return config_; }
  uint64_t id() const noexcept { return id_; }
  // Facts about the library in use; empty, false or null when closed. Without the gate, as is_open and CheckUsable.
  bool is_mock() const;
  std::string library_path() const;
  void* LibrarySymbol(const char* name) const noexcept;  // the mock's side door
  std::string soc_name() const;

  bool TryEnter() {
    if (!gate_.TryEnter()) return false;
    if (left_launcher_ != nullptr) [[unlikely]]
      KeepLeft();
    return true;
  }
  // False: interrupted, not inside.
  bool Enter(const Interrupt& interrupt = {}) {
    if (!gate_.Enter(interrupt)) return false;
    if (left_launcher_ != nullptr) [[unlikely]]
      KeepLeft();
    return true;
  }
  void Leave() noexcept { gate_.Leave(); }

  // Entered: another number once a tensor of this worker has been freed, or lost the name that a caller gave it.
  uint64_t tensor_epoch() const noexcept { return tensor_epoch_; }
  void EndTensorEpoch() noexcept { tensor_epoch_ += 1; }

  // Raw device memory. kInvalidArgument: bytes <= 0; an address that is not the start of a live raw allocation.
  base::Result<uint64_t> Malloc(int64_t bytes, const Interrupt& interrupt = {});
  base::Status Free(uint64_t address, const Interrupt& interrupt = {});
  // Ranges inside one live allocation of this worker; kInvalidArgument says the allocation's bounds otherwise.
  base::Status CopyTo(uint64_t destination, const void* source, int64_t bytes, const Interrupt& interrupt = {});
  base::Status CopyFrom(void* destination, uint64_t source, int64_t bytes, const Interrupt& interrupt = {});

  // Shape not empty, dims > 0 (kInvalidArgument); `init` of the same shape and dtype (kInvalidArgument naming both),
  // uploaded before it returns. Nothing stays allocated on failure.
  base::Result<TensorRef> AllocTensor(std::span<const int64_t> shape, program::DType dtype,
                                      const HostTensorView* init = nullptr, const Interrupt& interrupt = {});
  // The same for what the pool has, while nobody is inside and nothing is in flight: it waits for nothing, so that a
  // holder of the GIL may keep it. Empty, or false: nothing was done, ask the other.
  base::Result<TensorRef> TryAllocTensor(std::span<const int64_t> shape, program::DType dtype,
                                         const HostTensorView* init = nullptr);
  bool TryFreeTensor(ResidentTensor& tensor);
  // Again on a freed one, or on one whose worker opening has closed: no-op. kInvalidArgument: a view, or another
  // worker's tensor.
  base::Status FreeTensor(ResidentTensor& tensor, const Interrupt& interrupt = {});
  // Rows [begin, end) of the first dim; keeps the base's record alive. 0 <= begin < end <= rows (kInvalidArgument).
  base::Result<TensorRef> ViewRows(ResidentTensor& tensor, int64_t begin, int64_t end, const Interrupt& interrupt = {});
  // Whole tensor; same shape and dtype (kInvalidArgument naming both), a live tensor of this worker.
  base::Status CopyFromHost(ResidentTensor& tensor, const HostTensorView& source, const Interrupt& interrupt = {});
  base::Status CopyToHost(ResidentTensor& tensor, const HostTensorView& destination, const Interrupt& interrupt = {});
  // Entered: the same, and whether a copy would first wait for launches.
  base::Status CopyFromHostEntered(ResidentTensor& tensor, const HostTensorView& source, const Interrupt& interrupt);
  base::Status CopyToHostEntered(ResidentTensor& tensor, const HostTensorView& destination, const Interrupt& interrupt);
  bool IsBusyEntered() const noexcept;

  // A new handle; the program is loaded when no handle of the same fingerprint is open.
  base::Result<std::shared_ptr<Registration>> Register(std::shared_ptr<const program::Image> image,
                                                       const Interrupt& interrupt = {});
  // Register for a program that is loaded, while nobody is inside and nothing is in flight: it waits for nothing, so
  // that a holder of the GIL may keep it. Null: ask Register.
  std::shared_ptr<Registration> TryRegister(const std::shared_ptr<const program::Image>& image);
  // One handle for all who ask: the open one that somebody still holds, else a new one.
  base::Result<std::shared_ptr<Registration>> SharedRegistration(std::shared_ptr<const program::Image> image,
                                                                 const Interrupt& interrupt = {});

  base::Result<MemoryInfo> GetMemoryInfo(const Interrupt& interrupt = {});
  // Gives pooled free memory back to the device, and over the mock to the system.
  base::Status Trim(const Interrupt& interrupt = {});
  // Nothing given: the time-out of the config. kTimeout lists what is in flight.
  base::Status Synchronize(std::optional<int64_t> timeout_ms = std::nullopt, const Interrupt& interrupt = {});
  // Of the present opening, or of the last one when closed.
  base::Result<Counters> ReadCounters(const Interrupt& interrupt = {});
  Counters GetCounters();  // the same without an end of waiting

 private:
  friend class Registration;
  friend class Completion;
  explicit Worker(RunConfig config);
  base::Result<std::shared_ptr<Registration>> RegisterEntered(std::shared_ptr<const program::Image> image);
  base::Result<TensorRef> AllocPooled(std::span<const int64_t> shape, program::DType dtype, const HostTensorView* init);
  // The launch that was left becomes an ordinary one, kept for whoever has its ticket: done first by whoever enters.
  void KeepLeft();

  RunConfig config_;
  uint64_t id_;
  WorkerGate gate_;
  std::unique_ptr<WorkerState> state_;
  std::vector<std::weak_ptr<Registration>> shared_;
  // A short submitted launch that its waiter is to run; null: none. See Registration::TryLeave.
  Launcher* left_launcher_ = nullptr;
  uint64_t left_ticket_ = 0;  // of the last one
  uint64_t tensor_epoch_ = 0;
  std::vector<std::pair<uint64_t, std::shared_ptr<PendingLaunch>>> kept_left_;
};

// Enters a worker for a scope.
class WorkerEntry {
 public:
  explicit WorkerEntry(Worker& worker, const Interrupt& interrupt = {})
      : worker_(worker), inside_(worker.Enter(interrupt)) {}
  WorkerEntry(const WorkerEntry&) = delete;
  WorkerEntry& operator=(const WorkerEntry&) = delete;
  ~WorkerEntry() {
    if (inside_) worker_.Leave();
  }
  // Not ok only when there was an interrupt to ask.
  base::Status status() const {
    if (inside_) [[likely]]
      return base::OkStatus();
    return base::Status(base::StatusCode::kFailedPrecondition,
                        "waiting for a worker that another thread uses was interrupted");
  }

 private:
  Worker& worker_;
  bool inside_;
};

}  // namespace pypto::runtime
