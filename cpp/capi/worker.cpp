// Workers: life, facts, counts, raw memory.
#include "fence.h"
#include "objects.h"
#include "pypto/runtime/library_probe.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::MakeStatus;
using pypto::base::StatusCode;
using pypto::runtime::Worker;

namespace {

std::optional<int64_t> TimeLimit(int64_t timeout_ms) {
  return timeout_ms < 0 ? std::nullopt : std::optional<int64_t>(timeout_ms);
}

pypto_status ReadConfig(const pypto_worker_config* given, pypto::runtime::RunConfig* out) {
  if (given == nullptr) return PYPTO_OK;
  pypto_worker_config config{};
  const pypto_status status = ReadStruct("pypto_worker_config", given, &config);
  if (status != PYPTO_OK) return status;
  if (config.platform != nullptr) out->platform = config.platform;
  out->device_id = config.device_id;
  if (config.timeout_ms != 0) out->timeout_ms = config.timeout_ms;
  if (config.mock_library_path != nullptr) out->mock_library_path = config.mock_library_path;
  return PYPTO_OK;
}

// The body of a function that only calls one method of a worker.
template <typename Call>
pypto_status OnWorker(pypto_worker* worker, Call&& call) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    return Report(call(*pin->worker));
  });
}

}  // namespace

extern "C" {

pypto_status pypto_worker_open(const pypto_worker_config* config, pypto_worker** worker) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(worker);
    pypto::runtime::RunConfig read;
    const pypto_status status = ReadConfig(config, &read);
    if (status != PYPTO_OK) return status;
    auto opened = Worker::Open(std::move(read));
    if (!opened.ok()) return Report(opened.status());
    GiveHandle(std::make_unique<WorkerObject>(std::move(opened).value()), worker);
    return PYPTO_OK;
  });
}

pypto_status pypto_worker_close(pypto_worker* worker) {
  return OnWorker(worker, [](Worker& w) { return w.Close(); });
}

pypto_status pypto_worker_init(pypto_worker* worker) {
  return OnWorker(worker, [](Worker& w) { return w.Init(); });
}

pypto_status pypto_worker_release(pypto_worker* worker) {
  if (worker == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    const pypto::base::Status closed = pin->worker->Close();
    const pypto_status removed = Remove(pin);
    return removed != PYPTO_OK ? removed : Report(closed);
  });
}

pypto_status pypto_worker_check(pypto_worker* worker) {
  return OnWorker(worker, [](Worker& w) { return w.CheckUsable(); });
}

pypto_status pypto_worker_synchronize(pypto_worker* worker, int64_t timeout_ms) {
  return OnWorker(worker, [timeout_ms](Worker& w) { return w.Synchronize(TimeLimit(timeout_ms)); });
}

pypto_status pypto_worker_trim(pypto_worker* worker) {
  return OnWorker(worker, [](Worker& w) { return w.Trim(); });
}

pypto_status pypto_worker_get_info(pypto_worker* worker, pypto_worker_info* info) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    const Worker& w = *pin->worker;
    pypto_worker_info value{};
    value.device_id = w.config().device_id;
    value.id = w.id();
    value.is_open = w.is_open() ? 1 : 0;
    value.is_mock = w.is_mock() ? 1 : 0;
    WriteArray(w.config().platform, value.platform);
    WriteArray(w.soc_name(), value.soc_name);
    return WriteStruct("pypto_worker_info", value, info);
  });
}

pypto_status pypto_worker_get_library_path(pypto_worker* worker, char* buffer, size_t capacity, size_t* needed) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    return WriteText(pin->worker->library_path(), buffer, capacity, needed);
  });
}

pypto_status pypto_worker_get_library_symbol(pypto_worker* worker, const char* name, void** symbol) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(name);
    PYPTO_REQUIRE(symbol);
    void* found = pin->worker->LibrarySymbol(name);
    if (found == nullptr) {
      return Report(MakeStatus(StatusCode::kNotFound, "the ACL library '%s' of the worker has no symbol %s",
                               pin->worker->library_path().c_str(), name));
    }
    *symbol = found;
    return PYPTO_OK;
  });
}

pypto_status pypto_worker_get_counters(pypto_worker* worker, pypto_counters* counters) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    const pypto::runtime::Counters counted = pin->worker->GetCounters();
    pypto_counters value{};
    value.h2d_copies = counted.h2d_copies;
    value.h2d_bytes = counted.h2d_bytes;
    value.d2h_copies = counted.d2h_copies;
    value.d2h_bytes = counted.d2h_bytes;
    value.inline_bytes = counted.inline_bytes;
    value.launches = counted.launches;
    value.program_loads = counted.program_loads;
    value.program_unloads = counted.program_unloads;
    value.device_mallocs = counted.device_mallocs;
    value.device_frees = counted.device_frees;
    value.statistics_reads = counted.statistics_reads;
    return WriteStruct("pypto_counters", value, counters);
  });
}

pypto_status pypto_worker_get_memory_info(pypto_worker* worker, pypto_memory_info* info) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    const auto found = pin->worker->GetMemoryInfo();
    if (!found.ok()) return Report(found.status());
    pypto_memory_info value{};
    value.free_bytes = found->free;
    value.total_bytes = found->total;
    value.resident_bytes = found->resident;
    value.staging_bytes = found->staging;
    value.workspace_bytes = found->workspace;
    value.program_bytes = found->programs;
    value.cached_bytes = found->cached;
    return WriteStruct("pypto_memory_info", value, info);
  });
}

int32_t pypto_hardware_library_found(void) {
  int32_t found = 0;
  static_cast<void>(Fence([&] {
    found = pypto::runtime::HardwareLibraryFound() ? 1 : 0;
    return PYPTO_OK;
  }));
  return found;
}

pypto_status pypto_worker_malloc(pypto_worker* worker, int64_t bytes, uint64_t* address) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> pin(worker);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(address);
    const auto made = pin->worker->Malloc(bytes);
    if (!made.ok()) return Report(made.status());
    *address = *made;
    return PYPTO_OK;
  });
}

pypto_status pypto_worker_free(pypto_worker* worker, uint64_t address) {
  return OnWorker(worker, [address](Worker& w) { return w.Free(address); });
}

pypto_status pypto_worker_copy_to(pypto_worker* worker, uint64_t destination, const void* source, int64_t bytes) {
  return OnWorker(worker, [&](Worker& w) { return w.CopyTo(destination, source, bytes); });
}

pypto_status pypto_worker_copy_from(pypto_worker* worker, void* destination, uint64_t source, int64_t bytes) {
  return OnWorker(worker, [&](Worker& w) { return w.CopyFrom(destination, source, bytes); });
}

}  // extern "C"
