// Reads and checks launch blocks.
#include "pypto/device/launch_state.h"

#include <bit>
#include <cstring>
#include <string>

#include "pypto/base/checked.h"
#include "pypto/workspace/arena.h"

namespace pypto::device {
namespace {

using base::Format;
using program::FaultKind;
using program::LaunchHeader;
using program::PlanParameter;

// What an access to a storage without contents reads.
alignas(64) constinit std::byte zero_cell[64] = {};

std::optional<uint64_t> ParameterBytes(const PlanParameter& parameter, std::span<const int64_t> symbols) {
  uint64_t bytes = program::BytesOf(parameter.dtype);
  for (const program::Dim& dim : parameter.dims) {
    const int64_t extent = dim.symbol < 0 ? dim.value : symbols[dim.symbol];
    const auto product = base::CheckedMul(bytes, static_cast<uint64_t>(extent));
    if (!product) return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

workspace::BudgetOptions OptionsOf(const program::PlanOptions& options) {
  return {options.stitch_function_max_num, options.max_workspace_kb, options.stitch_function_num_per_pool,
          options.parallelism};
}

}  // namespace

uint64_t LaunchState::SlotAt(size_t index) const noexcept {
  uint64_t slot = 0;
  std::memcpy(&slot, block_.data() + sizeof(LaunchHeader) + index * sizeof(slot), sizeof(slot));
  return slot;
}

bool LaunchState::IsOf(const LoadedExecutable& executable, const LaunchShape& shape) const noexcept {
  if (shape.serial != executable.serial()) return false;
  size_t at = 0;
  for (const uint32_t parameter : executable.scalar_parameters()) {
    if (shape.values[at++] != SlotAt(parameter)) return false;
  }
  for (uint32_t i = 0; i < header_.symbol_count; ++i) {
    if (shape.values[at++] != SlotAt(header_.parameter_count + i)) return false;
  }
  return true;
}

uint64_t LaunchState::ShapeHash(const LoadedExecutable& executable) const noexcept {
  uint64_t hash = executable.serial();
  const auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  };
  for (const uint32_t parameter : executable.scalar_parameters()) mix(SlotAt(parameter));
  for (uint32_t i = 0; i < header_.symbol_count; ++i) mix(SlotAt(header_.parameter_count + i));
  return hash;
}

bool LaunchState::Evaluate(const LoadedExecutable& executable, Fault* fault) {
  if (IsOf(executable, shape_)) return true;
  shape_.serial = 0;
  if (!ReadValues(executable, fault)) return false;
  frame_.Reset(executable, symbols_, scalars_);
  if (!ComputeSizes(executable, fault) || !ComputeBudget(executable, fault)) return false;
  shape_.serial = executable.serial();
  return true;
}

bool LaunchState::Bind(const LoadedExecutable& executable, const LaunchShape& shape, const AddressMap& memory,
                       Fault* fault) {
  slots_.resize(kFirstParameterSlot + shape.parameter_bytes.size());
  slots_[kZeroSlot] = zero_cell;
  return CompareBudget(shape.budget, fault) && TranslateParameters(executable, shape, memory, fault) &&
         TranslateWorkspace(shape.budget, memory, fault);
}

bool LaunchState::Open(const LoadedExecutable& executable, std::span<const std::byte> block, const AddressMap& memory,
                       Fault* fault) {
  statistics_ = nullptr;
  task_block_ = nullptr;
  profile_ = {};
  block_ = block;
  const auto bad = [&](std::string text) { return fault->Set(FaultKind::kBadBlock, 0, 0, std::move(text)); };
  if (block.size() < sizeof(LaunchHeader))
    return bad(Format("a launch block of %zu bytes holds no header", block.size()));
  std::memcpy(&header_, block.data(), sizeof(header_));
  if (header_.magic != program::kLaunchMagic || header_.version != program::kLaunchVersion) {
    return bad(Format("the launch block has version %u, this engine reads version %u", header_.version,
                      program::kLaunchVersion));
  }
  const program::Plan& plan = executable.plan();
  const uint64_t least =
      sizeof(LaunchHeader) + (uint64_t{header_.parameter_count} + header_.symbol_count) * sizeof(uint64_t);
  if (header_.bytes != block.size() || least > block.size()) {
    return bad(Format("the launch block says %u bytes and has %zu, its slots need %llu", header_.bytes, block.size(),
                      static_cast<unsigned long long>(least)));
  }
  if (header_.parameter_count != plan.parameters.size() || header_.symbol_count != plan.symbols.size()) {
    return bad(Format("the launch block has %u parameters and %u symbols, the kernel takes %zu and %zu",
                      header_.parameter_count, header_.symbol_count, plan.parameters.size(), plan.symbols.size()));
  }
  if (header_.statistics_address == 0) return true;
  std::byte* place = header_.statistics_bytes < sizeof(program::LaunchStatistics)
                         ? nullptr
                         : memory.Translate(header_.statistics_address, header_.statistics_bytes);
  if (place == nullptr || reinterpret_cast<uintptr_t>(place) % alignof(program::LaunchStatistics) != 0) {
    return fault->Set(FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(header_.statistics_address),
                      "the statistics block does not lie inside live device memory");
  }
  statistics_ = reinterpret_cast<program::LaunchStatistics*>(place);
  return (header_.flags & program::kRecordTasks) == 0 || TranslateTaskBlock(executable, memory, fault);
}

bool LaunchState::TranslateTaskBlock(const LoadedExecutable& executable, const AddressMap& memory, Fault* fault) {
  const uint64_t tasks = program::TaskBlockBytes(header_.parallelism);
  const bool profiled = (header_.flags & program::kRecordLeaves) != 0;
  const uint64_t needed =
      profiled ? tasks + program::ProfileBytes(executable.leaf_count(), executable.operation_count(), 0) : tasks;
  const bool fits = header_.parallelism <= program::kMostCopies && header_.tasks_bytes >= needed;
  task_block_ = fits ? memory.Translate(header_.tasks_address, profiled ? header_.tasks_bytes : needed) : nullptr;
  if (task_block_ != nullptr && reinterpret_cast<uintptr_t>(task_block_) % alignof(program::TaskEntry) == 0) {
    if (profiled) profile_ = {task_block_ + tasks, header_.tasks_bytes - tasks};
    return true;
  }
  task_block_ = nullptr;
  return fault->Set(
      FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(header_.tasks_address),
      Format("the task block (%llu bytes, %llu needed) does not lie inside live device memory",
             static_cast<unsigned long long>(header_.tasks_bytes), static_cast<unsigned long long>(needed)));
}

bool LaunchState::ReadValues(const LoadedExecutable& executable, Fault* fault) {
  const program::Plan& plan = executable.plan();
  symbols_.assign(plan.symbols.size(), 0);
  scalars_.assign(plan.scalars.size(), 0);
  float_scalars_.assign(plan.scalars.size(), 0);
  shape_.values.clear();
  for (const uint32_t index : executable.scalar_parameters()) {
    const PlanParameter& parameter = plan.parameters[index];
    shape_.values.push_back(SlotAt(index));
    scalars_[parameter.scalar] = std::bit_cast<int64_t>(shape_.values.back());
    if (parameter.scalar_kind == program::ScalarKind::kFloat) {
      float_scalars_[parameter.scalar] = std::bit_cast<double>(shape_.values.back());
    }
  }
  for (size_t i = 0; i < plan.symbols.size(); ++i) {
    shape_.values.push_back(SlotAt(plan.parameters.size() + i));
    symbols_[i] = std::bit_cast<int64_t>(shape_.values.back());
    if (symbols_[i] < 0) {
      return fault->Set(FaultKind::kBadBlock, 0, symbols_[i], "dim '" + plan.symbols[i].name + "' is negative");
    }
  }
  return true;
}

bool LaunchState::ComputeSizes(const LoadedExecutable& executable, Fault* fault) {
  const program::Plan& plan = executable.plan();
  const auto overflow = [&](const std::string& name, uint32_t place) {
    return fault->Set(FaultKind::kOverflow, place, 0, "the size of tensor '" + name + "' is out of range");
  };
  std::vector<uint64_t>& parameter_bytes = shape_.parameter_bytes;
  parameter_bytes.assign(plan.parameters.size(), 0);
  storage_sizes_.assign(plan.storages.size(), {});
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    if (!plan.parameters[i].is_tensor) continue;
    const auto bytes = ParameterBytes(plan.parameters[i], symbols_);
    if (!bytes || *bytes > INT64_MAX) return overflow(plan.parameters[i].name, 0);
    parameter_bytes[i] = *bytes;
  }
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const program::Storage& storage = plan.storages[i];
    StorageSize& size = storage_sizes_[i];
    if (storage.tensor_class == program::TensorClass::kParameter) {
      size.elements = static_cast<int64_t>(parameter_bytes[storage.parameter] / program::BytesOf(storage.dtype));
      continue;
    }
    const bool known = frame_.outcome(storage.bytes) == program::EvalOutcome::kOk && frame_[storage.bytes] >= 0;
    if (!known) return overflow(storage.name, storage.place);
    size.bytes = static_cast<uint64_t>(frame_[storage.bytes]);
    size.elements = static_cast<int64_t>(size.bytes / program::BytesOf(storage.dtype));
  }
  return true;
}

bool LaunchState::ComputeBudget(const LoadedExecutable& executable, Fault* fault) {
  const program::PlanWorkspace& plan = executable.plan().workspace;
  workspace::Requirement requirement;
  requirement.present = plan.present;
  bool sound = true;
  const auto value = [&](ExprId id) -> uint64_t {
    if (id == program::kNoExpr) return 0;
    sound = sound && frame_.outcome(id) == program::EvalOutcome::kOk && frame_[id] >= 0;
    return static_cast<uint64_t>(frame_[id]);
  };
  for (int pool = 0; pool < workspace::kPoolCount; ++pool) requirement.unit_bytes[pool] = value(plan.unit_bytes[pool]);
  requirement.boundary_bytes = value(plan.boundary_bytes);
  if (!sound) return fault->Set(FaultKind::kOverflow, 0, 0, "the size of the workspace is out of range");
  auto budget = workspace::ResolveBudget(requirement, OptionsOf(executable.plan().options), 0);
  if (!budget.ok()) return fault->Set(FaultKind::kBudgetMismatch, 0, 0, budget.status().ToString());
  shape_.budget = *budget;
  return true;
}

bool LaunchState::CompareBudget(const workspace::Budget& budget, Fault* fault) const {
  const auto differs = [&](const char* what, uint64_t host, uint64_t engine) {
    return fault->Set(FaultKind::kBudgetMismatch, 0, static_cast<int64_t>(host),
                      Format("the launch block has %s %llu, the engine computed %llu", what,
                             static_cast<unsigned long long>(host), static_cast<unsigned long long>(engine)));
  };
  for (int i = 0; i < workspace::kPoolCount; ++i) {
    const program::LaunchPool& host = header_.pools[i];
    const workspace::PoolBudget& engine = budget.pools[i];
    if (host.depth != engine.depth) return differs("depth", host.depth, engine.depth);
    if (host.unit != engine.unit) return differs("unit", host.unit, engine.unit);
    if (host.offset != engine.offset) return differs("pool offset", host.offset, engine.offset);
    if (host.capacity != engine.capacity) return differs("capacity", host.capacity, engine.capacity);
  }
  if (header_.boundary_offset != budget.boundary_offset) {
    return differs("boundary offset", header_.boundary_offset, budget.boundary_offset);
  }
  if (header_.boundary_bytes != budget.boundary_bytes) {
    return differs("boundary bytes", header_.boundary_bytes, budget.boundary_bytes);
  }
  if (header_.copy_bytes != budget.bytes_per_copy) {
    return differs("copy bytes", header_.copy_bytes, budget.bytes_per_copy);
  }
  if (header_.parallelism != budget.parallelism) {
    return differs("parallelism", header_.parallelism, budget.parallelism);
  }
  if (header_.max_instances_per_task != budget.max_instances_per_task) {
    return differs("instances per task", header_.max_instances_per_task, budget.max_instances_per_task);
  }
  if (header_.workspace_bytes < budget.tensor_bytes) {
    return differs("workspace bytes", header_.workspace_bytes, budget.tensor_bytes);
  }
  return true;
}

bool LaunchState::TranslateParameters(const LoadedExecutable& executable, const LaunchShape& shape,
                                      const AddressMap& memory, Fault* fault) {
  const program::Plan& plan = executable.plan();
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const PlanParameter& parameter = plan.parameters[i];
    std::byte*& place = slots_[kFirstParameterSlot + i];
    place = nullptr;
    const uint64_t bytes = shape.parameter_bytes[i];
    if (!parameter.is_tensor || bytes == 0 || parameter.direction == program::Direction::kUnused) continue;
    const uint64_t slot = SlotAt(i);
    const auto bad = [&](const char* why) {
      return fault->Set(FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(slot),
                        Format("tensor '%s' (%llu bytes at 0x%llx) %s", parameter.name.c_str(),
                               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(slot), why));
    };
    if ((slot & program::kInlineFlag) != 0) {
      const uint64_t offset = slot & ~program::kInlineFlag;
      if (parameter.direction != program::Direction::kIn) return bad("is written and travels in the launch block");
      if (offset > block_.size() || bytes > block_.size() - offset) return bad("does not lie inside the launch block");
      // Only read: parameters of direction kIn are no output of any leaf.
      place = const_cast<std::byte*>(block_.data() + offset);
    } else {
      if (slot == 0) return bad("has no memory");
      place = memory.Translate(slot, bytes);
      if (place == nullptr) return bad("does not lie inside live device memory");
    }
    const bool aligned = reinterpret_cast<uintptr_t>(place) % program::BytesOf(parameter.dtype) == 0;
    if (!aligned) return bad("is not aligned to its elements");
  }
  return true;
}

bool LaunchState::TranslateWorkspace(const workspace::Budget& budget, const AddressMap& memory, Fault* fault) {
  std::byte*& place = slots_[kWorkspaceSlot];
  place = nullptr;
  if (budget.tensor_bytes == 0) return true;
  place = memory.Translate(header_.workspace_address, header_.workspace_bytes);
  if (place != nullptr) return true;
  return fault->Set(FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(header_.workspace_address),
                    Format("the workspace (%llu bytes at 0x%llx) does not lie inside live device memory",
                           static_cast<unsigned long long>(header_.workspace_bytes),
                           static_cast<unsigned long long>(header_.workspace_address)));
}

bool LaunchState::ParametersOverlap(const LoadedExecutable& executable, const LaunchShape& shape) const noexcept {
  for (const uint32_t written : executable.written_parameters()) {
    const std::byte* begin = slots_[kFirstParameterSlot + written];
    const std::byte* end = begin + shape.parameter_bytes[written];
    for (size_t i = 0; begin != nullptr && i < shape.parameter_bytes.size(); ++i) {
      const std::byte* other = slots_[kFirstParameterSlot + i];
      if (i == written || other == nullptr) continue;
      if (other < end && begin < other + shape.parameter_bytes[i]) return true;
    }
  }
  return false;
}

}  // namespace pypto::device
