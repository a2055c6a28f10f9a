// WorkspaceReport: figures of the last launch of a handle, by pool name, and of its device tasks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings.h"
#include "launch_report_object.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

using runtime::LaunchReport;
using runtime::TaskReport;
using workspace::PoolUsage;

using NumberByPool = nb::typed<nb::dict, nb::str, nb::int_>;
using UsageByPool = nb::typed<nb::dict, nb::str, NumberByPool>;
using Copies = nb::typed<nb::list, UsageByPool>;

constexpr std::array<const char*, 3> kPools = {"root_inner", "assemble_outcast", "exclusive_outcast"};
constexpr std::array<const char*, 3> kModes = {"by count", "by memory", "per pool"};

unsigned long long Print(uint64_t value) { return value; }

template <typename T>
NumberByPool ByPool(const std::array<T, 3>& values) {
  nb::dict dict;
  for (size_t i = 0; i < kPools.size(); ++i) dict[kPools[i]] = values[i];
  return dict;
}

Copies UsageOf(const std::vector<PoolUsage>& copies, bool with_current) {
  nb::list list;
  for (const PoolUsage& usage : copies) {
    nb::dict pools;
    for (size_t i = 0; i < kPools.size(); ++i) {
      nb::dict pool;
      if (with_current) pool["current"] = usage.current[i];
      pool["peak"] = usage.peak[i];
      pool["capacity"] = usage.capacity[i];
      pools[kPools[i]] = pool;
    }
    list.append(pools);
  }
  return list;
}

// The attributes of an object by name; members of lists by their own to_dict, where they have one.
nb::dict AttributesOf(nb::handle object, std::span<const char* const> names) {
  nb::dict dict;
  for (const char* name : names) {
    nb::object value = object.attr(name);
    if (nb::isinstance<nb::list>(value)) {
      nb::list items;
      for (nb::handle item : value) {
        items.append(nb::hasattr(item, "to_dict") ? item.attr("to_dict")() : nb::borrow(item));
      }
      value = items;
    }
    dict[name] = value;
  }
  return dict;
}

constexpr const char* kReportNames[] = {"kernel",
                                        "launches",
                                        "device_wall_us",
                                        "mode",
                                        "parallelism",
                                        "root_instances",
                                        "device_tasks",
                                        "leaf_tiles",
                                        "alloc_failures",
                                        "total_bytes",
                                        "boundary_bytes",
                                        "unit_bytes",
                                        "peak_bytes",
                                        "capacity_bytes",
                                        "actual_depths",
                                        "recommended_depths",
                                        "max_recommended_depths",
                                        "next_depth_total_bytes",
                                        "copies",
                                        "tasks"};
constexpr const char* kTaskNames[] = {"task_id",   "tasks",     "stitch_count", "alloc_failures",     "failed_pool",
                                      "requested", "available", "capacity",     "recommended_depths", "copies"};

std::string Repr(const LaunchReport& report) {
  return base::Format("<WorkspaceReport of '%s': %llu launches, last %.1f us, %llu root instances in %llu tasks>",
                      report.kernel.c_str(), Print(report.launches), report.device_wall_us,
                      Print(report.statistics.root_instances), Print(report.statistics.device_tasks));
}

std::string Text(const LaunchReport& report) {
  const workspace::Budget& budget = report.budget;
  std::string text = base::Format(
      "%s: %llu launches; the last: %.1f us on the device, %llu root instances in %llu tasks, %llu allocation "
      "failures\n"
      "workspace %llu B (%s), %u %s, boundary %llu B\n%-18s%12s%8s%13s%14s%14s%14s%12s\n",
      report.kernel.c_str(), Print(report.launches), report.device_wall_us, Print(report.statistics.root_instances),
      Print(report.statistics.device_tasks), Print(report.statistics.alloc_failures), Print(budget.tensor_bytes),
      kModes[static_cast<size_t>(budget.mode)], budget.parallelism, budget.parallelism == 1 ? "copy" : "copies",
      Print(budget.boundary_bytes), "", "unit", "depth", "recommended", "all launches", "peak", "capacity",
      "next depth");
  const workspace::Recommendation& figures = report.recommendation;
  for (size_t i = 0; i < kPools.size(); ++i) {
    text +=
        base::Format("%-18s%12llu%8u%13u%14u%14llu%14llu%12llu%s", kPools[i], Print(figures.raw_per_parallel_bytes[i]),
                     figures.actual_depths[i], figures.recommended_depths[i], report.max_recommended_depths[i],
                     Print(report.usage.peak[i]), Print(report.usage.capacity[i]),
                     Print(figures.next_depth_total_bytes[i]), i + 1 < kPools.size() ? "\n" : "");
  }
  return text;
}

std::string TaskRepr(const TaskReport& task) {
  return base::Format("<WorkspaceTask %llu: %llu root instances, recommended depths [%u, %u, %u]%s>",
                      Print(task.task_id), Print(task.stitch_count), task.recommended_depths[0],
                      task.recommended_depths[1], task.recommended_depths[2],
                      task.alloc_failures != 0 ? ", closed by a full pool" : "");
}

void BindTask(nb::module_& module) {
  nb::class_<TaskReport>(module, "WorkspaceTask",
                         "One device task of a launch; behind 1,024 of them one that sums all further ones. Bytes.")
      .def_ro("task_id", &TaskReport::task_id)
      .def_ro("tasks", &TaskReport::tasks, "1, or how many tasks it sums.")
      .def_ro("stitch_count", &TaskReport::stitch_count, "Root instances in it.")
      .def_ro("alloc_failures", &TaskReport::alloc_failures, "1 when a full pool closed it.")
      .def_prop_ro(
          "failed_pool",
          [](const TaskReport& t) -> std::optional<std::string> {
            if (t.alloc_failures == 0) return std::nullopt;
            return kPools[static_cast<size_t>(t.failed_pool)];
          },
          "The pool that closed it, or None.")
      .def_ro("requested", &TaskReport::requested, "What the next instance takes from that pool.")
      .def_ro("available", &TaskReport::available)
      .def_ro("capacity", &TaskReport::capacity)
      .def_prop_ro("recommended_depths", [](const TaskReport& t) { return ByPool(t.recommended_depths); })
      .def_prop_ro(
          "copies", [](const TaskReport& t) { return UsageOf(t.copies, true); },
          "Per parallel copy and pool: current (when the task was closed), peak, capacity.")
      .def("to_dict", [](nb::handle self) { return AttributesOf(self, kTaskNames); })
      .def("__repr__", &TaskRepr);
}

}  // namespace

PyObject* MakeLaunchReport(LaunchReport report) {
  try {
    return nb::cast(std::move(report)).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

void bind_launch_report(nb::module_& module) {
  BindTask(module);
  nb::class_<LaunchReport>(module, "WorkspaceReport", "Figures of the last launch of a handle; bytes, microseconds.")
      .def_ro("kernel", &LaunchReport::kernel)
      .def_ro("launches", &LaunchReport::launches, "Launches of the handle so far.")
      .def_ro("device_wall_us", &LaunchReport::device_wall_us)
      .def_prop_ro(
          "mode", [](const LaunchReport& r) { return kModes[static_cast<size_t>(r.budget.mode)]; },
          "Which option rules: by count, by memory, per pool.")
      .def_prop_ro("parallelism", [](const LaunchReport& r) { return r.budget.parallelism; })
      .def_prop_ro("root_instances", [](const LaunchReport& r) { return r.statistics.root_instances; })
      .def_prop_ro("device_tasks", [](const LaunchReport& r) { return r.statistics.device_tasks; })
      .def_prop_ro("leaf_tiles", [](const LaunchReport& r) { return r.statistics.leaf_tiles; })
      .def_prop_ro("alloc_failures", [](const LaunchReport& r) { return r.statistics.alloc_failures; })
      .def_prop_ro(
          "total_bytes", [](const LaunchReport& r) { return r.budget.tensor_bytes; },
          "The workspace without the engine's own items.")
      .def_prop_ro("boundary_bytes", [](const LaunchReport& r) { return r.budget.boundary_bytes; })
      .def_prop_ro(
          "unit_bytes", [](const LaunchReport& r) { return ByPool(r.recommendation.raw_per_parallel_bytes); },
          "What depth 1 takes.")
      .def_prop_ro(
          "peak_bytes", [](const LaunchReport& r) { return ByPool(r.usage.peak); }, "The most over all copies.")
      .def_prop_ro("capacity_bytes", [](const LaunchReport& r) { return ByPool(r.usage.capacity); })
      .def_prop_ro("actual_depths", [](const LaunchReport& r) { return ByPool(r.recommendation.actual_depths); })
      .def_prop_ro("recommended_depths",
                   [](const LaunchReport& r) { return ByPool(r.recommendation.recommended_depths); })
      .def_prop_ro(
          "max_recommended_depths", [](const LaunchReport& r) { return ByPool(r.max_recommended_depths); },
          "Element-wise maximum over all launches of the handle.")
      .def_prop_ro(
          "next_depth_total_bytes",
          [](const LaunchReport& r) { return ByPool(r.recommendation.next_depth_total_bytes); },
          "By how much the workspace grows when that depth is raised by one.")
      .def_prop_ro(
          "copies", [](const LaunchReport& r) { return UsageOf(r.copies, false); },
          "Per parallel copy and pool: peak and capacity.")
      .def_prop_ro(
          "tasks", [](const LaunchReport& r) { return r.tasks; },
          "The device tasks of the last launch, when it ran with log level INFO; else empty.")
      .def(
          "to_dict", [](nb::handle self) { return AttributesOf(self, kReportNames); }, "Everything, as plain values.")
      .def("__str__", &Text)
      .def("__repr__", &Repr);
}

}  // namespace pypto::bindings
