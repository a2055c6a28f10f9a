// Budgets and byte counts as text.
#include "pypto/workspace/budget.h"

namespace pypto::workspace {
namespace {

std::string CopiesText(uint32_t parallelism) {
  return parallelism == 1 ? std::string() : base::Format(" × %u copies", parallelism);
}

std::string AmountText(const std::string& amount, uint64_t bytes, uint32_t parallelism) {
  if (parallelism == 1) return amount;
  return amount + CopiesText(parallelism) + " = " + FormatBytes(bytes);
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  static constexpr std::string_view kNames[] = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kNames)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + std::string(kNames[unit]);
}

std::vector<LineItem> DescribeBudget(const Budget& budget) {
  std::vector<LineItem> items;
  for (int i = 0; i < kPoolCount; ++i) {
    const PoolBudget& pool = budget.pools[i];
    std::string name(PoolName(static_cast<Pool>(i)));
    const uint64_t bytes = pool.capacity * budget.parallelism;
    std::string text = name + ": " + std::to_string(pool.depth) + " × " + FormatBytes(pool.unit) +
                       CopiesText(budget.parallelism) + " = " + FormatBytes(bytes);
    items.push_back({std::move(name), bytes, std::move(text)});
  }
  const auto add_per_copy = [&](const char* name, uint64_t per_copy) {
    const uint64_t bytes = per_copy * budget.parallelism;
    items.push_back(
        {name, bytes, std::string(name) + ": " + AmountText(FormatBytes(per_copy), bytes, budget.parallelism)});
  };
  add_per_copy("boundary", budget.boundary_bytes);
  add_per_copy("rounding to 32 KiB", budget.bytes_per_copy - budget.boundary_offset - budget.boundary_bytes);
  items.push_back({"engine", budget.engine_bytes, "engine: " + FormatBytes(budget.engine_bytes)});
  return items;
}

std::string DescribeIgnoredOptions(const BudgetOptions& options) {
  if (ModeOf(options) != BudgetMode::kPerPool) return {};
  std::string names;
  if (options.stitch_function_max_num != kDefaultStitchFunctionMaxNum) {
    names += base::Format("stitch_function_max_num=%u", options.stitch_function_max_num);
  }
  if (options.max_workspace_kb != 0) {
    names += base::Format("%smax_workspace_kb=%llu", names.empty() ? "" : ", ",
                          static_cast<unsigned long long>(options.max_workspace_kb));
  }
  if (names.empty()) return {};
  const auto& depths = options.num_per_pool;
  return base::Format("stitch_function_num_per_pool=[%u, %u, %u] rules; ignored: %s", depths[0], depths[1], depths[2],
                      names.c_str());
}

}  // namespace pypto::workspace
