// LaunchProfile: one launch timed leaf by leaf.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "arguments.h"
#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"
#include "registration_handle.h"
#include "trace_records.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

using runtime::LaunchProfile;
using runtime::ProfileLeaf;
using runtime::ProfileLine;
using runtime::ProfileOperation;
using runtime::ProfileRun;
using Dict = nb::typed<nb::dict, nb::str, nb::any>;

unsigned long long Print(uint64_t value) { return value; }

LaunchProfile ProfiledCall(nb::handle handle, nb::args objects) {
  runtime::Registration* registration = RegistrationOf(handle.ptr());
  if (registration == nullptr) throw nb::python_error();
  Arguments arguments;
  const auto* items = reinterpret_cast<PyTupleObject*>(objects.ptr())->ob_item;
  if (!arguments.Read(registration->image().plan, items, objects.size())) throw nb::python_error();
  runtime::CallOptions options;
  options.interrupt = InterruptBySignals();
  base::Result<LaunchProfile> profile = base::OkStatus();
  {
    const GilRelease released;
    profile = registration->Profile(arguments.views(), options);
  }
  DeliverTraceRecords();
  if (PyErr_Occurred()) throw nb::python_error();
  ThrowIfError(profile.status());
  if (!arguments.NoteWritten()) throw nb::python_error();
  return *std::move(profile);
}

Dict DictOf(const ProfileOperation& operation) {
  nb::dict dict;
  dict["name"] = operation.name;
  dict["file"] = operation.file;
  dict["path"] = operation.path;
  dict["line"] = operation.line;
  dict["ns"] = operation.ns;
  dict["bytes"] = operation.bytes;
  return dict;
}

Dict DictOf(const ProfileLeaf& leaf) {
  nb::dict dict;
  dict["leaf"] = leaf.leaf;
  dict["root"] = leaf.root;
  dict["kind"] = leaf.kind;
  dict["file"] = leaf.file;
  dict["line"] = leaf.line;
  nb::list operations;
  for (const ProfileOperation& operation : leaf.operations) operations.append(DictOf(operation));
  dict["operations"] = operations;
  dict["instances"] = leaf.instances;
  dict["tiles"] = leaf.tiles;
  dict["ns"] = leaf.ns;
  dict["bytes"] = leaf.bytes;
  return dict;
}

Dict DictOf(const ProfileRun& run) {
  nb::dict dict;
  dict["leaf"] = run.leaf;
  dict["task"] = run.task;
  dict["number"] = run.number;
  dict["core"] = run.core;
  dict["begin_ns"] = run.begin_ns;
  dict["ns"] = run.ns;
  dict["tiles"] = run.tiles;
  dict["bytes"] = run.bytes;
  return dict;
}

Dict DictOf(const ProfileLine& line) {
  nb::dict dict;
  dict["file"] = line.file;
  dict["path"] = line.path;
  dict["line"] = line.line;
  dict["text"] = line.text;
  dict["operations"] = line.operations;
  dict["ns"] = line.ns;
  dict["bytes"] = line.bytes;
  dict["tiles"] = line.tiles;
  return dict;
}

template <typename T>
nb::list DictsOf(const std::vector<T>& items) {
  nb::list list;
  for (const T& item : items) list.append(DictOf(item));
  return list;
}

Dict DictOf(const LaunchProfile& profile) {
  nb::dict dict;
  dict["kernel"] = profile.kernel;
  dict["device_ns"] = profile.device_ns;
  dict["busy_ns"] = profile.busy_ns;
  dict["cores"] = profile.cores;
  dict["root_instances"] = profile.root_instances;
  dict["device_tasks"] = profile.device_tasks;
  dict["leaf_tiles"] = profile.leaf_tiles;
  dict["dropped_runs"] = profile.dropped_runs;
  dict["lines"] = DictsOf(profile.lines);
  dict["leaves"] = DictsOf(profile.leaves);
  dict["runs"] = DictsOf(profile.runs);
  return dict;
}

// The trace; also written to `path` when that is given.
std::string ChromeTrace(const LaunchProfile& profile, const std::optional<nb::object>& path) {
  std::string text = profile.ToChromeTrace();
  if (path.has_value()) {
    const nb::object file = nb::module_::import_("builtins").attr("open")(*path, "w");
    file.attr("write")(text);
    file.attr("close")();
  }
  return text;
}

void BindParts(nb::module_& module) {
  nb::class_<ProfileOperation>(module, "ProfileOperation", "One operation in all tiles of its leaf.")
      .def_ro("name", &ProfileOperation::name)
      .def_ro("file", &ProfileOperation::file, "Base name.")
      .def_ro("path", &ProfileOperation::path, "Of the file; empty in a program from a file.")
      .def_ro("line", &ProfileOperation::line,
              "Of the file; in a program from a file of the kernel, its `def` being line 1. 0: unknown.")
      .def_ro("ns", &ProfileOperation::ns)
      .def_ro("bytes", &ProfileOperation::bytes, "Read from memory and written to it.");
  nb::class_<ProfileLeaf>(module, "ProfileLeaf", "All instances of one leaf of the plan.")
      .def_ro("leaf", &ProfileLeaf::leaf, "Its number among the leaves of the plan.")
      .def_ro("root", &ProfileLeaf::root, "The root function it belongs to.")
      .def_ro("kind", &ProfileLeaf::kind, "vector, cube or whole.")
      .def_ro("file", &ProfileLeaf::file)
      .def_ro("line", &ProfileLeaf::line)
      .def_ro("operations", &ProfileLeaf::operations, "In the order in which a tile runs them.")
      .def_ro("instances", &ProfileLeaf::instances)
      .def_ro("tiles", &ProfileLeaf::tiles)
      .def_ro("ns", &ProfileLeaf::ns, "On all cores together.")
      .def_ro("bytes", &ProfileLeaf::bytes);
  nb::class_<ProfileRun>(module, "ProfileRun", "Neighbouring tiles of one leaf of one instance, on one core.")
      .def_ro("leaf", &ProfileRun::leaf)
      .def_ro("task", &ProfileRun::task, "Number of the device task.")
      .def_ro("number", &ProfileRun::number, "Of the leaf in the task.")
      .def_ro("core", &ProfileRun::core)
      .def_ro("begin_ns", &ProfileRun::begin_ns, "Since the launch began on the device.")
      .def_ro("ns", &ProfileRun::ns)
      .def_ro("tiles", &ProfileRun::tiles)
      .def_ro("bytes", &ProfileRun::bytes);
  nb::class_<ProfileLine>(module, "ProfileLine", "All operations of one source line.")
      .def_ro("file", &ProfileLine::file)
      .def_ro("path", &ProfileLine::path)
      .def_ro("line", &ProfileLine::line)
      .def_ro("text", &ProfileLine::text, "What the line says.")
      .def_ro("operations", &ProfileLine::operations)
      .def_ro("ns", &ProfileLine::ns, "On all cores together.")
      .def_ro("bytes", &ProfileLine::bytes)
      .def_ro("tiles", &ProfileLine::tiles, "Of leaves with an operation of this line.");
}

std::string Repr(const LaunchProfile& profile) {
  return base::Format("<LaunchProfile of '%s': %.1f us on the device, %llu tiles, %zu lines>", profile.kernel.c_str(),
                      profile.device_ns / 1e3, Print(profile.leaf_tiles), profile.lines.size());
}

}  // namespace

void bind_profile(nb::module_& module) {
  BindParts(module);
  nb::class_<LaunchProfile>(module, "LaunchProfile", "One launch, timed leaf by leaf; nanoseconds and bytes.")
      .def_ro("kernel", &LaunchProfile::kernel)
      .def_ro("device_ns", &LaunchProfile::device_ns, "Start to end on the device's clock.")
      .def_ro("busy_ns", &LaunchProfile::busy_ns, "In leaves, on all cores together.")
      .def_ro("cores", &LaunchProfile::cores)
      .def_ro("root_instances", &LaunchProfile::root_instances)
      .def_ro("device_tasks", &LaunchProfile::device_tasks)
      .def_ro("leaf_tiles", &LaunchProfile::leaf_tiles)
      .def_ro("dropped_runs", &LaunchProfile::dropped_runs, "Runs that are in the sums only: a launch keeps 65,536.")
      .def_ro("lines", &LaunchProfile::lines, "By source line, the longest first.")
      .def_ro("leaves", &LaunchProfile::leaves, "Those that ran, in the order of the plan.")
      .def_ro("runs", &LaunchProfile::runs, "In the order of their begin.")
      .def(
          "to_dict", [](const LaunchProfile& profile) { return DictOf(profile); }, "Everything, as plain values.")
      .def(
          "to_json",
          [](const LaunchProfile& profile) {
            return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(DictOf(profile)));
          },
          "to_dict() as JSON.")
      .def("chrome_trace", &ChromeTrace, nb::arg("path").none() = nb::none(),
           "The runs as JSON for chrome://tracing or Perfetto; written to `path` when that is given.")
      .def("__str__", &LaunchProfile::ToText)
      .def("__repr__", &Repr);
  module.def("profiled_call", &ProfiledCall, nb::arg("handle"), nb::arg("args"),
             "Dispatches once, timed leaf by leaf; all arguments are given.");
}

}  // namespace pypto::bindings
