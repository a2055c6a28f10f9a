// Programs out of device binaries that were built elsewhere.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind_errors.h"
#include "bindings.h"
#include "image_object.h"
#include "pypto/program/prebuilt.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

// Name, whether it is a tensor, number of its dtype, direction, dims.
using Row = std::tuple<std::string, bool, int, std::string, std::vector<std::variant<int64_t, std::string>>>;

program::Direction ToDirection(const std::string& name) {
  if (name == "in") return program::Direction::kIn;
  if (name == "out") return program::Direction::kOut;
  if (name == "inout") return program::Direction::kInOut;
  throw nb::value_error(("direction '" + name + "' is none of in, out, inout").c_str());
}

program::PrebuiltParameter ToParameter(const Row& row) {
  const auto& [name, is_tensor, dtype, direction, dims] = row;
  if (dtype < 0 || dtype >= program::kDTypeCount) throw nb::value_error("unknown dtype number");
  program::PrebuiltParameter parameter{name, is_tensor, static_cast<program::DType>(dtype), ToDirection(direction), {}};
  for (const auto& dim : dims) {
    if (const auto* size = std::get_if<int64_t>(&dim)) {
      parameter.dims.push_back({*size, {}});
    } else {
      parameter.dims.push_back({0, std::get<std::string>(dim)});
    }
  }
  return parameter;
}

CompiledImage MakePrebuilt(const nb::bytes& code, const std::string& entry, const std::vector<Row>& rows,
                           uint32_t blocks, int core, bool mix, const std::string& platform) {
  program::DeviceBinary binary;
  binary.entry = entry;
  binary.core = static_cast<program::CoreKind>(core);
  binary.takes_sync_address = mix;
  binary.blocks = blocks;
  const auto* bytes = static_cast<const uint8_t*>(code.data());
  binary.bytes.assign(bytes, bytes + code.size());
  std::vector<program::PrebuiltParameter> parameters;
  for (const Row& row : rows) parameters.push_back(ToParameter(row));
  return CompiledImage(Unwrap(program::MakePrebuilt(platform, std::move(parameters), std::move(binary))));
}

}  // namespace

nb::list BinariesOf(const program::Image& image) {
  static constexpr const char* kCores[] = {"aicore", "vector", "cube"};
  nb::list rows;
  for (const program::DeviceBinary& binary : image.binaries) {
    nb::dict row;
    row["chip"] = binary.chip;
    row["entry"] = binary.entry;
    row["core"] = kCores[static_cast<size_t>(binary.core)];
    row["packed"] = binary.layout == program::BinaryLayout::kPackedArguments;
    row["takes_sync_address"] = binary.takes_sync_address;
    row["blocks"] = binary.blocks;
    row["bytes"] = binary.bytes.size();
    rows.append(row);
  }
  return rows;
}

void bind_prebuilt(nb::module_& module) {
  module.def("make_prebuilt", &MakePrebuilt, nb::arg("code"), nb::arg("entry"), nb::arg("parameters"),
             nb::arg("blocks"), nb::arg("core"), nb::arg("mix"), nb::arg("platform"),
             "A program of a device binary; parameters are (name, is_tensor, dtype, direction, dims).");
}

}  // namespace pypto::bindings
