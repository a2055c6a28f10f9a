// Launches that record their tasks, and the report of a handle.
#include "pypto/log/log.h"
#include "pypto/runtime/launcher.h"
#include "pypto/runtime/program_budget.h"

namespace pypto::runtime {

using base::Result;
using base::Status;

// A launch runs without records rather than not at all.
void Launcher::SwitchRecords(bool on) {
  header().flags = 0;
  if (!on) return;
  if (task_block_ == 0) {
    const acl::ContextScope scope(state_->table(), state_->session().context());
    const Result<uint64_t> taken = scope.status().ok() ? task_blocks_.Take() : scope.status();
    if (!taken.ok()) {
      PYPTO_LOG(kWarning, "the launch of '%s' leaves no workspace records: %s", image_->plan.name.c_str(),
                taken.status().ToString().c_str());
      return;
    }
    task_block_ = *taken;
  }
  header().flags = program::kRecordTasks;
  header().tasks_address = task_block_;
  header().tasks_bytes = task_blocks_.bytes();
}

void Launcher::WriteRecords(uint64_t task_block, const workspace::Budget& budget) {
  if (profile_block_ != 0 && !log::Enabled(log::Level::kInfo)) return;
  const Status read = records_.Read(state_->table(), task_block, budget, &state_->counters());
  if (!read.ok()) {
    PYPTO_LOG(kWarning, "the workspace records of '%s' cannot be read: %s", image_->plan.name.c_str(),
              read.ToString().c_str());
    return;
  }
  if (records_.statistics().launches == 0 || !log::Enabled(log::Level::kInfo)) return;
  std::string preface;
  if (!ignored_said_) {
    preface = workspace::DescribeIgnoredOptions(BudgetOptionsOf(signature_.plan().options));
    if (!preface.empty()) preface.insert(0, "kernel=" + image_->plan.name + ": ");
    ignored_said_ = true;
  }
  records_.Write(image_->plan.name, preface);
}

Result<LaunchReport> Launcher::Report(const Interrupt& interrupt) {
  PYPTO_RETURN_IF_ERROR(CheckOpen());
  state_->TakeInDropped();
  PYPTO_RETURN_IF_ERROR(state_->WaitIdleIfBusy(interrupt));
  const acl::ContextScope scope(state_->table(), state_->session().context());
  PYPTO_RETURN_IF_ERROR(scope.status());
  LaunchReport report;
  report.kernel = image_->plan.name;
  PYPTO_ASSIGN_OR_RETURN(report.statistics, statistics_.ReadLast());
  PYPTO_ASSIGN_OR_RETURN(const StatisticsBlocks::Totals totals, statistics_.ReadTotals());
  report.launches = totals.launches;
  report.max_recommended_depths = totals.max_recommended;
  report.budget = budget_;
  const program::LaunchStatistics& last = report.statistics;
  if (last.launches == 0) return report;
  if (last.ticks_per_second > 0) {
    report.device_wall_us = static_cast<double>(last.end_ticks - last.begin_ticks) / last.ticks_per_second * 1e6;
  }
  report.usage.peak = last.peak_bytes;
  for (size_t i = 0; i < workspace::kPoolCount; ++i) report.usage.capacity[i] = budget_.pools[i].capacity;
  report.copies = UsagePerCopy(budget_, last);
  report.recommendation = workspace::Recommend(budget_, workspace::PoolPeaks{last.peak_bytes});
  const bool same = records_.statistics().launches != 0 && records_.statistics().begin_ticks == last.begin_ticks;
  if (same) report.tasks = records_.Tasks();
  return report;
}

}  // namespace pypto::runtime
