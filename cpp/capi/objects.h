// What is behind the handles.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "handle_table.h"
#include "last_call.h"
#include "pypto/options/scope.h"
#include "pypto/program/image.h"
#include "pypto/runtime/completion.h"
#include "pypto/runtime/registration.h"
#include "pypto/runtime/resident_tensor.h"
#include "pypto/runtime/worker.h"

namespace pypto::capi {

// All are owned by the handle table and used under a pin; members are immutable unless a mutex is named.

struct ProgramObject : Object {
  static constexpr Kind kKind = Kind::kProgram;
  explicit ProgramObject(std::shared_ptr<const program::Image> read);

  std::shared_ptr<const program::Image> image;
  std::string fingerprint;
  std::once_flag text_made;
  std::string text;  // made when first asked for
};

struct WorkerObject : Object {
  static constexpr Kind kKind = Kind::kWorker;
  explicit WorkerObject(std::shared_ptr<runtime::Worker> opened) : worker(std::move(opened)) {}
  std::shared_ptr<runtime::Worker> worker;
  std::mutex kept_mutex;
  std::map<base::Digest, std::shared_ptr<runtime::Registration>> kept;  // of pypto_worker_run; under the mutex
};

struct TensorObject : Object {
  static constexpr Kind kKind = Kind::kTensor;
  TensorObject(std::shared_ptr<runtime::Worker> its_worker, runtime::TensorRef made)
      : worker(std::move(its_worker)), tensor(std::move(made)) {}
  std::shared_ptr<runtime::Worker> worker;
  runtime::TensorRef tensor;
};

struct RegistrationObject : Object {
  static constexpr Kind kKind = Kind::kRegistration;
  explicit RegistrationObject(std::shared_ptr<runtime::Registration> made) : registration(std::move(made)) {}
  std::shared_ptr<runtime::Registration> registration;
  LastCall last;  // inside the worker
};

// Dropping one that has not ended waits for it. Several threads may ask at a time.
class CompletionObject : public Object {
 public:
  static constexpr Kind kKind = Kind::kCompletion;
  explicit CompletionObject(std::shared_ptr<runtime::Registration> registration)
      : registration_(std::move(registration)) {}
  ~CompletionObject() override { End(); }

  // Waits for what has not ended.
  void End();
  // Used again by its thread, once nobody else can name it: as after destruction, and as made for a launch that is
  // left.
  void Empty();
  void Begin(std::shared_ptr<runtime::Registration> registration, uint64_t ticket) noexcept {
    registration_ = std::move(registration);
    SetTicket(ticket);
  }

  // One of the two, before anybody knows the object: what was submitted, or the ticket of Registration::TryLeave.
  void SetCompletion(std::shared_ptr<runtime::Completion> made) noexcept { completion_ = std::move(made); }
  void SetTicket(uint64_t ticket) noexcept { ticket_.store(ticket, std::memory_order_relaxed); }

  base::Status Wait(std::optional<int64_t> timeout_ms);
  // Runs the launch that was left. False: Wait.
  bool RunLeft() {
    const uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if (ticket == 0 || !registration_->WaitLeft(ticket)) [[unlikely]]
      return false;
    ticket_.store(0, std::memory_order_release);
    return true;
  }
  // Asks the device; waits for nobody.
  bool Poll();
  bool finished() const noexcept;

 private:
  // A launch that was left has a completion of its own from now on, unless it has ended.
  base::Status BecomeOrdinary();
  // The same without waiting for anybody; false when that was not possible.
  bool TryBecomeOrdinary();

  std::shared_ptr<runtime::Registration> registration_;
  std::mutex mutex_;  // of becoming ordinary
  // Of a launch that was left, while it is not known to have ended; completion_ stays as it is once this is 0.
  std::atomic<uint64_t> ticket_{0};
  std::shared_ptr<runtime::Completion> completion_;
};

struct OptionsObject : Object {
  static constexpr Kind kKind = Kind::kOptions;
  explicit OptionsObject(options::ScopeRef made) : scope(std::move(made)) {}
  options::ScopeRef Get() {
    const std::lock_guard<std::mutex> lock(mutex);
    return scope;
  }
  std::mutex mutex;
  options::ScopeRef scope;  // under the mutex; the node itself never changes
};

}  // namespace pypto::capi
