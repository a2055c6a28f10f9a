// Entries of the task block, for launches with few and with many device tasks.
#include <gtest/gtest.h>

#include <cstring>

#include "device/launcher.h"
#include "device/plan_maker.h"

namespace pypto::device::testing {
namespace {

using program::LaunchHeader;
using program::LaunchStatistics;
using program::TaskEntry;
using program::TaskPools;
using program::TensorClass;

// `steps` instances, each with 512 bytes of root-inner memory; the loop is parallel.
std::shared_ptr<const program::Image> Steps(int64_t steps, const program::PlanOptions& options) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {16});
  const uint32_t out = maker.Parameter(DType::kFp32, {steps, 16});
  const uint32_t middle = maker.Storage(TensorClass::kRootInner, DType::kFp32, {16});
  const uint32_t loop = maker.NewLoop();
  LeafMaker first = maker.Leaf({16}, {16});
  first.Op(OpCode::kAdd, {first.Access(x), first.Access(x)}, first.Access(middle));
  LeafMaker second = maker.Leaf({1, 16}, {1, 16});
  second.Op(OpCode::kCopy, {second.Strided(middle, maker.Const(0), {16, 1}, {1, 16}, {})},
            second.Window(out, {maker.LoopIndex(loop), maker.Const(0)}));
  const uint32_t root = maker.Root({first, second});
  auto control = PlanMaker::Loop(loop, maker.Const(0), maker.Const(steps), maker.Const(1), {PlanMaker::Run(root)});
  control.parallel = true;
  maker.SetControl({control});
  maker.SetWorkspace({512, 0, 0}, 0);
  maker.plan().options = options;
  return maker.Finish();
}

// A launch with a task block, and the block as it is afterwards.
class Recorded {
 public:
  Recorded(int64_t steps, const program::PlanOptions& options) : launcher_(Steps(steps, options)) {
    parallelism_ = options.parallelism;
    launcher_.Bind({{std::vector<double>(16, 1.0)}, {std::vector<double>(static_cast<size_t>(steps) * 16)}});
    address_ = launcher_.memory().Put(
        std::vector<std::byte>(program::TaskBlockBytes(parallelism_), std::byte{0xee}));  // as freshly poisoned
    result_ = Run();
    EXPECT_EQ(result_.outcome.acl_code, 0) << result_.outcome.message;
  }

  LaunchResult Run(const std::function<void(LaunchHeader*)>& change = {}) {
    return launcher_.Run([&](LaunchHeader* header) {
      header->flags = program::kRecordTasks;
      header->tasks_address = address_;
      header->tasks_bytes = program::TaskBlockBytes(parallelism_);
      if (change) change(header);
    });
  }

  const LaunchResult& result() const { return result_; }
  EngineCounters counters() { return launcher_.engine().counters(); }
  std::byte* block() { return launcher_.memory().Host(address_); }
  uint64_t address() const { return address_; }
  TaskEntry Entry(size_t index) {
    TaskEntry entry;
    std::memcpy(static_cast<void*>(&entry), Place(index), sizeof(entry));
    return entry;
  }
  TaskPools PoolsOf(size_t index, uint32_t copy) {
    TaskPools pools;
    std::memcpy(static_cast<void*>(&pools), Place(index) + sizeof(TaskEntry) + copy * sizeof(pools), sizeof(pools));
    return pools;
  }

 private:
  std::byte* Place(size_t index) {
    return block() + program::kTaskBlockHeader + index * program::TaskEntryBytes(parallelism_);
  }
  Launcher launcher_;
  uint32_t parallelism_ = 1;
  uint64_t address_ = 0;
  LaunchResult result_;
};

TEST(TaskRecorder, AnEntryPerTaskWithWhatClosedIt) {
  program::PlanOptions options;
  options.stitch_function_num_per_pool = {3, 0, 0};
  Recorded launch(8, options);
  EXPECT_EQ(launch.result().statistics.device_tasks, 3u);
  for (size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    const TaskEntry entry = launch.Entry(i);
    EXPECT_EQ(entry.tasks, 1u);
    EXPECT_EQ(entry.root_instances, i < 2 ? 3u : 2u);
    EXPECT_EQ(entry.alloc_failures, i < 2 ? 1u : 0u);
    EXPECT_EQ(launch.PoolsOf(i, 0).current[0], entry.root_instances * 512);
    EXPECT_EQ(launch.PoolsOf(i, 0).peak[0], entry.root_instances * 512);
    EXPECT_EQ(launch.PoolsOf(i, 0).peak[1], 0u);
  }
  const TaskEntry first = launch.Entry(0);
  EXPECT_EQ(first.failed_pool, 0u);
  EXPECT_EQ(first.requested, 512u);
  EXPECT_EQ(first.available, 0u);
  EXPECT_EQ(first.capacity, 1536u);
  LaunchStatistics copied;
  std::memcpy(static_cast<void*>(&copied), launch.block(), sizeof(copied));
  EXPECT_EQ(std::memcmp(&copied, &launch.result().statistics, sizeof(copied)), 0);
}

TEST(TaskRecorder, AReplayedLaunchRecordsTheSame) {
  program::PlanOptions options;
  options.stitch_function_num_per_pool = {3, 0, 0};
  options.parallelism = 2;
  Recorded launch(15, options);
  const size_t bytes = program::kTaskBlockHeader + 3 * program::TaskEntryBytes(2);
  const std::vector<std::byte> first(launch.block() + program::kTaskBlockHeader, launch.block() + bytes);
  std::memset(launch.block(), 0xee, bytes);
  EXPECT_EQ(launch.Run().statistics.device_tasks, 3u);
  EXPECT_EQ(std::vector<std::byte>(launch.block() + program::kTaskBlockHeader, launch.block() + bytes), first);
  EXPECT_EQ(launch.counters().replayed, 1u);
}

TEST(TaskRecorder, OneRowPerCopy) {
  program::PlanOptions options;
  options.parallelism = 4;
  Recorded launch(10, options);
  EXPECT_EQ(launch.result().statistics.device_tasks, 1u);
  const uint64_t expected[] = {3 * 512, 3 * 512, 2 * 512, 2 * 512};
  for (uint32_t copy = 0; copy < 4; ++copy) {
    EXPECT_EQ(launch.PoolsOf(0, copy).current[0], expected[copy]);
    EXPECT_EQ(launch.result().statistics.copy_peak_bytes[copy][0], expected[copy]);
  }
  EXPECT_EQ(launch.result().statistics.copy_peak_bytes[4][0], 0u);
  EXPECT_EQ(launch.result().statistics.peak_bytes[0], 3u * 512);
}

TEST(TaskRecorder, TasksBehindTheLastEntryAreSummed) {
  for (const int64_t tasks : {1024, 1025, 1100}) {
    SCOPED_TRACE(tasks);
    program::PlanOptions options;
    options.stitch_function_num_per_pool = {2, 0, 0};
    Recorded launch(2 * tasks - 1, options);
    EXPECT_EQ(launch.result().statistics.device_tasks, static_cast<uint64_t>(tasks));
    EXPECT_EQ(launch.Entry(1023).tasks, 1u);
    if (tasks == 1024) {
      EXPECT_EQ(launch.Entry(1023).root_instances, 1u);
      continue;
    }
    const TaskEntry sum = launch.Entry(1024);
    EXPECT_EQ(sum.tasks, static_cast<uint64_t>(tasks - 1024));
    EXPECT_EQ(sum.root_instances, 2u * static_cast<uint64_t>(tasks - 1024) - 1);
    EXPECT_EQ(sum.alloc_failures, static_cast<uint64_t>(tasks - 1025));
    EXPECT_EQ(launch.PoolsOf(1024, 0).current[0], 512u);
    EXPECT_EQ(launch.PoolsOf(1024, 0).peak[0], tasks == 1025 ? 512u : 1024u);
  }
}

TEST(TaskRecorder, TheBlockIsChecked) {
  Recorded launch(2, {});
  const auto message = [&](const std::function<void(LaunchHeader*)>& change) {
    return launch.Run(change).outcome.message;
  };
  EXPECT_NE(message([](LaunchHeader* header) { header->tasks_bytes -= 1; }).find("the task block"), std::string::npos);
  EXPECT_NE(message([](LaunchHeader* header) { header->tasks_address = 64; }).find("the task block"),
            std::string::npos);
  EXPECT_NE(message([](LaunchHeader* header) { header->tasks_address += 4; }).find("the task block"),
            std::string::npos);
  EXPECT_NE(message([](LaunchHeader* header) { header->parallelism = 9; }).find("the task block"), std::string::npos);
  std::memset(launch.block(), 0xee, program::kTaskBlockHeader);
  EXPECT_EQ(message([](LaunchHeader* header) { header->flags = 0; }), "");
  EXPECT_EQ(launch.block()[0], std::byte{0xee});
}

}  // namespace
}  // namespace pypto::device::testing
