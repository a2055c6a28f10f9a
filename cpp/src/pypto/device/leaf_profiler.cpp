// Sums per leaf and operation, and the runs of each core, put together at the end.
#include "pypto/device/leaf_profiler.h"

#include <algorithm>
#include <cstring>

#include "pypto/device/leaf_traffic.h"

namespace pypto::device {

using program::LeafEntry;
using program::OpEntry;
using program::ProfileHeader;
using program::RunEntry;

void LeafProfiler::Begin(const LoadedExecutable& executable, uint32_t cores, std::span<std::byte> place) {
  executable_ = &executable;
  place_ = place;
  const uint64_t sums = program::ProfileBytes(executable.leaf_count(), executable.operation_count(), 0);
  room_ = (place.size() - sums) / sizeof(RunEntry) / cores;
  tasks_ = 0;
  leaves_.assign(executable.leaf_count(), {});
  logs_.assign(cores, {});
  std::vector<OpEntry> operations;
  for (const RootProgram& root : executable.roots()) {
    for (const LeafProgram& leaf : root.leaves) {
      leaves_[leaf.number].first_operation = leaf.first_operation;
      leaves_[leaf.number].operations = static_cast<uint32_t>(leaf.ops.size());
      for (const OpProgram& op : leaf.ops) operations.push_back({static_cast<uint32_t>(op.code), op.place, 0, 0});
    }
  }
  for (CoreLog& log : logs_) {
    log.operations = operations;
    log.leaf_ticks.assign(leaves_.size(), 0);
  }
}

void LeafProfiler::BeginTask(const Task& task) {
  task_ = &task;
  ++tasks_;
  for (const LeafRecord& record : task.leaves) {
    leaves_[record.program->number].instances += 1;
    leaves_[record.program->number].tiles += static_cast<uint64_t>(PlannedTiles(record, 0, record.tiles));
  }
}

void LeafProfiler::Note(uint32_t core, uint32_t number, int64_t first, int64_t last, uint64_t begin, uint64_t end) {
  CoreLog& log = logs_[core];
  const LeafRecord& record = task_->leaves[number];
  const LeafProgram& leaf = *record.program;
  log.leaf_ticks[leaf.number] += end - begin;
  log.op_bytes.assign(leaf.ops.size(), 0);
  const uint64_t bytes = AddTraffic(record, first, last, log.op_bytes.data());
  for (size_t i = 0; i < leaf.ops.size(); ++i) {
    log.operations[leaf.first_operation + i].ticks += log.op_ticks[i];
    log.operations[leaf.first_operation + i].bytes += log.op_bytes[i];
  }
  if (log.runs.size() == room_) {
    ++log.dropped;
    return;
  }
  const auto tiles = static_cast<uint64_t>(PlannedTiles(record, first, last));
  log.runs.push_back({begin, end, bytes, leaf.number, tasks_ - 1, number, core, tiles});
}

void LeafProfiler::End() {
  ProfileHeader header;
  header.leaves = executable_->leaf_count();
  header.operations = executable_->operation_count();
  header.cores = static_cast<uint32_t>(logs_.size());
  std::vector<OpEntry> operations = logs_[0].operations;
  std::vector<RunEntry> runs;
  for (size_t core = 0; core < logs_.size(); ++core) {
    const CoreLog& log = logs_[core];
    for (size_t i = 0; i < leaves_.size(); ++i) leaves_[i].ticks += log.leaf_ticks[i];
    for (size_t i = 0; core > 0 && i < operations.size(); ++i) {
      operations[i].ticks += log.operations[i].ticks;
      operations[i].bytes += log.operations[i].bytes;
    }
    runs.insert(runs.end(), log.runs.begin(), log.runs.end());
    header.dropped += log.dropped;
  }
  std::sort(runs.begin(), runs.end(),
            [](const RunEntry& a, const RunEntry& b) { return a.begin_ticks < b.begin_ticks; });
  header.runs = runs.size();
  std::byte* to = place_.data();
  const auto write = [&to](const void* from, size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    to += bytes;
  };
  write(&header, sizeof(header));
  write(leaves_.data(), leaves_.size() * sizeof(LeafEntry));
  write(operations.data(), operations.size() * sizeof(OpEntry));
  write(runs.data(), runs.size() * sizeof(RunEntry));
  logs_.clear();
}

}  // namespace pypto::device
