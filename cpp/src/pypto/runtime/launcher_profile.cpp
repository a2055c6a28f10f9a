// One launch that is timed leaf by leaf.
#include "pypto/acl/errors.h"
#include "pypto/runtime/launcher.h"

namespace pypto::runtime {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

Status Launcher::CheckProfiles() const {
  const char* kernel = image_->plan.name.c_str();
  if (!state_->table().is_mock()) {
    return MakeStatus(StatusCode::kUnsupported,
                      "'%s' cannot be profiled on %s: only the mock device times leaves; run it on a2a3sim, or use "
                      "benchmark() and the "
                      "timing marks here",
                      kernel, state_->config().platform.c_str());
  }
  if (!packed_) return base::OkStatus();
  return MakeStatus(StatusCode::kUnsupported,
                    "'%s' is a device binary of another compiler, which has no leaves to time: use benchmark()",
                    kernel);
}

Result<LaunchProfile> Launcher::Profile(std::span<const ArgumentView> arguments, const CallOptions& options) {
  PYPTO_RETURN_IF_ERROR(CheckOpen());
  PYPTO_RETURN_IF_ERROR(CheckProfiles());
  PYPTO_RETURN_IF_ERROR(Prepare(arguments));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_ASSIGN_OR_RETURN(const uint64_t block, profile_blocks_.Take());
  ForgetLast();
  header().flags = program::kRecordTasks | program::kRecordLeaves;
  header().tasks_address = block;
  header().tasks_bytes = profile_blocks_.bytes();
  profile_block_ = block;
  const Status run = Run(options);
  // A launch that was left running writes its block still; it is returned when that has ended.
  if (std::exchange(profile_block_, 0) == 0) return run;
  header().flags = 0;
  Result<LaunchProfile> profile = run.ok() ? FetchProfile(block) : run;
  profile_blocks_.Return(block);
  if (!state_->broken() && profile_blocks_.all_free()) {
    const Status released = profile_blocks_.Release();
    if (profile.ok() && !released.ok()) return released;
  }
  return profile;
}

Result<LaunchProfile> Launcher::FetchProfile(uint64_t block) {
  PYPTO_ASSIGN_OR_RETURN(const program::LaunchStatistics statistics, statistics_.ReadLast());
  const acl::Table& table = state_->table();
  const uint64_t begin = block + program::TaskBlockBytes(budget_.parallelism);
  const auto read = [&](void* to, uint64_t from, uint64_t bytes) {
    return PYPTO_ACL_CALL(table, aclrtMemcpy, to, bytes, reinterpret_cast<const void*>(from), bytes,
                          acl_abi::kMemcpyDeviceToHost);
  };
  program::ProfileHeader head;
  PYPTO_RETURN_IF_ERROR(read(&head, begin, sizeof(head)));
  const uint64_t bytes = program::ProfileBytes(head.leaves, head.operations, head.runs);
  if (bytes > profile_blocks_.bytes()) {
    return MakeStatus(StatusCode::kProgramFormat, "the device wrote a profile of %llu bytes into %llu",
                      static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(profile_blocks_.bytes()));
  }
  std::vector<std::byte> data(bytes);
  PYPTO_RETURN_IF_ERROR(read(data.data(), begin, bytes));
  state_->counters().statistics_reads += 1;
  return ReadProfile(*image_, statistics, data);
}

}  // namespace pypto::runtime
