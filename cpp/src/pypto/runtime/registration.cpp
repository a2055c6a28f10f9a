// The handle of a registered program: enters its worker and lets the launcher work.
#include "pypto/runtime/registration.h"

#include "pypto/runtime/launcher.h"
#include "pypto/runtime/worker.h"

namespace pypto::runtime {

using base::Result;
using base::Status;

Registration::Registration(std::shared_ptr<Worker> worker, std::unique_ptr<Launcher> launcher)
    : worker_(std::move(worker)), launcher_(std::move(launcher)) {}

Registration::~Registration() { worker_->state_->DropLauncher(std::move(launcher_)); }

const program::Image& Registration::image() const noexcept { return launcher_->image(); }

bool Registration::is_open() const noexcept { return launcher_->is_open(); }

Status Registration::Call(std::span<const ArgumentView> arguments, const CallOptions& options) {
  const WorkerEntry entry(*worker_, options.interrupt);
  PYPTO_RETURN_IF_ERROR(entry.status());
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
