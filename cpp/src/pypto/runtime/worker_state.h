// Everything an open worker has: device, memory, programs, work in flight.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pypto/base/process.h"
#include "pypto/runtime/counters.h"
#include "pypto/runtime/device_allocator.h"
#include "pypto/runtime/device_program.h"
#include "pypto/runtime/device_session.h"
#include "pypto/runtime/pending_launch.h"
#include "pypto/runtime/run_config.h"
#include "pypto/runtime/task_blocks.h"
#include "pypto/runtime/tensor_registry.h"

namespace pypto::runtime {

class Launcher;

// Most submitted launches that run or wait on the device at a time.
inline constexpr size_t kMostInFlight = 64;

// Owned by a Worker, one for its whole life; opened and closed any number of times.
// Thread rule: inside the worker's gate, except is_open(), CheckUsable(), facts(), LibrarySymbol() and
// DropLauncher().
class WorkerState {
 public:
  WorkerState(const RunConfig& config, uint64_t worker_id);
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;
  ~WorkerState();

  base::Status Open();
  base::Status OpenOn(acl::Session library);
  base::Status Close();

  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
  base::Status CheckUsable() const {
    if (usable_.load(std::memory_order_relaxed) && base::ProcessGeneration() == generation_) [[likely]] {
      return base::OkStatus();
    }
    return ExplainUnusable();
  }
  // Usable, nothing in flight and nothing dropped that is still to be freed.
  bool IsQuiet() const noexcept {
    return usable_.load(std::memory_order_relaxed) && base::ProcessGeneration() == generation_ && !stream_busy_ &&
           !registry_.HasDropped() && !launchers_dropped_.load(std::memory_order_relaxed);
  }
  // Opened by a process that this one was forked from.
  bool IsForked() const noexcept { return generation_ != 0 && base::ProcessGeneration() != generation_; }
  const RunConfig& config() const noexcept { return config_; }
  std::string name() const;  // "a2a3sim:0"

  // About the library in use; nothing when closed. From any thread.
  struct Facts {
    bool is_mock = false;
    std::string library_path;
    std::string soc_name;
  };
  Facts facts() const;
  void* LibrarySymbol(const char* symbol) const noexcept;

  const acl::Table& table() const noexcept { return session_->table(); }
  DeviceSession& session() noexcept { return *session_; }
  DeviceAllocator& allocator() noexcept { return *allocator_; }
  TensorRegistry& registry() noexcept { return registry_; }
  ProgramCache& programs() noexcept { return *programs_; }
  Counters& counters() noexcept { return counters_; }

  // Frees what was dropped since the last entry: tensors and handles. One relaxed load when nothing was.
  void TakeInDropped() {
    if (registry_.HasDropped() || launchers_dropped_.load(std::memory_order_relaxed)) [[unlikely]]
      FreeDropped();
  }
  // What was dropped can be freed without asking the library for anything that may wait: no program is unloaded.
  bool DroppedIsLight();
  // From any thread.
  void DropLauncher(std::unique_ptr<Launcher> launcher);

  // Waits until nothing runs. kTimeout lists what is in flight; a fault breaks the worker.
  base::Status WaitIdle(std::optional<int64_t> timeout_ms, const Interrupt& interrupt);
  base::Status WaitIdleIfBusy(const Interrupt& interrupt) {
    return stream_busy_ ? WaitIdle(config_.timeout_ms, interrupt) : base::OkStatus();
  }
  bool stream_busy() const noexcept { return stream_busy_; }
  void MarkLaunched() noexcept {
    stream_busy_ = true;
    counters_.launches += 1;
  }
  // A wait for the stream has succeeded.
  void MarkIdle() {
    stream_busy_ = false;
    if (!pending_.empty() || !abandoned_.empty()) [[unlikely]]
      SettleInFlight();
  }
  // A launch whose wait did not succeed: its staging and its task block, if any, are in use until the stream is idle.
  struct Abandoned {
    DeviceProgram* program = nullptr;
    StagingSet* set = nullptr;
    TaskBlocks* task_blocks = nullptr;
    uint64_t task_block = 0;
    std::string kernel;
  };
  void Abandon(Abandoned launch) { abandoned_.push_back(std::move(launch)); }
  // After an interrupt: aborts everything in flight, or leaves it running where the library cannot abort.
  void AbortWork();
  // The device reported `cause`. When the code says that the context is of no more use (a kernel fault, a lost device)
  // the worker is broken: nothing but Close works afterwards. Returns the cause, with the faulting kernel and its line
  // when a statistics block names them.
  base::Status OnDeviceFailure(base::Status cause);
  bool broken() const noexcept { return broken_.has_value(); }
  std::string DescribeInFlight(const std::string& more) const;
  base::Status TimeoutStatus(int64_t timeout_ms, const std::string& more) const;

  // The one workspace buffer; grows, never shrinks while open.
  uint64_t workspace_address() const noexcept { return workspace_address_; }
  uint64_t workspace_bytes() const noexcept { return workspace_bytes_; }
  base::Status GrowWorkspace(uint64_t bytes);

  // Handles that are open.
  void AddLauncher(Launcher* launcher) { launchers_.push_back(launcher); }
  // Looked for from the end: handles that come and go are opened last.
  void RemoveLauncher(Launcher* launcher) {
    const auto found = std::find(launchers_.rbegin(), launchers_.rend(), launcher);
    if (found != launchers_.rend()) launchers_.erase(std::prev(found.base()));
  }

  // Submitted launches.
  base::Result<acl::Event> TakeEvent();
  void ReturnEvent(acl::Event event) { events_.push_back(std::move(event)); }
  uint32_t NextSerial() noexcept {
    serial_ += serial_ == UINT32_MAX ? 2 : 1;  // never 0
    return serial_;
  }
  void AddPending(const std::shared_ptr<PendingLaunch>& pending);
  // The last submitted launch has neither fetch nor event queued behind it: whoever waits for it runs it. Before
  // anything else is queued, or anybody asks whether it has ended, it is sealed.
  void LeaveUnsealed(const std::shared_ptr<PendingLaunch>& pending) { unsealed_ = pending; }
  base::Status SealLast(const Interrupt& interrupt) {
    if (unsealed_ == nullptr) [[likely]]
      return base::OkStatus();
    return SealUnsealed(interrupt);
  }
  // Waits for it without waking anybody. False when the launch is another one, or sealed.
  bool WaitUnsealed(PendingLaunch* pending);
  size_t running() const noexcept { return running_; }
  base::Status WaitForOldest(const Interrupt& interrupt);
  // Looks whether it has ended on the device; an error of the device ends it.
  bool PollPending(PendingLaunch* pending);
  // A wait for its event gave `code`: other than success and time-out, that ends it. Whether it did.
  bool EndPendingOnFailure(PendingLaunch* pending, acl::aclError code);
  // The device has ended it: fetches outputs, lets go of everything it held.
  void FinishPending(const std::shared_ptr<PendingLaunch>& pending);
  void FinishAllOf(const Launcher* launcher);
  // Waits a slice for an event; also from outside the gate, by a thread that counts as a waiter.
  static acl::aclError WaitForEventSlice(const acl::Table& table, acl::EventView event, int32_t slice_ms);
  void MarkDeviceDone(PendingLaunch* pending, base::Status status);
  void KeepOnlyFetched(PendingLaunch* pending);
  // Ends what is in flight with `cause`, except the launches that the device had done before anything failed.
  void EndInOrder(const base::Status& cause);

 private:
  void SetFacts();
  base::Status Adopt(base::Result<std::unique_ptr<DeviceSession>> session);
  void Break(const base::Status& cause);
  base::Status FindFault(base::Status cause);
  [[gnu::cold]] base::Status ExplainUnusable() const;
  bool HasEndedWell(const PendingLaunch& pending) const;
  [[gnu::cold]] void FreeDropped();
  [[gnu::cold]] void SettleInFlight();
  base::Status SealUnsealed(const Interrupt& interrupt);
  void ReleaseDeviceMemory(PendingLaunch* pending);
  base::Status FinishWork();
  base::Status ReleaseEverything();
  void ReportHeld(const TensorRegistry::Held& held) const;

  const RunConfig& config_;
  uint64_t worker_id_;
  uint64_t generation_ = 0;  // of the process that opened it, 0 when it never was
  std::atomic<bool> open_{false};
  std::atomic<bool> usable_{false};
  mutable std::mutex outside_mutex_;  // of what is read from outside the gate: the next three
  std::optional<base::Status> broken_;
  Facts facts_;
  const acl::Table* facts_table_ = nullptr;
  bool stream_busy_ = false;
  Counters counters_;
  std::unique_ptr<DeviceSession> session_;
  std::unique_ptr<DeviceAllocator> allocator_;
  TensorRegistry registry_;
  std::unique_ptr<ProgramCache> programs_;
  uint64_t workspace_address_ = 0;
  uint64_t workspace_bytes_ = 0;
  std::vector<Launcher*> launchers_;
  std::list<std::shared_ptr<PendingLaunch>> pending_;
  std::shared_ptr<PendingLaunch> unsealed_;  // in pending_, not ended as far as is known; null: none
  uint32_t serial_ = 0;                      // of the last submitted launch
  size_t running_ = 0;                       // of pending_, not ended on the device as far as is known
  std::vector<Abandoned> abandoned_;
  std::vector<acl::Event> events_;
  std::mutex dropped_mutex_;
  std::vector<std::unique_ptr<Launcher>> dropped_launchers_;
  std::atomic<bool> launchers_dropped_{false};
};

}  // namespace pypto::runtime
