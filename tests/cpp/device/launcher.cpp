// The host's side of a launch, as small as it can be.
#include "device/launcher.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "pypto/workspace/budget.h"

namespace pypto::device::testing {
namespace {

constexpr std::byte kGuardByte{0xa5};

}  // namespace

uint64_t TestMemory::Allocate(size_t bytes) {
  const uint64_t address = next_;
  next_ += (bytes + 4 * kGuard + 4095) / 4096 * 4096;
  blocks_[address] = {bytes, std::vector<std::byte>(bytes + 2 * kGuard, kGuardByte)};
  return address;
}

void TestMemory::Free(uint64_t address) {
  blocks_.erase(address);
  ++epoch_;
}

uint64_t TestMemory::Put(const std::vector<std::byte>& bytes) {
  const uint64_t address = Allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(Host(address), bytes.data(), bytes.size());
  return address;
}

std::byte* TestMemory::Translate(uint64_t address, uint64_t bytes) const noexcept {
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return nullptr;
  --block;
  const uint64_t offset = address - block->first;
  if (offset > block->second.bytes || bytes > block->second.bytes - offset) return nullptr;
  return const_cast<std::byte*>(block->second.memory.data()) + kGuard + offset;
}

bool TestMemory::GuardsIntact() const {
  for (const auto& [address, block] : blocks_) {
    for (size_t i = 0; i < kGuard; ++i) {
      if (block.memory[i] != kGuardByte || block.memory[kGuard + block.bytes + i] != kGuardByte) return false;
    }
  }
  return true;
}

Launcher::Launcher(std::shared_ptr<const program::Image> image, uint32_t cores, uint64_t shake_seed)
    : image_(std::move(image)) {
  auto loaded = Executable::Load(image_->bytes);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  if (loaded.ok()) executable_ = *loaded;
  engine_ = Engine::Make({.cores = cores, .shake_seed = shake_seed});
}

void Launcher::ResolveBudget(const std::vector<int64_t>& symbols) {
  const program::Plan& plan = image_->plan;
  const auto value = [&](program::ExprId id) -> uint64_t {
    if (id == program::kNoExpr) return 0;
    return static_cast<uint64_t>(*program::Evaluate(plan.exprs, id, {symbols, {}, {}}));
  };
  workspace::Requirement requirement;
  for (size_t i = 0; i < 3; ++i) requirement.unit_bytes[i] = value(plan.workspace.unit_bytes[i]);
  requirement.present = plan.workspace.present;
  requirement.boundary_bytes = value(plan.workspace.boundary_bytes);
  const program::PlanOptions& options = plan.options;
  const auto budget = workspace::ResolveBudget(requirement,
                                               {options.stitch_function_max_num, options.max_workspace_kb,
                                                options.stitch_function_num_per_pool, options.parallelism},
                                               0);
  ASSERT_TRUE(budget.ok()) << budget.status().ToString();
  for (size_t i = 0; i < 3; ++i) {
    const workspace::PoolBudget& pool = budget->pools[i];
    header_.pools[i] = {pool.unit, pool.offset, pool.capacity, pool.depth, 0};
  }
  header_.boundary_offset = budget->boundary_offset;
  header_.boundary_bytes = budget->boundary_bytes;
  header_.copy_bytes = budget->bytes_per_copy;
  header_.parallelism = budget->parallelism;
  header_.max_instances_per_task = budget->max_instances_per_task;
  header_.workspace_bytes = budget->total_bytes;
  if (budget->total_bytes > 0) header_.workspace_address = memory_.Allocate(budget->total_bytes);
}

void Launcher::Bind(const std::vector<Argument>& arguments, const std::vector<int64_t>& symbols) {
  const program::Plan& plan = image_->plan;
  ASSERT_EQ(arguments.size(), plan.parameters.size());
  header_ = {};
  addresses_.clear();
  counts_.clear();
  header_.parameter_count = static_cast<uint32_t>(arguments.size());
  header_.symbol_count = static_cast<uint32_t>(symbols.size());
  header_.bytes = static_cast<uint32_t>(sizeof(header_) + 8 * (arguments.size() + symbols.size()));
  header_.statistics_bytes = program::kStatisticsBytes;
  header_.statistics_address = memory_.Put(std::vector<std::byte>(program::kStatisticsBytes));
  ResolveBudget(symbols);
  block_.assign(header_.bytes, std::byte{0});
  for (size_t i = 0; i < arguments.size(); ++i) {
    const program::PlanParameter& parameter = plan.parameters[i];
    if (!parameter.is_tensor) {
      slot(i) = parameter.scalar_kind == program::ScalarKind::kInt ? std::bit_cast<uint64_t>(arguments[i].integer)
                                                                   : std::bit_cast<uint64_t>(arguments[i].real);
      addresses_.push_back(0);
      counts_.push_back(0);
      continue;
    }
    addresses_.push_back(memory_.Put(Encode(parameter.dtype, arguments[i].values)));
    counts_.push_back(arguments[i].values.size());
    slot(i) = addresses_.back();
  }
  for (size_t i = 0; i < symbols.size(); ++i) slot(arguments.size() + i) = std::bit_cast<uint64_t>(symbols[i]);
}

uint64_t& Launcher::slot(size_t index) {
  return reinterpret_cast<uint64_t*>(block_.data() + sizeof(program::LaunchHeader))[index];
}

LaunchResult Launcher::Run(const std::function<void(program::LaunchHeader*)>& change) {
  program::LaunchHeader header = header_;
  if (change) change(&header);
  std::memcpy(block_.data(), &header, sizeof(header));
  LaunchResult result;
  result.outcome = RunAgain();
  std::memcpy(&result.statistics, memory_.Host(header_.statistics_address), sizeof(result.statistics));
  for (size_t i = 0; i < counts_.size(); ++i) {
    const program::PlanParameter& parameter = image_->plan.parameters[i];
    const std::byte* data = counts_[i] == 0 ? nullptr : memory_.Host(addresses_[i]);
    result.values.push_back(Decode(parameter.dtype, data, counts_[i]));
    result.bytes.emplace_back(data, data + counts_[i] * program::BytesOf(parameter.dtype));
  }
  EXPECT_TRUE(memory_.GuardsIntact()) << "something was written outside of device memory";
  return result;
}

std::vector<std::vector<double>> RunImage(const std::shared_ptr<const program::Image>& image,
                                          const std::vector<Argument>& arguments, const std::vector<int64_t>& symbols,
                                          uint32_t cores) {
  Launcher launcher(image, cores);
  launcher.Bind(arguments, symbols);
  const LaunchResult result = launcher.Run();
  EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
  return result.values;
}

}  // namespace pypto::device::testing
