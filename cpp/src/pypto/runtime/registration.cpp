// The handle of a registered program: enters its worker and lets the launcher work.
#include "pypto/runtime/registration.h"

#include <algorithm>

#include "pypto/runtime/launcher.h"
#include "pypto/runtime/worker.h"

namespace pypto::runtime {

using base::Result;
using base::Status;

Registration::Registration(std::shared_ptr<Worker> worker, std::unique_ptr<Launcher> launcher)
    : worker_(std::move(worker)), launcher_(std::move(launcher)), repeat_key_(&launcher_->repeat_key()) {}

Registration::~Registration() { worker_->state_->DropLauncher(std::move(launcher_)); }

const program::Image& Registration::image() const noexcept { return launcher_->image(); }

bool Registration::is_open() const noexcept { return launcher_->is_open(); }

Status Registration::Call(std::span<const ArgumentView> arguments, const CallOptions& options) {
  const WorkerEntry entry(*worker_, options.interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  Status status;
  if (options.times == nullptr && options.interrupt.should_stop == nullptr && launcher_->TryRepeat(arguments, &status))
    return status;
  PYPTO_RETURN_IF_ERROR(launcher_->Prepare(arguments));
  return launcher_->Run(options);
}

Result<std::shared_ptr<Completion>> Registration::Submit(std::span<const ArgumentView> arguments,
                                                         const Interrupt& interrupt) {
  const WorkerEntry entry(*worker_, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  PYPTO_RETURN_IF_ERROR(launcher_->Prepare(arguments));
  return RunAsync(interrupt);
}

Status Registration::Prepare(std::span<const ArgumentView> arguments) { return launcher_->Prepare(arguments); }

double Registration::EstimatedMicroseconds() const noexcept { return launcher_->EstimatedMicroseconds(); }

Status Registration::Run(const CallOptions& options) { return launcher_->Run(options); }

bool Registration::TryRepeat(Status* status) { return launcher_->TryRepeat(status); }

bool Registration::TryRepeat(std::span<const ArgumentView> arguments, Status* status) {
  return launcher_->TryRepeat(arguments, status);
}

bool Registration::TryRepeat(std::span<const RepeatArgument> arguments, uint64_t number, Status* status) {
  return launcher_->TryRepeat(arguments, number, status);
}

uint64_t Registration::repeat_number() const noexcept { return launcher_->repeat_number(); }

uint64_t Registration::TryLeave(Status* status) {
  if (!launcher_->TryLeave(status) || !status->ok()) return 0;
  worker_->left_launcher_ = launcher_.get();
  return ++worker_->left_ticket_;
}

bool Registration::WaitLeft(uint64_t ticket) {
  // Not through the worker's own door, which would make it an ordinary launch.
  Worker& worker = *worker_;
  if (!worker.gate_.TryEnter()) return false;
  const bool left = worker.left_launcher_ != nullptr && worker.left_ticket_ == ticket;
  const bool ended = left && launcher_->WaitLeft();
  if (ended) worker.left_launcher_ = nullptr;
  worker.gate_.Leave();
  return ended;
}

Result<std::shared_ptr<Completion>> Registration::TakeLeft(uint64_t ticket, const Interrupt& interrupt) {
  const WorkerEntry entry(*worker_, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return TakeLeftEntered(ticket);
}

std::shared_ptr<Completion> Registration::TakeLeftEntered(uint64_t ticket) {
  auto& kept = worker_->kept_left_;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& item) { return item.first == ticket; });
  if (found == kept.end()) return nullptr;
  std::shared_ptr<PendingLaunch> pending = std::move(found->second);
  kept.erase(found);
  return std::make_shared<Completion>(shared_from_this(), std::move(pending));
}

Result<std::shared_ptr<Completion>> Registration::RunAsync(const Interrupt& interrupt) {
  PYPTO_ASSIGN_OR_RETURN(std::shared_ptr<PendingLaunch> pending, launcher_->RunAsync(interrupt));
  return std::make_shared<Completion>(shared_from_this(), std::move(pending));
}

Result<std::vector<OutputShape>> Registration::InferOutputs(std::span<const ArgumentView> given) const {
  return launcher_->signature().InferOutputs(given);
}

Status Registration::Unregister(const Interrupt& interrupt) {
  const WorkerEntry entry(*worker_, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return launcher_->Close(interrupt);
}

Result<LaunchReport> Registration::Report(const Interrupt& interrupt) {
  const WorkerEntry entry(*worker_, interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return launcher_->Report(interrupt);
}

Result<LaunchProfile> Registration::Profile(std::span<const ArgumentView> arguments, const CallOptions& options) {
  const WorkerEntry entry(*worker_, options.interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
  return RunProfiled(arguments, options);
}

Result<LaunchProfile> Registration::RunProfiled(std::span<const ArgumentView> arguments, const CallOptions& options) {
  return launcher_->Profile(arguments, options);
}

}  // namespace pypto::runtime
