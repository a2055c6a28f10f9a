// Opening and closing a worker, registering programs, and what it can say about itself.
#include "pypto/runtime/worker.h"

#include <mutex>

#include "pypto/base/environment.h"
#include "pypto/log/log.h"
#include "pypto/runtime/launcher.h"
#include "pypto/runtime/trace.h"
#include "pypto/runtime/worker_state.h"

namespace pypto::runtime {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

uint64_t NextWorkerId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// A name that means nothing is a slip that would otherwise go unnoticed.
void WarnOfUnknownVariables() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& name : base::UnknownPyptoVariables()) {
      PYPTO_LOG(kWarning, "environment variable %s is not known to this version and has no effect", name.c_str());
    }
  });
}

}  // namespace

Worker::Worker(RunConfig config)
    : config_(std::move(config)), id_(NextWorkerId()), state_(std::make_unique<WorkerState>(config_, id_)) {}

Result<std::shared_ptr<Worker>> Worker::Open(RunConfig config) {
  PYPTO_RETURN_IF_ERROR(ValidateConfig(config));
  ApplyTraceEnvironment();
  WarnOfUnknownVariables();
  std::shared_ptr<Worker> worker(new Worker(std::move(config)));
  PYPTO_RETURN_IF_ERROR(worker->state_->Open());
  return worker;
}

Result<std::shared_ptr<Worker>> Worker::OpenOn(RunConfig config, acl::Session library) {
  PYPTO_RETURN_IF_ERROR(ValidateConfig(config));
  std::shared_ptr<Worker> worker(new Worker(std::move(config)));
  PYPTO_RETURN_IF_ERROR(worker->state_->OpenOn(std::move(library)));
  return worker;
}

Worker::~Worker() {
  const Status ignored = Close();
  static_cast<void>(ignored);
  // The handles of a library that may be gone, or that belongs to the parent, are not even looked at.
  if (base::ProcessExiting() || state_->IsForked()) static_cast<void>(state_.release());
}

Status Worker::Init(const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  if (state_->is_open()) return state_->CheckUsable();
  return state_->Open();
}

Status Worker::Close(const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return state_->Close();
}

bool Worker::is_open() const noexcept { return state_->is_open(); }

Status Worker::CheckUsable() const { return state_->CheckUsable(); }

bool Worker::is_mock() const { return state_->facts().is_mock; }

std::string Worker::library_path() const { return state_->facts().library_path; }

void* Worker::LibrarySymbol(const char* name) const noexcept { return state_->LibrarySymbol(name); }

std::string Worker::soc_name() const { return state_->facts().soc_name; }

Result<std::shared_ptr<Registration>> Worker::Register(std::shared_ptr<const program::Image> image,
                                                       const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return RegisterEntered(std::move(image));
}

std::shared_ptr<Registration> Worker::TryRegister(const std::shared_ptr<const program::Image>& image) {
  if (!TryEnter()) return nullptr;
  std::shared_ptr<Registration> made;
  const bool light = state_->CheckUsable().ok() && !state_->stream_busy() && state_->DroppedIsLight();
  if (light && state_->programs().Has(image->fingerprint)) {
    Result<std::shared_ptr<Registration>> registered = RegisterEntered(image);
    if (registered.ok()) made = std::move(registered).value();
  }
  Leave();
  return made;
}

Result<std::shared_ptr<Registration>> Worker::RegisterEntered(std::shared_ptr<const program::Image> image) {
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  state_->TakeInDropped();
  PYPTO_RETURN_IF_ERROR(CheckRunsHere(*image, config_.platform, state_->table().is_mock()));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  Result<DeviceProgram*> program = state_->programs().Acquire(image);
  if (!program.ok()) {
    return state_->OnDeviceFailure(std::move(program).status())
        .WithContext("while registering program '" + image->plan.name + "'");
  }
  auto launcher = std::make_unique<Launcher>(state_.get(), *program, std::move(image));
  return std::make_shared<Registration>(shared_from_this(), std::move(launcher));
}

Result<std::shared_ptr<Registration>> Worker::SharedRegistration(std::shared_ptr<const program::Image> image,
                                                                 const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  std::erase_if(shared_, [](const std::weak_ptr<Registration>& weak) { return weak.expired(); });
  for (const std::weak_ptr<Registration>& weak : shared_) {
    std::shared_ptr<Registration> known = weak.lock();
    if (known && known->is_open() && program::IsSame(known->image(), *image)) return known;
  }
  PYPTO_ASSIGN_OR_RETURN(std::shared_ptr<Registration> made, RegisterEntered(std::move(image)));
  shared_.push_back(made);
  return made;
}

void Worker::KeepLeft() {
  Launcher* launcher = std::exchange(left_launcher_, nullptr);
  kept_left_.emplace_back(left_ticket_, launcher->MakeOrdinary());
}

Status Worker::Synchronize(std::optional<int64_t> timeout_ms, const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(state_->CheckUsable());
  if (timeout_ms && *timeout_ms <= 0) {
    return base::MakeStatus(StatusCode::kInvalidArgument, "timeout_ms=%lld must be greater than 0",
                            static_cast<long long>(*timeout_ms));
  }
  Status status = base::OkStatus();
  if (state_->stream_busy()) status = state_->WaitIdle(timeout_ms ? timeout_ms : config_.timeout_ms, interrupt);
  if (status.ok()) state_->TakeInDropped();
  return status;
}

Result<Counters> Worker::ReadCounters(const Interrupt& interrupt) {
  const WorkerEntry entry(*this, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return state_->counters();
}

Counters Worker::GetCounters() { return ReadCounters().value(); }

}  // namespace pypto::runtime
