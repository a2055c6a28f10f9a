// From a traced program to a compiled image, image files, and the workspace figures of an image.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bind_errors.h"
#include "bindings.h"
#include "gil.h"
#include "image_object.h"
#include "pypto/base/sha256.h"
#include "pypto/compile/compile.h"
#include "pypto/runtime/program_budget.h"
#include "pypto/workspace/budget.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

const char* DirectionName(program::Direction direction) {
  switch (direction) {
    case program::Direction::kIn: return "in";
    case program::Direction::kOut: return "out";
    case program::Direction::kInOut: return "inout";
    case program::Direction::kUnused: return "unused";
  }
  return "unknown";
}

// One dict per parameter; a dim is an int or the name of its symbol.
nb::list Parameters(const CompiledImage& self) {
  const program::Plan& plan = self.image().plan;
  nb::list rows;
  for (const program::PlanParameter& parameter : plan.parameters) {
    nb::dict row;
    row["name"] = parameter.name;
    row["is_tensor"] = parameter.is_tensor;
    if (parameter.is_tensor) {
      nb::list dims;
      for (const program::Dim& dim : parameter.dims) {
        if (dim.symbol < 0) {
          dims.append(dim.value);
        } else {
          dims.append(plan.symbols[static_cast<size_t>(dim.symbol)].name);
        }
      }
      row["dims"] = dims;
      row["dtype"] = static_cast<int>(parameter.dtype);
      row["direction"] = DirectionName(parameter.direction);
      row["partial_reason"] = parameter.partial_reason;
    } else {
      row["is_float"] = parameter.scalar_kind == program::ScalarKind::kFloat;
    }
    rows.append(row);
  }
  return rows;
}

nb::list Sections(const CompiledImage& self) {
  nb::list rows;
  for (const program::SectionInfo& section : program::ListSections(self.image())) {
    rows.append(nb::make_tuple(section.name, section.bytes));
  }
  return rows;
}

nb::dict BudgetDict(const CompiledImage& self, const runtime::NamedValues& values, uint64_t engine_bytes) {
  const workspace::Budget budget = Unwrap(runtime::ResolveProgramBudget(self.image().plan, values, engine_bytes));
  nb::list pools;
  for (int index = 0; index < workspace::kPoolCount; ++index) {
    const auto which = static_cast<workspace::Pool>(index);
    const workspace::PoolBudget& pool = budget.pool(which);
    nb::dict row;
    row["name"] = std::string(workspace::PoolName(which));
    row["present"] = pool.present;
    row["depth"] = pool.depth;
    row["unit"] = pool.unit;
    row["capacity"] = pool.capacity;
    row["next_depth_bytes"] = workspace::NextDepthBytes(budget, which);
    pools.append(row);
  }
  nb::list items;
  for (const workspace::LineItem& item : workspace::DescribeBudget(budget)) {
    items.append(nb::make_tuple(item.name, item.bytes, item.text));
  }
  nb::dict result;
  result["pools"] = pools;
  result["items"] = items;
  result["boundary_bytes"] = budget.boundary_bytes;
  result["parallelism"] = budget.parallelism;
  result["tensor_bytes"] = budget.tensor_bytes;
  result["engine_bytes"] = budget.engine_bytes;
  result["total_bytes"] = budget.total_bytes;
  return result;
}

CompiledImage CompileProgram(const TracedProgram& traced, const std::string& platform, uint32_t max_num,
                             uint64_t max_workspace_kb, const std::array<uint32_t, 3>& num_per_pool,
                             uint32_t parallelism) {
  compile::CompileOptions options;
  options.platform = platform;
  options.plan.stitch_function_max_num = max_num;
  options.plan.max_workspace_kb = max_workspace_kb;
  options.plan.stitch_function_num_per_pool = num_per_pool;
  options.plan.parallelism = parallelism;
  base::Result<std::shared_ptr<const program::Image>> image = [&] {
    const GilRelease released;
    return compile::Compile(traced.program(), options);
  }();
  return CompiledImage(Unwrap(std::move(image)));
}

CompiledImage ReadBytes(const nb::bytes& data) {
  const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(data.data()), data.size());
  return CompiledImage(Unwrap(program::ReadImage(bytes)));
}

}  // namespace

std::vector<std::string> NamesOf(const std::vector<program::SourceFile>& files) {
  std::vector<std::string> names;
  for (const program::SourceFile& file : files) names.push_back(file.name);
  return names;
}

void bind_compile(nb::module_& module) {
  nb::class_<CompiledImage>(module, "CompiledImage", nb::is_weak_referenceable(),
                            "A compiled program. Immutable; any thread.")
      .def_prop_ro("name", [](const CompiledImage& self) { return self.image().plan.name; })
      .def_prop_ro("platform", [](const CompiledImage& self) { return self.image().platform; })
      .def_prop_ro("fingerprint", [](const CompiledImage& self) { return base::DigestHex(self.image().fingerprint); })
      .def_prop_ro("binaries", [](const CompiledImage& self) { return BinariesOf(self.image()); })
      .def_prop_ro("sections", &Sections, "(kind, bytes) of each section of the file, in its order.")
      .def_prop_ro("source",
                   [](const CompiledImage& self) {
                     const auto& files = self.image().debug.files;
                     return files.empty() ? std::string() : files.front().text;
                   })
      .def_prop_ro("source_files", [](const CompiledImage& self) { return NamesOf(self.image().debug.files); })
      .def_prop_ro("source_hash", [](const CompiledImage& self) { return program::SourceHash(self.image().debug); })
      .def_prop_ro("parameters", &Parameters, "One dict per parameter, in signature order.")
      .def_prop_ro("options",
                   [](const CompiledImage& self) {
                     const program::PlanOptions& options = self.image().plan.options;
                     nb::dict values;
                     values["stitch_function_max_num"] = options.stitch_function_max_num;
                     values["max_workspace_kb"] = options.max_workspace_kb;
                     values["stitch_function_num_per_pool"] = options.stitch_function_num_per_pool;
                     values["device_sched_parallelism"] = options.parallelism;
                     return values;
                   })
      .def_prop_ro(
          "bytes",
          [](const CompiledImage& self) { return nb::bytes(self.image().bytes.data(), self.image().bytes.size()); })
      .def(
          "with_kernel_at",
          [](const CompiledImage& self, const std::string& path, int32_t def_line) {
            return CompiledImage(program::WithKernelAt(self.image(), path, def_line));
          },
          nb::arg("path"), nb::arg("def_line"), "The same image, with the place of its kernel in this process.")
      .def("to_text", [](const CompiledImage& self) { return program::ToText(self.image().plan, self.image().debug); })
      .def("workspace_budget", &BudgetDict, nb::arg("values"), nb::arg("engine_bytes") = 0,
           "The workspace for given dims and scalars by name: pools, line items and totals in bytes.");

  module.def("compile", &CompileProgram, nb::arg("program"), nb::arg("platform"), nb::arg("stitch_function_max_num"),
             nb::arg("max_workspace_kb"), nb::arg("stitch_function_num_per_pool"), nb::arg("parallelism"),
             "Plans a program for a platform. Raises CompileError or WorkspaceError with the source place.");
  module.def("read_image", &ReadBytes, nb::arg("data"),
             "Reads the bytes of a program file; ProgramFormatError when they are damaged or newer.");
}

}  // namespace pypto::bindings
