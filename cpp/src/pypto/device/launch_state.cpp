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

uint64_t SlotAt(std::span<const std::byte> block, size_t index) {
  uint64_t slot = 0;
  std::memcpy(&slot, block.data() + sizeof(LaunchHeader) + index * sizeof(slot), sizeof(slot));
  return slot;
}

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

bool LaunchState::Prepare(const LoadedExecutable& executable, std::span<const std::byte> block,
                          const AddressMap& memory, Fault* fault) {
  statistics_ = nullptr;
  task_block_ = nullptr;
  if (!ReadHeader(executable, block, memory, fault)) return false;
  bool changed = serial_ != executable.serial();
  if (!ReadValues(executable, block, &changed, fault)) return false;
  if (changed) {
    serial_ = 0;
    frame_.Reset(executable, symbols_, scalars_);
    if (!ComputeSizes(executable, fault) || !ComputeBudget(executable, fault)) return false;
    serial_ = executable.serial();
  }
  return CompareBudget(fault) && TranslateParameters(executable, block, memory, fault) &&
         TranslateWorkspace(memory, fault);
}

bool LaunchState::ReadHeader(const LoadedExecutable& executable, std::span<const std::byte> block,
                             const AddressMap& memory, Fault* fault) {
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
  return (header_.flags & program::kRecordTasks) == 0 || TranslateTaskBlock(memory, fault);
}

bool LaunchState::TranslateTaskBlock(const AddressMap& memory, Fault* fault) {
  const uint64_t needed = program::TaskBlockBytes(header_.parallelism);
  const bool fits = header_.parallelism <= program::kMostCopies && header_.tasks_bytes >= needed;
  task_block_ = fits ? memory.Translate(header_.tasks_address, needed) : nullptr;
  if (task_block_ != nullptr && reinterpret_cast<uintptr_t>(task_block_) % alignof(program::TaskEntry) == 0)
    return true;
  task_block_ = nullptr;
  return fault->Set(
      FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(header_.tasks_address),
      Format("the task block (%llu bytes, %llu needed) does not lie inside live device memory",
             static_cast<unsigned long long>(header_.tasks_bytes), static_cast<unsigned long long>(needed)));
}

bool LaunchState::ReadValues(const LoadedExecutable& executable, std::span<const std::byte> block, bool* changed,
                             Fault* fault) {
  const program::Plan& plan = executable.plan();
  if (*changed) {
    symbols_.assign(plan.symbols.size(), 0);
    scalars_.assign(plan.scalars.size(), 0);
    float_scalars_.assign(plan.scalars.size(), 0);
  }
  const auto put = [changed](int64_t* to, uint64_t bits) {
    const auto value = std::bit_cast<int64_t>(bits);
    *changed = *changed || *to != value;
    *to = value;
  };
  for (size_t i = 0; i < plan.symbols.size(); ++i) {
    put(&symbols_[i], SlotAt(block, plan.parameters.size() + i));
    if (symbols_[i] < 0) {
      return fault->Set(FaultKind::kBadBlock, 0, symbols_[i], "dim '" + plan.symbols[i].name + "' is negative");
    }
  }
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const PlanParameter& parameter = plan.parameters[i];
    if (parameter.is_tensor) continue;
    put(&scalars_[parameter.scalar], SlotAt(block, i));
    if (parameter.scalar_kind == program::ScalarKind::kFloat) {
      float_scalars_[parameter.scalar] = std::bit_cast<double>(scalars_[parameter.scalar]);
    }
  }
  return true;
}

bool LaunchState::ComputeSizes(const LoadedExecutable& executable, Fault* fault) {
  const program::Plan& plan = executable.plan();
  const auto overflow = [&](const std::string& name, uint32_t place) {
    return fault->Set(FaultKind::kOverflow, place, 0, "the size of tensor '" + name + "' is out of range");
  };
  parameter_bytes_.assign(plan.parameters.size(), 0);
  parameters_.assign(plan.parameters.size(), nullptr);
  storage_sizes_.assign(plan.storages.size(), {});
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    if (!plan.parameters[i].is_tensor) continue;
    const auto bytes = ParameterBytes(plan.parameters[i], symbols_);
    if (!bytes || *bytes > INT64_MAX) return overflow(plan.parameters[i].name, 0);
    parameter_bytes_[i] = *bytes;
  }
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const program::Storage& storage = plan.storages[i];
    StorageSize& size = storage_sizes_[i];
    if (storage.tensor_class == program::TensorClass::kParameter) {
      size.elements = static_cast<int64_t>(parameter_bytes_[storage.parameter] / program::BytesOf(storage.dtype));
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
  budget_ = *budget;
  return true;
}

bool LaunchState::CompareBudget(Fault* fault) const {
  const auto differs = [&](const char* what, uint64_t host, uint64_t engine) {
    return fault->Set(FaultKind::kBudgetMismatch, 0, static_cast<int64_t>(host),
                      Format("the launch block has %s %llu, the engine computed %llu", what,
                             static_cast<unsigned long long>(host), static_cast<unsigned long long>(engine)));
  };
  for (int i = 0; i < workspace::kPoolCount; ++i) {
    const program::LaunchPool& host = header_.pools[i];
    const workspace::PoolBudget& engine = budget_.pools[i];
    if (host.depth != engine.depth) return differs("depth", host.depth, engine.depth);
    if (host.unit != engine.unit) return differs("unit", host.unit, engine.unit);
    if (host.offset != engine.offset) return differs("pool offset", host.offset, engine.offset);
    if (host.capacity != engine.capacity) return differs("capacity", host.capacity, engine.capacity);
  }
  if (header_.boundary_offset != budget_.boundary_offset) {
    return differs("boundary offset", header_.boundary_offset, budget_.boundary_offset);
  }
  if (header_.boundary_bytes != budget_.boundary_bytes) {
    return differs("boundary bytes", header_.boundary_bytes, budget_.boundary_bytes);
  }
  if (header_.copy_bytes != budget_.bytes_per_copy) {
    return differs("copy bytes", header_.copy_bytes, budget_.bytes_per_copy);
  }
  if (header_.parallelism != budget_.parallelism) {
    return differs("parallelism", header_.parallelism, budget_.parallelism);
  }
  if (header_.max_instances_per_task != budget_.max_instances_per_task) {
    return differs("instances per task", header_.max_instances_per_task, budget_.max_instances_per_task);
  }
  if (header_.workspace_bytes < budget_.tensor_bytes) {
    return differs("workspace bytes", header_.workspace_bytes, budget_.tensor_bytes);
  }
  return true;
}

bool LaunchState::TranslateParameters(const LoadedExecutable& executable, std::span<const std::byte> block,
                                      const AddressMap& memory, Fault* fault) {
  const program::Plan& plan = executable.plan();
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const PlanParameter& parameter = plan.parameters[i];
    parameters_[i] = nullptr;
    const uint64_t bytes = parameter_bytes_[i];
    if (!parameter.is_tensor || bytes == 0 || parameter.direction == program::Direction::kUnused) continue;
    const uint64_t slot = SlotAt(block, i);
    const auto bad = [&](const char* why) {
      return fault->Set(FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(slot),
                        Format("tensor '%s' (%llu bytes at 0x%llx) %s", parameter.name.c_str(),
                               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(slot), why));
    };
    if ((slot & program::kInlineFlag) != 0) {
      const uint64_t offset = slot & ~program::kInlineFlag;
      if (parameter.direction != program::Direction::kIn) return bad("is written and travels in the launch block");
      if (offset > block.size() || bytes > block.size() - offset) return bad("does not lie inside the launch block");
      // Only read: parameters of direction kIn are no output of any leaf.
      parameters_[i] = const_cast<std::byte*>(block.data() + offset);
    } else {
      if (slot == 0) return bad("has no memory");
      parameters_[i] = memory.Translate(slot, bytes);
      if (parameters_[i] == nullptr) return bad("does not lie inside live device memory");
    }
    const bool aligned = reinterpret_cast<uintptr_t>(parameters_[i]) % program::BytesOf(parameter.dtype) == 0;
    if (!aligned) return bad("is not aligned to its elements");
  }
  return true;
}

bool LaunchState::TranslateWorkspace(const AddressMap& memory, Fault* fault) {
  workspace_ = nullptr;
  if (budget_.tensor_bytes == 0) return true;
  workspace_ = memory.Translate(header_.workspace_address, header_.workspace_bytes);
  if (workspace_ != nullptr) return true;
  return fault->Set(FaultKind::kBadAddress, 0, std::bit_cast<int64_t>(header_.workspace_address),
                    Format("the workspace (%llu bytes at 0x%llx) does not lie inside live device memory",
                           static_cast<unsigned long long>(header_.workspace_bytes),
                           static_cast<unsigned long long>(header_.workspace_address)));
}

}  // namespace pypto::device
