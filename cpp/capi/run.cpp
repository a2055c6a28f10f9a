// Running a program without a registration of one's own, and the current workers of a thread.
#include <algorithm>
#include <vector>

#include "dispatch.h"
#include "objects.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::MakeStatus;
using pypto::base::StatusCode;
using pypto::runtime::Registration;
using pypto::runtime::RunConfig;

namespace {

using SharedRegistration = std::shared_ptr<Registration>;

// Handles, innermost last. They may be stale: a worker can be released anywhere.
thread_local std::vector<pypto_worker*> current_workers;

void ForgetReleased() {
  std::erase_if(current_workers, [](pypto_worker* worker) { return !Pin<WorkerObject>(worker); });
}

// Null when there is none.
pypto_worker* FindCurrent(const char* platform, int32_t device_id) {
  ForgetReleased();
  for (auto worker = current_workers.rbegin(); worker != current_workers.rend(); ++worker) {
    const Pin<WorkerObject> pin(*worker);
    if (!pin) continue;
    const RunConfig& config = pin->worker->config();
    if (platform != nullptr && config.platform != platform) continue;
    if (device_id == -1 || config.device_id == device_id) return *worker;
  }
  return nullptr;
}

// The registration that the worker keeps for its runs of this content.
pypto_status KeptRegistration(WorkerObject& on, const ProgramObject& program, SharedRegistration* out) {
  const std::lock_guard<std::mutex> lock(on.kept_mutex);
  SharedRegistration& kept = on.kept[program.image->fingerprint];
  if (kept == nullptr || !kept->is_open()) {
    auto made = on.worker->Register(program.image);
    if (!made.ok()) return Report(made.status());
    kept = std::move(made).value();
  }
  *out = kept;
  return PYPTO_OK;
}

pypto_status RunOn(WorkerObject& on, const ProgramObject& program, const pypto_argument* arguments, size_t count,
                   const pypto_launch_options* options) {
  SharedRegistration registration;
  const pypto_status status = KeptRegistration(on, program, &registration);
  return status != PYPTO_OK ? status : Launch(*registration, nullptr, arguments, count, options);
}

}  // namespace

extern "C" {

pypto_status pypto_worker_run(pypto_worker* worker, pypto_program* program, const pypto_argument* arguments,
                              size_t count, const pypto_launch_options* options) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> on(worker);
    if (!on) return on.Refused();
    const Pin<ProgramObject> pin(program);
    return pin ? RunOn(*on, *pin, arguments, count, options) : pin.Refused();
  });
}

pypto_status pypto_program_run(pypto_program* program, const pypto_argument* arguments, size_t count,
                               const pypto_launch_options* options) {
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    const std::string& platform = pin->image->platform;
    const Pin<WorkerObject> on(FindCurrent(platform.c_str(), -1));
    if (on) return RunOn(*on, *pin, arguments, count, options);
    return Report(MakeStatus(StatusCode::kFailedPrecondition,
                             "no worker of platform %s is current in this thread: enter one with pypto_worker_enter, "
                             "or name it with pypto_worker_run",
                             platform.c_str()));
  });
}

pypto_status pypto_worker_enter(pypto_worker* worker) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    const RunConfig& config = pin->worker->config();
    if (FindCurrent(config.platform.c_str(), config.device_id) != nullptr) {
      return Refuse("a worker of platform %s, device %d is already current in this thread: use it, or leave it first",
                    config.platform.c_str(), config.device_id);
    }
    current_workers.push_back(worker);
    return PYPTO_OK;
  });
}

pypto_status pypto_worker_leave(pypto_worker* worker) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    std::erase(current_workers, worker);
    return PYPTO_OK;
  });
}

pypto_status pypto_worker_current(const char* platform, int32_t device_id, pypto_worker** worker) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(worker);
    if (CallbackScope::Inside()) {
      return Report(MakeStatus(StatusCode::kFailedPrecondition, "no handle can be used inside a callback"));
    }
    pypto_worker* const found = FindCurrent(platform, device_id);
    if (found == nullptr) {
      return Report(MakeStatus(StatusCode::kNotFound, "no worker of platform %s, device %d is current in this thread",
                               platform != nullptr ? platform : "(any)", device_id));
    }
    *worker = found;
    return PYPTO_OK;
  });
}

}  // extern "C"
