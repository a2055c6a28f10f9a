// Questions about ACL libraries, handed to the acl layer.
#include "pypto/runtime/library_probe.h"

#include "pypto/acl/device.h"
#include "pypto/acl/loader.h"
#include "pypto/acl/memory.h"
#include "pypto/acl/session.h"
#include "pypto/runtime/run_config.h"

namespace pypto::runtime {
namespace {

using base::Result;
using base::Status;

struct Question {
  acl::PlatformKind kind;
  acl::LoadOptions options;
};

Result<Question> QuestionFor(const std::string& platform) {
  PYPTO_RETURN_IF_ERROR(ValidatePlatform(platform));
  Question question;
  question.kind = IsSimulatorPlatform(platform) ? acl::PlatformKind::kSimulator : acl::PlatformKind::kHardware;
  question.options.mock_path = PackagedMockPath();
  question.options.platform = platform;
  return question;
}

std::string InterfaceVersion(const acl::Table& table) {
  int32_t parts[3] = {};
  if (!table.Has(acl::CallId::aclrtGetVersion)) return {};
  if (table.aclrtGetVersion(&parts[0], &parts[1], &parts[2]) != acl_abi::kSuccess) return {};
  return base::Format("%d.%d.%d", parts[0], parts[1], parts[2]);
}

Status AskDevice(const acl::Session& session, int32_t id, DeviceFacts* facts) {
  PYPTO_ASSIGN_OR_RETURN(acl::Device device, acl::Device::Open(session.Share(), id));
  facts->soc_name = device.SocName();
  Status status;
  {
    const acl::ContextScope scope(device.table(), device.context());
    status = scope.status();
    if (status.ok()) {
      const Result<acl::MemoryInfo> memory = acl::QueryMemory(device.table());
      status = memory.status();
      if (memory.ok()) facts->free_bytes = memory->free, facts->total_bytes = memory->total;
    }
  }
  status.Attach(device.Close());
  return status;
}

}  // namespace

bool HardwareLibraryFound() { return acl::HardwareLibraryFound({}); }

Result<std::vector<LibraryFacts>> ProbeLibraries(const std::string& platform) {
  PYPTO_ASSIGN_OR_RETURN(const Question question, QuestionFor(platform));
  std::vector<LibraryFacts> facts;
  for (acl::LibraryTrial& trial : acl::ProbeLibraries(question.kind, question.options)) {
    facts.push_back({std::move(trial.path), trial.usable, trial.absent, std::move(trial.reason), trial.is_mock,
                     trial.route == acl::LaunchRoute::kHostArgs, std::move(trial.missing_optional)});
  }
  return facts;
}

Result<PlatformFacts> ProbeDevices(const std::string& platform) {
  PYPTO_ASSIGN_OR_RETURN(const Question question, QuestionFor(platform));
  PYPTO_ASSIGN_OR_RETURN(acl::Session session, acl::Session::Open(question.kind, question.options));
  PlatformFacts facts;
  facts.library_path = session.table().library_path();
  facts.interface_version = InterfaceVersion(session.table());
  Status why;
  const uint32_t count = acl::DeviceCount(session.table(), &why);
  for (uint32_t id = 0; id < count; ++id) {
    DeviceFacts& device = facts.devices.emplace_back();
    const Status status = AskDevice(session, static_cast<int32_t>(id), &device);
    if (!status.ok()) device.error = status.ToString();
  }
  why.Attach(session.Close());
  PYPTO_RETURN_IF_ERROR(why);
  return facts;
}

std::string TakeLeakReports() { return acl::TakeLeakReports(); }

}  // namespace pypto::runtime
