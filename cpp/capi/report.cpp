// What the device wrote about the last launch of a registration.
#include <algorithm>

#include "fence.h"
#include "objects.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)

namespace {

pypto_workspace_report ReportOf(const pypto::runtime::LaunchReport& report) {
  pypto_workspace_report value{};
  value.parallelism = report.budget.parallelism;
  value.launches = report.launches;
  value.device_wall_us = report.device_wall_us;
  value.root_instances = report.statistics.root_instances;
  value.device_tasks = report.statistics.device_tasks;
  value.leaf_tiles = report.statistics.leaf_tiles;
  value.alloc_failures = report.statistics.alloc_failures;
  value.total_bytes = report.budget.tensor_bytes;
  value.boundary_bytes = report.budget.boundary_bytes;
  for (size_t i = 0; i < pypto::workspace::kPoolCount; ++i) {
    value.peak_bytes[i] = report.usage.peak[i];
    value.capacity_bytes[i] = report.usage.capacity[i];
    value.unit_bytes[i] = report.recommendation.raw_per_parallel_bytes[i];
    value.next_depth_bytes[i] = report.recommendation.next_depth_total_bytes[i];
    value.actual_depths[i] = report.recommendation.actual_depths[i];
    value.recommended_depths[i] = report.recommendation.recommended_depths[i];
    value.max_recommended_depths[i] = report.max_recommended_depths[i];
  }
  return value;
}

pypto_task_report TaskOf(const pypto::runtime::TaskReport& task) {
  pypto_task_report value{};
  value.task_id = task.task_id;
  value.tasks = task.tasks;
  value.stitch_count = task.stitch_count;
  value.alloc_failures = task.alloc_failures;
  value.requested_bytes = task.requested;
  value.available_bytes = task.available;
  value.failed_capacity_bytes = task.capacity;
  value.failed_pool = static_cast<uint32_t>(task.failed_pool);
  for (size_t i = 0; i < pypto::workspace::kPoolCount; ++i) {
    value.recommended_depths[i] = task.recommended_depths[i];
    for (const pypto::workspace::PoolUsage& copy : task.copies) {
      value.current_bytes[i] = std::max(value.current_bytes[i], copy.current[i]);
      value.peak_bytes[i] = std::max(value.peak_bytes[i], copy.peak[i]);
    }
  }
  return value;
}

pypto_pool_usage UsageOf(const pypto::workspace::PoolUsage& usage) {
  pypto_pool_usage value{};
  for (size_t i = 0; i < pypto::workspace::kPoolCount; ++i) {
    value.current_bytes[i] = usage.current[i];
    value.peak_bytes[i] = usage.peak[i];
    value.capacity_bytes[i] = usage.capacity[i];
  }
  return value;
}

}  // namespace

extern "C" {

pypto_status pypto_registration_get_report(pypto_registration* registration, pypto_workspace_report* report) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    const auto read = pin->registration->Report();
    if (!read.ok()) return Report(read.status());
    return WriteStruct("pypto_workspace_report", ReportOf(*read), report);
  });
}

pypto_status pypto_registration_get_tasks(pypto_registration* registration, pypto_task_report* tasks, size_t capacity,
                                          size_t* task_count) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(task_count);
    const auto read = pin->registration->Report();
    if (!read.ok()) return Report(read.status());
    for (size_t i = 0; tasks != nullptr && i < read->tasks.size() && i < capacity; ++i)
      tasks[i] = TaskOf(read->tasks[i]);
    *task_count = read->tasks.size();
    return PYPTO_OK;
  });
}

pypto_status pypto_registration_get_task_copies(pypto_registration* registration, size_t task, pypto_pool_usage* copies,
                                                size_t capacity, size_t* copy_count) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(copy_count);
    const auto read = pin->registration->Report();
    if (!read.ok()) return Report(read.status());
    if (task >= read->tasks.size()) {
      return Report(pypto::base::MakeStatus(pypto::base::StatusCode::kOutOfRange,
                                            "the last launch has %zu task reports, there is no task %zu",
                                            read->tasks.size(), task));
    }
    const auto& found = read->tasks[task].copies;
    for (size_t i = 0; copies != nullptr && i < found.size() && i < capacity; ++i) copies[i] = UsageOf(found[i]);
    *copy_count = found.size();
    return PYPTO_OK;
  });
}

}  // extern "C"
