// Programs: files, facts, parameters, workspace budgets.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>

#include "fence.h"
#include "objects.h"
#include "pypto/base/sha256.h"
#include "pypto/runtime/program_budget.h"

namespace pypto::capi {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

struct FileCloser {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

Status IoError(const char* what, const char* path) {
  const int error = errno;
  return MakeStatus(StatusCode::kIo, "cannot %s the program file %s: %s", what, path, std::strerror(error));
}

Result<std::vector<uint8_t>> ReadFile(const char* path) {
  const File file(std::fopen(path, "rb"));
  if (file == nullptr) return IoError("open", path);
  std::vector<uint8_t> bytes;
  uint8_t part[1 << 14];
  while (const size_t count = std::fread(part, 1, sizeof(part), file.get())) {
    bytes.insert(bytes.end(), part, part + count);
  }
  if (std::ferror(file.get()) != 0) return IoError("read", path);
  return bytes;
}

// Beside the target first, then under its name: no reader sees half a file.
Status WriteFile(const char* path, const std::vector<uint8_t>& bytes) {
  const std::string part = std::string(path) + "." + std::to_string(getpid()) + ".part";
  File file(std::fopen(part.c_str(), "wb"));
  if (file == nullptr) return IoError("write", path);
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  written = std::fclose(file.release()) == 0 && written;
  if (written && std::rename(part.c_str(), path) == 0) return base::OkStatus();
  Status failed = IoError("write", path);
  static_cast<void>(std::remove(part.c_str()));
  return failed;
}

pypto_status GiveProgram(Result<std::shared_ptr<const program::Image>> image, pypto_program** out) {
  if (!image.ok()) return Report(image.status());
  GiveHandle(std::make_unique<ProgramObject>(std::move(image).value()), out);
  return PYPTO_OK;
}

void FillTensorParameter(const program::Plan& plan, const program::PlanParameter& parameter, pypto_parameter* out) {
  out->dtype = static_cast<uint32_t>(parameter.dtype);
  out->direction = static_cast<uint32_t>(parameter.direction);
  out->rank = static_cast<uint32_t>(parameter.dims.size());
  for (size_t i = 0; i < parameter.dims.size() && i < PYPTO_MAX_RANK; ++i) {
    const program::Dim& dim = parameter.dims[i];
    out->dims[i] = dim.symbol < 0 ? dim.value : -1;
    if (dim.symbol >= 0) out->symbols[i] = plan.symbols[static_cast<size_t>(dim.symbol)].name.c_str();
  }
}

pypto_budget BudgetOf(const workspace::Budget& budget) {
  pypto_budget out{};
  out.parallelism = budget.parallelism;
  for (size_t i = 0; i < workspace::kPoolCount; ++i) {
    const workspace::PoolBudget& pool = budget.pools[i];
    out.depths[i] = pool.depth;
    out.present[i] = pool.present ? 1 : 0;
    out.unit_bytes[i] = pool.unit;
    out.capacity_bytes[i] = pool.capacity;
    out.next_depth_bytes[i] = workspace::NextDepthBytes(budget, static_cast<workspace::Pool>(i));
  }
  out.boundary_bytes = budget.boundary_bytes;
  out.tensor_bytes = budget.tensor_bytes;
  out.engine_bytes = budget.engine_bytes;
  out.total_bytes = budget.total_bytes;
  return out;
}

void WriteItems(const workspace::Budget& budget, pypto_line_item* items, size_t capacity, size_t* item_count) {
  const std::vector<workspace::LineItem> lines = workspace::DescribeBudget(budget);
  for (size_t i = 0; items != nullptr && i < lines.size() && i < capacity; ++i) {
    items[i].bytes = lines[i].bytes;
    WriteArray(lines[i].name, items[i].name);
    WriteArray(lines[i].text, items[i].text);
  }
  if (item_count != nullptr) *item_count = lines.size();
}

}  // namespace

ProgramObject::ProgramObject(std::shared_ptr<const program::Image> read)
    : image(std::move(read)), fingerprint(base::DigestHex(image->fingerprint)) {}

}  // namespace pypto::capi

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

size_t pypto_dtype_bytes(uint32_t dtype) {
  if (dtype >= static_cast<uint32_t>(pypto::program::kDTypeCount)) return 0;
  return pypto::program::BytesOf(static_cast<pypto::program::DType>(dtype));
}

pypto_status pypto_program_load(const char* path, pypto_program** program) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(path);
    PYPTO_REQUIRE(program);
    const auto bytes = ReadFile(path);
    if (!bytes.ok()) return Report(bytes.status());
    auto image = pypto::program::ReadImage(*bytes);
    if (!image.ok()) return Report(Status(image.status()).WithContext("while reading " + std::string(path)));
    return GiveProgram(std::move(image), program);
  });
}

pypto_status pypto_program_load_bytes(const void* data, size_t bytes, pypto_program** program) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(data);
    PYPTO_REQUIRE(program);
    return GiveProgram(pypto::program::ReadImage({static_cast<const uint8_t*>(data), bytes}), program);
  });
}

pypto_status pypto_program_save(pypto_program* program, const char* path) {
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(path);
    return Report(WriteFile(path, pin->image->bytes));
  });
}

pypto_status pypto_program_release(pypto_program* program) {
  if (program == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    return pin ? Remove(pin) : pin.Refused();
  });
}

pypto_status pypto_program_get_info(pypto_program* program, pypto_program_info* info) {
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    const pypto::program::Image& image = *pin->image;
    pypto_program_info value{};
    value.parameter_count = static_cast<uint32_t>(image.plan.parameters.size());
    value.binary_count = static_cast<uint32_t>(image.binaries.size());
    value.name = image.plan.name.c_str();
    value.platform = image.platform.c_str();
    value.fingerprint = pin->fingerprint.c_str();
    value.bytes = image.bytes.data();
    value.byte_count = image.bytes.size();
    return WriteStruct("pypto_program_info", value, info);
  });
}

pypto_status pypto_program_get_text(pypto_program* program, const char** text) {
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(text);
    std::call_once(pin->text_made, [&] { pin->text = pypto::program::ToText(pin->image->plan, pin->image->debug); });
    *text = pin->text.c_str();
    return PYPTO_OK;
  });
}

pypto_status pypto_program_get_parameter(pypto_program* program, size_t index, pypto_parameter* parameter) {
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    const pypto::program::Plan& plan = pin->image->plan;
    if (index >= plan.parameters.size()) {
      return Report(MakeStatus(StatusCode::kOutOfRange, "'%s' has %zu parameters, there is no parameter %zu",
                               plan.name.c_str(), plan.parameters.size(), index));
    }
    const pypto::program::PlanParameter& found = plan.parameters[index];
    pypto_parameter value{};
    value.name = found.name.c_str();
    value.partial_reason = found.partial_reason.c_str();
    if (found.is_tensor) {
      FillTensorParameter(plan, found, &value);
    } else {
      const bool is_int = found.scalar_kind == pypto::program::ScalarKind::kInt;
      value.kind = is_int ? PYPTO_PARAMETER_INT : PYPTO_PARAMETER_FLOAT;
    }
    return WriteStruct("pypto_parameter", value, parameter);
  });
}

pypto_status pypto_program_get_budget(pypto_program* program, const pypto_named_value* values, size_t value_count,
                                      pypto_budget* budget, pypto_line_item* items, size_t capacity,
                                      size_t* item_count) {
  return Fence([&]() -> pypto_status {
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    if (value_count != 0) PYPTO_REQUIRE(values);
    pypto::runtime::NamedValues named;
    for (size_t i = 0; i < value_count; ++i) {
      PYPTO_REQUIRE(values[i].name);
      named[values[i].name] = values[i].value;
    }
    const auto resolved = pypto::runtime::ResolveProgramBudget(pin->image->plan, named, 0);
    if (!resolved.ok()) return Report(resolved.status());
    if (budget != nullptr) {
      const pypto_status status = WriteStruct("pypto_budget", BudgetOf(*resolved), budget);
      if (status != PYPTO_OK) return status;
    }
    WriteItems(*resolved, items, capacity, item_count);
    return PYPTO_OK;
  });
}

}  // extern "C"
