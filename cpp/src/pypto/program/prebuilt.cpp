// Making and checking programs that are device binaries, and the layout of their argument block.
#include "pypto/program/prebuilt.h"

#include <set>
#include <string_view>

#include "pypto/base/checked.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Result;
using base::Status;
using base::StatusCode;

constexpr uint32_t kPointerBytes = 8;

bool TravelsAsScalar(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kFp32; }

Status CheckNames(const std::vector<PrebuiltParameter>& parameters) {
  std::set<std::string_view> names;
  for (const PrebuiltParameter& parameter : parameters) {
    if (parameter.name.empty()) return MakeStatus(StatusCode::kInvalidArgument, "a parameter has no name");
    if (!names.insert(parameter.name).second) {
      return MakeStatus(StatusCode::kInvalidArgument, "two parameters are named '%s'", parameter.name.c_str());
    }
  }
  return base::OkStatus();
}

Status CheckDims(const PrebuiltParameter& parameter) {
  if (parameter.dims.empty() || parameter.dims.size() > kMaxRank) {
    return MakeStatus(StatusCode::kInvalidArgument, "parameter '%s' has %zu dims: a tensor has 1 to %d",
                      parameter.name.c_str(), parameter.dims.size(), kMaxRank);
  }
  for (const PrebuiltDim& dim : parameter.dims) {
    if (dim.symbol.empty() && dim.size < 1) {
      return MakeStatus(StatusCode::kInvalidArgument, "parameter '%s' has a dim of %lld: it must be at least 1",
                        parameter.name.c_str(), static_cast<long long>(dim.size));
    }
  }
  return base::OkStatus();
}

Status CheckSpec(const std::vector<PrebuiltParameter>& parameters, const DeviceBinary& binary) {
  if (binary.entry.empty() || binary.entry.size() > kMaxEntryBytes) {
    return MakeStatus(StatusCode::kInvalidArgument, "entry is %zu bytes long: name the kernel in 1 to %zu bytes",
                      binary.entry.size(), kMaxEntryBytes);
  }
  if (binary.bytes.empty()) return MakeStatus(StatusCode::kInvalidArgument, "the binary is empty");
  if (binary.blocks < 1 || binary.blocks > kMaxBlocks) {
    return MakeStatus(StatusCode::kInvalidArgument, "blocks=%u is outside 1 to %u", binary.blocks, kMaxBlocks);
  }
  if (parameters.empty() || parameters.size() > kMaxPrebuiltParameters) {
    return MakeStatus(StatusCode::kInvalidArgument, "%zu parameters: a kernel takes 1 to %zu", parameters.size(),
                      kMaxPrebuiltParameters);
  }
  PYPTO_RETURN_IF_ERROR(CheckNames(parameters));
  for (const PrebuiltParameter& parameter : parameters) {
    if (parameter.is_tensor) {
      PYPTO_RETURN_IF_ERROR(CheckDims(parameter));
    } else if (!TravelsAsScalar(parameter.dtype)) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "scalar '%s' has dtype DT_%s: scalars travel as DT_INT32, DT_INT64 or DT_FP32",
                        parameter.name.c_str(), std::string(InfoOf(parameter.dtype).name).c_str());
    }
  }
  return base::OkStatus();
}

int32_t SymbolOf(Plan* plan, const std::string& name, uint32_t parameter, uint32_t axis) {
  for (size_t i = 0; i < plan->symbols.size(); ++i) {
    if (plan->symbols[i].name == name) return static_cast<int32_t>(i);
  }
  plan->symbols.push_back({name, parameter, axis});
  return static_cast<int32_t>(plan->symbols.size() - 1);
}

void AddParameter(Plan* plan, PrebuiltParameter parameter) {
  PlanParameter made;
  made.is_tensor = parameter.is_tensor;
  made.dtype = parameter.dtype;
  if (parameter.is_tensor) {
    made.direction = parameter.direction;
    for (size_t axis = 0; axis < parameter.dims.size(); ++axis) {
      const PrebuiltDim& dim = parameter.dims[axis];
      Dim coded;
      coded.value = dim.symbol.empty() ? dim.size : 0;
      coded.symbol = dim.symbol.empty() ? -1
                                        : SymbolOf(plan, dim.symbol, static_cast<uint32_t>(plan->parameters.size()),
                                                   static_cast<uint32_t>(axis));
      made.dims.push_back(coded);
    }
  } else {
    made.scalar_kind = parameter.dtype == DType::kFp32 ? ScalarKind::kFloat : ScalarKind::kInt;
    made.scalar = static_cast<uint32_t>(plan->scalars.size());
    plan->scalars.push_back({parameter.name, made.scalar_kind});
  }
  made.name = std::move(parameter.name);
  plan->parameters.push_back(std::move(made));
}

}  // namespace

Result<std::shared_ptr<const Image>> MakePrebuilt(std::string platform, std::vector<PrebuiltParameter> parameters,
                                                  DeviceBinary binary) {
  PYPTO_RETURN_IF_ERROR(CheckSpec(parameters, binary));
  Plan plan;
  plan.name = binary.entry;
  for (PrebuiltParameter& parameter : parameters) AddParameter(&plan, std::move(parameter));
  PYPTO_RETURN_IF_ERROR(ValidatePlan(plan));
  binary.layout = BinaryLayout::kPackedArguments;
  std::vector<DeviceBinary> binaries;
  binaries.push_back(std::move(binary));
  DebugInfo debug;
  debug.places.emplace_back();
  return MakeImage(std::move(platform), std::move(plan), std::move(debug), std::move(binaries));
}

PackedLayout LayOutArguments(const Plan& plan, const DeviceBinary& binary) {
  PackedLayout layout;
  uint64_t end = binary.takes_sync_address ? kPointerBytes : 0;
  for (const PlanParameter& parameter : plan.parameters) {
    const uint32_t bytes = parameter.is_tensor ? kPointerBytes : BytesOf(parameter.dtype);
    const uint64_t offset = base::AlignUp(end, uint64_t{bytes});
    layout.slots.push_back({static_cast<uint32_t>(offset), bytes});
    end = offset + bytes;
  }
  layout.bytes = static_cast<uint32_t>(base::AlignUp(end, uint64_t{kPointerBytes}));
  return layout;
}

Status CheckBinaries(const Image& image) {
  for (const DeviceBinary& binary : image.binaries) {
    const bool sound = !binary.entry.empty() && binary.entry.size() <= kMaxEntryBytes && !binary.bytes.empty() &&
                       binary.blocks >= 1 && binary.blocks <= kMaxBlocks;
    if (!sound) return MakeStatus(StatusCode::kProgramFormat, "a device binary has no entry, no code or no blocks");
    if (binary.layout != BinaryLayout::kPackedArguments) continue;
    const bool few = !image.plan.parameters.empty() && image.plan.parameters.size() <= kMaxPrebuiltParameters;
    if (!few) return MakeStatus(StatusCode::kProgramFormat, "a device binary takes too many parameters, or none");
    for (const PlanParameter& parameter : image.plan.parameters) {
      if (parameter.is_tensor || TravelsAsScalar(parameter.dtype)) continue;
      return MakeStatus(StatusCode::kProgramFormat, "a scalar of a device binary has an impossible type");
    }
  }
  return base::OkStatus();
}

}  // namespace pypto::program
