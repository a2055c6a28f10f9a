// Words for FaultKind.
#include "pypto/runtime/fault_text.h"

#include "pypto/program/source_text.h"

namespace pypto::runtime {
namespace {

using program::FaultKind;

const char* FaultReason(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone: return "no reason given";
    case FaultKind::kBadBlock: return "the launch block does not fit the program";
    case FaultKind::kBudgetMismatch: return "host and device computed different workspace budgets";
    case FaultKind::kBadAddress: return "a tensor does not lie inside live device memory";
    case FaultKind::kNegativeOffset: return "a view starts before its base";
    case FaultKind::kDivisionByZero: return "a symbolic expression divides by zero";
    case FaultKind::kOverflow: return "a symbolic expression overflows 64 bits";
    case FaultKind::kWorkspace: return "a root instance does not fit an empty device task";
    case FaultKind::kAborted: return "it was aborted";
    case FaultKind::kZeroStep: return "a loop has step 0";
    case FaultKind::kReadOutside: return "a scalar read lies outside of its tensor";
    case FaultKind::kUnbound: return "a name is used that was never bound";
    case FaultKind::kBadIndex: return "an index is out of range";
  }
  return "an unknown reason";
}

}  // namespace

base::Status DescribeFault(const program::Image& image, const program::LaunchStatistics& statistics,
                           const base::Status& cause) {
  const std::string& kernel = image.plan.name;
  if (statistics.fault == 0) return base::Status(cause).WithContext("while running '" + kernel + "'");
  program::SourcePlace place;
  if (statistics.fault_place < image.debug.places.size()) place = image.debug.places[statistics.fault_place];
  const program::Location location = program::LocationOf(image.debug, place);
  const base::AclFailure* failure = cause.acl_failure();
  const std::string said = failure != nullptr && !failure->text.empty() ? "; the device says: " + failure->text : "";
  base::Status status = base::MakeStatus(
      base::StatusCode::kAcl,
      "kernel '%s' faulted: %s (value %lld)%s. The worker cannot be used any more: close it and make a new one%s",
      kernel.c_str(), FaultReason(static_cast<FaultKind>(statistics.fault)),
      static_cast<long long>(statistics.fault_value), said.c_str(), program::PointAt(image.debug, place).c_str());
  if (failure != nullptr) status = std::move(status).WithAclFailure(*failure);
  if (location.line > 0) status = std::move(status).WithSourceLine(location.file, location.line);
  return status;
}

}  // namespace pypto::runtime
