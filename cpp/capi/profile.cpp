// One launch timed leaf by leaf.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "arguments.h"
#include "dispatch.h"
#include "objects.h"
#include "pypto/runtime/worker.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::MakeStatus;
using pypto::base::StatusCode;
using pypto::runtime::LaunchProfile;
using pypto::runtime::ProfileLine;

namespace {

template <size_t N>
void CopyText(const std::string& from, char (&to)[N]) {
  const size_t bytes = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), bytes);
  to[bytes] = 0;
}

pypto_profile_line LineOf(const ProfileLine& line) {
  pypto_profile_line value{};
  std::string names;
  for (const std::string& name : line.operations) names += (names.empty() ? "" : " ") + name;
  CopyText(line.file, value.file);
  CopyText(names, value.operations);
  value.line = line.line;
  value.ns = line.ns;
  value.bytes = line.bytes;
  value.tiles = line.tiles;
  return value;
}

pypto_profile ProfileOf(const LaunchProfile& profile) {
  pypto_profile value{};
  value.cores = profile.cores;
  value.device_ns = profile.device_ns;
  value.busy_ns = profile.busy_ns;
  value.root_instances = profile.root_instances;
  value.device_tasks = profile.device_tasks;
  value.leaf_tiles = profile.leaf_tiles;
  value.dropped_runs = profile.dropped_runs;
  return value;
}

pypto_status WriteTrace(const LaunchProfile& profile, const char* path) {
  const std::string text = profile.ToChromeTrace();
  std::FILE* file = std::fopen(path, "wb");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (written) return PYPTO_OK;
  return Report(MakeStatus(StatusCode::kIo, "the trace cannot be written to '%s': %s", path, std::strerror(errno)));
}

}  // namespace

extern "C" {

pypto_status pypto_registration_profile(pypto_registration* registration, const pypto_argument* arguments, size_t count,
                                        const pypto_launch_options* options, const char* trace_path,
                                        pypto_profile* profile, pypto_profile_line* lines, size_t capacity,
                                        size_t* line_count) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(line_count);
    LaunchRequest request;
    pypto_status status = CheckArguments(arguments, count);
    if (status == PYPTO_OK) status = request.Read(options);
    if (status == PYPTO_OK) status = CheckOutput("pypto_profile", profile);
    if (status != PYPTO_OK) return status;
    if (request.times != nullptr) {
      return Refuse("%s: a profiled launch says its own times, those of the options must be null",
                    "pypto_registration_profile");
    }
    pypto::runtime::CallOptions call;
    call.interrupt = request.question.AsInterrupt();
    ArgumentList list;
    pypto::runtime::Worker& worker = pin->registration->worker();
    const pypto::runtime::WorkerEntry entry(worker);
    status = list.Read(arguments, count, worker.id());
    if (status != PYPTO_OK) return status;
    const auto read = pin->registration->RunProfiled(list.views(), call);
    if (!read.ok()) return Report(read.status());
    for (size_t i = 0; lines != nullptr && i < read->lines.size() && i < capacity; ++i)
      lines[i] = LineOf(read->lines[i]);
    *line_count = read->lines.size();
    status = WriteStruct("pypto_profile", ProfileOf(*read), profile);
    return status == PYPTO_OK && trace_path != nullptr ? WriteTrace(*read, trace_path) : status;
  });
}

}  // extern "C"
