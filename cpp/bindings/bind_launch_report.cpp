// WorkspaceReport: figures of the last launch, by pool name.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>

#include "bindings.h"
#include "launch_report_object.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

constexpr std::array<const char*, 3> kPools = {"root_inner", "assemble_outcast", "exclusive_outcast"};

template <typename T>
nb::dict ByPool(const std::array<T, 3>& values) {
  nb::dict dict;
  for (size_t i = 0; i < kPools.size(); ++i) dict[kPools[i]] = values[i];
  return dict;
}

std::string Text(const runtime::LaunchReport& report) {
  return base::Format("<WorkspaceReport of '%s': %llu launches, last %.1f us, %llu root instances in %llu tasks>",
                      report.kernel.c_str(), static_cast<unsigned long long>(report.launches), report.device_wall_us,
                      static_cast<unsigned long long>(report.statistics.root_instances),
                      static_cast<unsigned long long>(report.statistics.device_tasks));
}

}  // namespace

PyObject* MakeLaunchReport(runtime::LaunchReport report) {
  try {
    return nb::cast(std::move(report)).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

void bind_launch_report(nb::module_& module) {
  using runtime::LaunchReport;
  nb::class_<LaunchReport>(module, "WorkspaceReport", "Figures of the last launch of a handle; bytes, microseconds.")
      .def_ro("kernel", &LaunchReport::kernel)
      .def_ro("launches", &LaunchReport::launches, "Launches of the handle so far.")
      .def_ro("device_wall_us", &LaunchReport::device_wall_us)
      .def_prop_ro("root_instances", [](const LaunchReport& r) { return r.statistics.root_instances; })
      .def_prop_ro("device_tasks", [](const LaunchReport& r) { return r.statistics.device_tasks; })
      .def_prop_ro("leaf_tiles", [](const LaunchReport& r) { return r.statistics.leaf_tiles; })
      .def_prop_ro("alloc_failures", [](const LaunchReport& r) { return r.statistics.alloc_failures; })
      .def_prop_ro("total_bytes", [](const LaunchReport& r) { return r.budget.tensor_bytes; })
      .def_prop_ro("boundary_bytes", [](const LaunchReport& r) { return r.budget.boundary_bytes; })
      .def_prop_ro("parallelism", [](const LaunchReport& r) { return r.budget.parallelism; })
      .def_prop_ro("peak_bytes", [](const LaunchReport& r) { return ByPool(r.usage.peak); })
      .def_prop_ro("capacity_bytes", [](const LaunchReport& r) { return ByPool(r.usage.capacity); })
      .def_prop_ro("unit_bytes", [](const LaunchReport& r) { return ByPool(r.recommendation.raw_per_parallel_bytes); })
      .def_prop_ro("actual_depths", [](const LaunchReport& r) { return ByPool(r.recommendation.actual_depths); })
      .def_prop_ro("recommended_depths",
                   [](const LaunchReport& r) { return ByPool(r.recommendation.recommended_depths); })
      .def_prop_ro(
          "max_recommended_depths", [](const LaunchReport& r) { return ByPool(r.max_recommended_depths); },
          "Element-wise maximum over all launches of the handle.")
      .def_prop_ro("next_depth_total_bytes",
                   [](const LaunchReport& r) { return ByPool(r.recommendation.next_depth_total_bytes); })
      .def("__repr__", &Text);
}

}  // namespace pypto::bindings
