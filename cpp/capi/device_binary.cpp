// Programs out of device binaries that another compiler built.
#include "fence.h"
#include "objects.h"
#include "pypto/program/prebuilt.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::program::DeviceBinary;
using pypto::program::PrebuiltParameter;

namespace {

pypto_status ReadDims(const pypto_parameter& given, size_t index, PrebuiltParameter* out) {
  if (given.rank > PYPTO_MAX_RANK) {
    return Refuse("parameter %zu ('%s') has rank %u, the most is %d", index, given.name, given.rank, PYPTO_MAX_RANK);
  }
  for (uint32_t dim = 0; dim < given.rank; ++dim) {
    const bool dynamic = given.dims[dim] == -1;
    if (dynamic && given.symbols[dim] == nullptr) {
      return Refuse("dim %u of parameter %zu ('%s') is dynamic (-1) but has no symbol", dim, index, given.name);
    }
    out->dims.push_back(dynamic ? pypto::program::PrebuiltDim{0, given.symbols[dim]}
                                : pypto::program::PrebuiltDim{given.dims[dim], {}});
  }
  return PYPTO_OK;
}

pypto_status ReadParameter(const pypto_parameter& given, size_t index, PrebuiltParameter* out) {
  if (given.name == nullptr) return Refuse("parameter %zu has no name", index);
  if (given.dtype >= static_cast<uint32_t>(pypto::program::kDTypeCount)) {
    return Refuse("parameter %zu ('%s') has dtype %u, which is none", index, given.name, given.dtype);
  }
  out->name = given.name;
  out->is_tensor = given.kind == PYPTO_PARAMETER_TENSOR;
  out->dtype = static_cast<pypto::program::DType>(given.dtype);
  if (out->is_tensor) {
    if (given.direction > PYPTO_INOUT) {
      return Refuse("parameter %zu ('%s') has direction %u, which is none of in, out, inout", index, given.name,
                    given.direction);
    }
    out->direction = static_cast<pypto::program::Direction>(given.direction);
    return ReadDims(given, index, out);
  }
  const bool is_float = given.dtype == PYPTO_FP32;
  if (given.kind != (is_float ? PYPTO_PARAMETER_FLOAT : PYPTO_PARAMETER_INT)) {
    return Refuse(
        "parameter %zu ('%s') of kind %u cannot travel as dtype %u: an int travels as INT32 or INT64, a float "
        "as FP32",
        index, given.name, given.kind, given.dtype);
  }
  return PYPTO_OK;
}

// Elements lie as far apart as their own size says.
pypto_status ReadParameters(const pypto_parameter* given, size_t count, std::vector<PrebuiltParameter>* out) {
  if (count == 0) return PYPTO_OK;
  PYPTO_REQUIRE(given);
  const uint32_t stride = given->struct_size;
  const char* at = reinterpret_cast<const char*>(given);
  for (size_t i = 0; i < count; ++i, at += stride) {
    const auto* element = reinterpret_cast<const pypto_parameter*>(at);
    pypto_parameter parameter{};
    pypto_status status = ReadStruct("pypto_parameter", element, &parameter);
    if (status != PYPTO_OK) return status;
    if (element->struct_size != stride) {
      return Refuse("parameter %zu has struct_size %u, the first has %u", i, element->struct_size, stride);
    }
    status = ReadParameter(parameter, i, &out->emplace_back());
    if (status != PYPTO_OK) return status;
  }
  return PYPTO_OK;
}

}  // namespace

extern "C" {

pypto_status pypto_program_from_binary(const pypto_device_binary* binary, const pypto_parameter* parameters,
                                       size_t count, pypto_program** program) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(binary);
    PYPTO_REQUIRE(program);
    pypto_device_binary given{};
    pypto_status status = ReadStruct("pypto_device_binary", binary, &given);
    if (status != PYPTO_OK) return status;
    PYPTO_REQUIRE(given.entry);
    PYPTO_REQUIRE(given.code);
    if (given.core > PYPTO_CORE_CUBE) return Refuse("core %u is no pypto_core_kind", given.core);
    std::vector<PrebuiltParameter> read;
    status = ReadParameters(parameters, count, &read);
    if (status != PYPTO_OK) return status;
    DeviceBinary made;
    made.entry = given.entry;
    made.core = static_cast<pypto::program::CoreKind>(given.core);
    made.takes_sync_address = given.takes_sync_address != 0;
    made.blocks = given.blocks;
    const auto* code = static_cast<const uint8_t*>(given.code);
    made.bytes.assign(code, code + given.code_bytes);
    auto image = pypto::program::MakePrebuilt(given.platform != nullptr ? given.platform : "a2a3sim", std::move(read),
                                              std::move(made));
    if (!image.ok()) return Report(image.status());
    GiveHandle(std::make_unique<ProgramObject>(std::move(image).value()), program);
    return PYPTO_OK;
  });
}

}  // extern "C"
