// Reading task blocks and writing records.
#include "pypto/runtime/launch_records.h"

#include <algorithm>
#include <cstring>

#include "pypto/acl/errors.h"
#include "pypto/log/log.h"
#include "pypto/workspace/records.h"

namespace pypto::runtime {
namespace {

using base::Status;
using program::TaskEntry;
using program::TaskPools;
using workspace::Pool;
using workspace::PoolUsage;

// Entries that are read together with the head of the block: most launches have no more.
constexpr uint64_t kFirstEntries = 4;

unsigned long long Print(uint64_t value) { return value; }

}  // namespace

Status LaunchRecords::Read(const acl::Table& table, uint64_t address, const workspace::Budget& budget,
                           Counters* counters) {
  entries_ = 0;
  statistics_ = {};
  budget_ = budget;
  const uint64_t entry_bytes = program::TaskEntryBytes(budget.parallelism);
  const auto read = [&](uint64_t begin, uint64_t end) {
    bytes_.resize(end / sizeof(uint64_t));
    return PYPTO_ACL_CALL(table, aclrtMemcpy, bytes_.data() + begin / sizeof(uint64_t), end - begin,
                          reinterpret_cast<const void*>(address + begin), end - begin, acl_abi::kMemcpyDeviceToHost);
  };
  const uint64_t first = program::kTaskBlockHeader + kFirstEntries * entry_bytes;
  PYPTO_RETURN_IF_ERROR(read(0, first));
  counters->statistics_reads += 1;
  std::memcpy(static_cast<void*>(&statistics_), bytes_.data(), sizeof(statistics_));
  if (statistics_.launches == 0) return base::OkStatus();
  const uint64_t entries = std::min(statistics_.device_tasks, program::kMostTaskEntries + 1);
  if (entries > kFirstEntries) {
    PYPTO_RETURN_IF_ERROR(read(first, program::kTaskBlockHeader + entries * entry_bytes));
  }
  entries_ = entries;
  return base::OkStatus();
}

const TaskEntry& LaunchRecords::entry(size_t index) const noexcept {
  const auto* head = reinterpret_cast<const std::byte*>(bytes_.data()) + program::kTaskBlockHeader;
  return *reinterpret_cast<const TaskEntry*>(head + index * program::TaskEntryBytes(budget_.parallelism));
}

const TaskPools* LaunchRecords::pools(size_t index) const noexcept {
  return reinterpret_cast<const TaskPools*>(&entry(index) + 1);
}

PoolUsage LaunchRecords::UsageOf(size_t index, uint32_t copy) const noexcept {
  PoolUsage usage;
  usage.current = pools(index)[copy].current;
  usage.peak = pools(index)[copy].peak;
  for (size_t i = 0; i < workspace::kPoolCount; ++i) usage.capacity[i] = budget_.pools[i].capacity;
  return usage;
}

workspace::PerPoolDepths LaunchRecords::DepthsOf(size_t index) const noexcept {
  workspace::PoolPeaks peaks;
  for (uint32_t copy = 0; copy < budget_.parallelism; ++copy) peaks.Include(pools(index)[copy].peak);
  return workspace::RecommendDepths(budget_, peaks);
}

std::vector<TaskReport> LaunchRecords::Tasks() const {
  std::vector<TaskReport> tasks(entries_);
  for (size_t i = 0; i < entries_; ++i) {
    const TaskEntry& from = entry(i);
    TaskReport& task = tasks[i];
    task.task_id = i;
    task.tasks = from.tasks;
    task.stitch_count = from.root_instances;
    task.alloc_failures = from.alloc_failures;
    task.failed_pool = static_cast<Pool>(from.failed_pool);
    task.requested = from.requested;
    task.available = from.available;
    task.capacity = from.capacity;
    task.recommended_depths = DepthsOf(i);
    for (uint32_t copy = 0; copy < budget_.parallelism; ++copy) task.copies.push_back(UsageOf(i, copy));
  }
  return tasks;
}

void LaunchRecords::Write(const std::string& kernel, const std::string& preface) const {
  log::RecordBatch batch;
  const auto add = [&batch](const std::string& text) {
    batch.AddText(log::Level::kInfo, PYPTO_LOG_FILE, __LINE__, text);
  };
  if (!preface.empty()) add(preface);
  const workspace::PerPoolDepths configured = workspace::ActualDepths(budget_);
  for (size_t i = 0; i < entries_; ++i) {
    const TaskEntry& task = entry(i);
    if (task.tasks > 1) {
      add(base::Format("kernel=%s: the records of task %zu sum %llu tasks, %llu of them closed by a full pool",
                       kernel.c_str(), i, Print(task.tasks), Print(task.alloc_failures)));
    } else if (task.alloc_failures != 0) {
      add(workspace::AllocFailureRecord(kernel, i, static_cast<Pool>(task.failed_pool), task.requested, task.available,
                                        task.capacity));
    }
    for (uint32_t copy = 0; copy < budget_.parallelism; ++copy) {
      add(workspace::PoolRecord(kernel, copy, UsageOf(i, copy)));
    }
    add(workspace::TuningRecord(kernel, i, task.root_instances, configured, DepthsOf(i)));
  }
  const std::vector<PoolUsage> copies = UsagePerCopy(budget_, statistics_);
  for (uint32_t copy = 0; copy < copies.size(); ++copy) add(workspace::SummaryRecord(kernel, copy, copies[copy]));
  const workspace::PoolPeaks peaks{statistics_.peak_bytes};
  add(workspace::RecommendationRecord(kernel, workspace::Recommend(budget_, peaks)));
  batch.Write();
}

std::vector<PoolUsage> UsagePerCopy(const workspace::Budget& budget, const program::LaunchStatistics& statistics) {
  std::vector<PoolUsage> copies(budget.parallelism);
  for (uint32_t copy = 0; copy < budget.parallelism; ++copy) {
    copies[copy].peak = statistics.copy_peak_bytes[copy];
    for (size_t i = 0; i < workspace::kPoolCount; ++i) copies[copy].capacity[i] = budget.pools[i].capacity;
  }
  return copies;
}

}  // namespace pypto::runtime
