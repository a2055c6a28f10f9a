// Launches that run what was stitched for an earlier one of the same shape.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "device/allocation_counter.h"
#include "device/plan_maker.h"
#include "device/random_program.h"
#include "device/reference.h"
#include "pypto/device/recording.h"
#include "pypto/device/stitcher.h"

namespace pypto::device::testing {
namespace {

using program::TensorClass;

// out[i] = x[i] + s for rows of a matrix with a dynamic number of rows, through the workspace.
struct RowsPlusScalar {
  PlanMaker maker{"rows"};
  uint32_t x = maker.Parameter(DType::kFp32, {Sym(0), 64});
  uint32_t out = maker.Parameter(DType::kFp32, {Sym(0), 64});
  uint32_t s = maker.IntScalar();

  std::shared_ptr<const program::Image> Build(uint32_t most = 128) {
    const uint32_t inner = maker.Storage(TensorClass::kRootInner, DType::kFp32, {1, 64});
    const uint32_t loop = maker.NewLoop();
    const ExprId i = maker.LoopIndex(loop);
    LeafMaker first = maker.Leaf({1, 64}, {1, 64});
    first.Op(OpCode::kAdd, {first.Window(x, {i, maker.Const(0)}), LeafMaker::Expr(maker.exprs().Scalar(s))},
             first.Access(inner));
    LeafMaker second = maker.Leaf({1, 64}, {1, 64});
    second.Op(OpCode::kCopy, {second.Access(inner)}, second.Window(out, {i, maker.Const(0)}));
    const uint32_t root = maker.Root({first, second});
    maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.Symbol(0), maker.Const(1), {PlanMaker::Run(root)})});
    maker.SetWorkspace({512, 0, 0}, 0);
    maker.plan().options.stitch_function_max_num = most;
    return maker.Finish();
  }
  static std::vector<Argument> Arguments(int64_t rows, int64_t scalar, double value = 1) {
    const auto count = static_cast<size_t>(rows * 64);
    return {{std::vector<double>(count, value)}, {std::vector<double>(count)}, {{}, scalar, 0}};
  }
};

TEST(Replay, TheSecondLaunchOfAShapeIsNotWalked) {
  Launcher launcher(RowsPlusScalar().Build(10));
  launcher.Bind(RowsPlusScalar::Arguments(25, 3), {25});
  const LaunchResult first = launcher.Run();
  const LaunchResult second = launcher.Run();
  EXPECT_EQ(launcher.engine().counters().walked, 1u);
  EXPECT_EQ(launcher.engine().counters().replayed, 1u);
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_EQ(first.values[1], std::vector<double>(25 * 64, 4));
  EXPECT_EQ(second.statistics.launches, 2u);
  EXPECT_EQ(second.statistics.root_instances, 25u);
  EXPECT_EQ(second.statistics.device_tasks, 3u);
  EXPECT_EQ(second.statistics.leaf_tiles, 50u);
  EXPECT_EQ(second.statistics.peak_bytes, first.statistics.peak_bytes);
  EXPECT_GE(second.statistics.end_ticks, second.statistics.begin_ticks);
}

TEST(Replay, RandomProgramsGiveTheSameBitsAndFiguresAgain) {
  program::PlanOptions tight;
  tight.stitch_function_num_per_pool = {1, 1, 2};
  tight.parallelism = 2;
  for (uint32_t seed = 200; seed < 230; ++seed) {
    for (const program::PlanOptions& options : {program::PlanOptions{}, tight}) {
      const RandomProgram program = MakeRandomProgram(seed, 4, options);
      Launcher launcher(program.image, 2);
      launcher.Bind(program.arguments);
      const LaunchResult walked = launcher.Run();
      launcher.Bind(program.arguments);  // at other addresses
      const LaunchResult replayed = launcher.Run();
      ASSERT_EQ(launcher.engine().counters().replayed, 1u);
      ASSERT_EQ(walked.bytes, replayed.bytes) << "seed " << seed;
      ASSERT_EQ(walked.statistics.device_tasks, replayed.statistics.device_tasks);
      ASSERT_EQ(walked.statistics.alloc_failures, replayed.statistics.alloc_failures);
      ASSERT_EQ(walked.statistics.leaf_tiles, replayed.statistics.leaf_tiles);
      ASSERT_EQ(walked.statistics.peak_bytes, replayed.statistics.peak_bytes);
    }
  }
}

TEST(Replay, ScalarsAndShapesHaveRecordingsOfTheirOwn) {
  Launcher launcher(RowsPlusScalar().Build());
  uint64_t walked = 0;
  for (int round = 0; round < 3; ++round) {
    for (const int64_t rows : {4, 0, 9}) {
      for (const int64_t scalar : {-2, 7}) {
        launcher.Bind(RowsPlusScalar::Arguments(rows, scalar, round), {rows});
        const LaunchResult result = launcher.Run();
        ASSERT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
        EXPECT_EQ(result.values[1],
                  std::vector<double>(static_cast<size_t>(rows * 64), static_cast<double>(round + scalar)));
        EXPECT_EQ(result.statistics.root_instances, static_cast<uint64_t>(rows));
      }
    }
    if (round == 0) walked = launcher.engine().counters().walked;
  }
  EXPECT_EQ(walked, 6u);
  EXPECT_EQ(launcher.engine().counters().walked, 6u);
  EXPECT_EQ(launcher.engine().counters().replayed, 12u);
}

TEST(Replay, SeveralProgramsInTurn) {
  Launcher a(RowsPlusScalar().Build());
  Launcher b(RowsPlusScalar().Build());
  a.Bind(RowsPlusScalar::Arguments(3, 1), {3});
  b.Bind(RowsPlusScalar::Arguments(3, 1), {3});
  a.Run();
  b.Run();
  for (int round = 0; round < 4; ++round) {
    ASSERT_EQ(a.RunAgain().acl_code, 0);
    ASSERT_EQ(a.engine().Run(b.executable(), b.block(), b.memory(), nullptr).acl_code, 0);
  }
  EXPECT_EQ(a.engine().counters().walked, 2u);
  EXPECT_EQ(a.engine().counters().replayed, 7u);
}

TEST(Replay, AWrongBudgetIsAFaultOfEveryLaunch) {
  Launcher launcher(RowsPlusScalar().Build());
  launcher.Bind(RowsPlusScalar::Arguments(3, 1), {3});
  ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
  const auto wrong = launcher.Run([](program::LaunchHeader* header) { header->pools[0].depth = 5; });
  EXPECT_EQ(wrong.statistics.fault, static_cast<uint32_t>(program::FaultKind::kBudgetMismatch));
  EXPECT_EQ(wrong.statistics.root_instances, 0u);
  const auto nowhere = launcher.Run([](program::LaunchHeader* header) { header->workspace_address = 7; });
  EXPECT_EQ(nowhere.statistics.fault, static_cast<uint32_t>(program::FaultKind::kBadAddress));
  launcher.slot(1) = 12;
  EXPECT_EQ(launcher.Run().statistics.fault, static_cast<uint32_t>(program::FaultKind::kBadAddress));
}

TEST(Replay, ALaunchThatFailsIsWalkedAgain) {
  // The view of row s leaves the tensor for s = 9.
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8, 8});
  const uint32_t s = maker.IntScalar();
  LeafMaker leaf = maker.Leaf({1, 8}, {1, 8});
  const ExprId row = maker.exprs().Sub(maker.exprs().Scalar(s), maker.Const(1));
  leaf.Op(OpCode::kAdd, {leaf.Window(x, {row, maker.Const(0)}), LeafMaker::Int(1)},
          leaf.Window(x, {row, maker.Const(0)}));
  maker.Root({leaf});
  Launcher launcher(maker.Finish());
  for (int round = 0; round < 3; ++round) {
    launcher.Bind({{std::vector<double>(64)}, {{}, 0, 0}});
    EXPECT_EQ(launcher.Run().statistics.fault, static_cast<uint32_t>(program::FaultKind::kNegativeOffset));
  }
  EXPECT_EQ(launcher.engine().counters().walked, 3u);
  launcher.Bind({{std::vector<double>(64)}, {{}, 1, 0}});
  EXPECT_EQ(launcher.Run().values[0][0], 1);
}

// x in the first parameter, out = the same memory, one row further on: every row is the sum of all before it.
TEST(Replay, ParametersThatOverlapAreOrderedByAddress) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {40, 2048});
  const uint32_t out = maker.Parameter(DType::kFp32, {40, 2048});
  const uint32_t loop = maker.NewLoop();
  LeafMaker leaf = maker.Leaf({1, 2048}, {1, 2048});
  const ExprId i = maker.LoopIndex(loop);
  // Long enough to be shared, and no change: exp(x) - exp(x).
  const ValueRef power = leaf.Op(OpCode::kExp, {leaf.Window(x, {i, maker.Const(0)})}, leaf.Local(DType::kFp32));
  const ValueRef zero = leaf.Op(OpCode::kSub, {power, power}, leaf.Local(DType::kFp32));
  const ValueRef sum = leaf.Op(OpCode::kAdd, {leaf.Window(x, {i, maker.Const(0)}), zero}, leaf.Local(DType::kFp32));
  leaf.Op(OpCode::kAdd, {sum, LeafMaker::Int(1)}, leaf.Window(out, {i, maker.Const(0)}));
  const uint32_t root = maker.Root({leaf});
  maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.Const(40), maker.Const(1), {PlanMaker::Run(root)})});
  const auto image = maker.Finish();
  for (const uint64_t seed : {0u, 3u, 4u}) {
    Launcher launcher(image, 4, seed);
    launcher.Bind({{std::vector<double>(40 * 2048)}, {std::vector<double>(40 * 2048)}});
    ASSERT_EQ(launcher.Run().outcome.acl_code, 0);  // kept: the two do not overlap
    const uint64_t both = launcher.memory().Put(std::vector<std::byte>(41 * 2048 * 4));
    for (int round = 0; round < 2; ++round) {
      std::memset(launcher.memory().Host(both), 0, 41 * 2048 * 4);
      launcher.slot(0) = both;
      launcher.slot(1) = both + 2048 * 4;
      ASSERT_EQ(launcher.RunAgain().acl_code, 0);
      std::vector<float> rows(41 * 2048);
      std::memcpy(rows.data(), launcher.memory().Host(both), rows.size() * 4);
      for (size_t row = 0; row < 41; ++row) ASSERT_EQ(rows[row * 2048 + 5], static_cast<float>(row)) << seed;
    }
    EXPECT_EQ(launcher.engine().counters().walked, 3u);
  }
}

// `read` names the first and the last step; every step adds one to `written`. Both are [4] of INT32.
struct CountedSteps {
  PlanMaker maker;
  uint32_t counts = maker.Parameter(DType::kInt32, {4});
  uint32_t x = maker.Parameter(DType::kInt32, {4});

  std::shared_ptr<const program::Image> Build(uint32_t written, uint32_t read) {
    maker.plan().slots = {{"begin", program::ScalarKind::kInt}, {"end", program::ScalarKind::kInt}};
    maker.plan().reads_tensors = true;
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kAdd, {leaf.Access(written), LeafMaker::Int(1)}, leaf.Access(written));
    const uint32_t root = maker.Root({leaf});
    LeafMaker use = maker.Leaf({4}, {4});
    const uint32_t unused = maker.Storage(TensorClass::kRootInner, DType::kInt32, {4});
    use.Op(OpCode::kAdd, {use.Access(read), LeafMaker::Int(0)}, use.Access(unused));
    const uint32_t touch = maker.Root({use});
    const auto cell = [&](uint32_t slot) {
      program::ControlNode node;
      node.kind = program::ControlNode::Kind::kRead;
      node.slot = slot;
      node.read = {read, maker.Const(0), {maker.Const(1)}, {maker.Const(slot)}, {maker.Const(4)}, {}};
      return node;
    };
    const uint32_t loop = maker.NewLoop();
    maker.SetControl(
        {PlanMaker::Run(touch), cell(0), cell(1),
         PlanMaker::Loop(loop, maker.exprs().Slot(0), maker.exprs().Slot(1), maker.Const(1), {PlanMaker::Run(root)})});
    maker.SetWorkspace({512, 0, 0}, 0);
    return maker.Finish();
  }
};

void SetCell(Launcher* launcher, size_t parameter, size_t index, int32_t value) {
  std::memcpy(launcher->memory().Host(launcher->slot(parameter)) + index * 4, &value, 4);
}

int32_t CellOf(Launcher* launcher, size_t parameter, size_t index) {
  int32_t value = 0;
  std::memcpy(&value, launcher->memory().Host(launcher->slot(parameter)) + index * 4, 4);
  return value;
}

TEST(Replay, CellsThatControlFlowReadsAreComparedFirst) {
  CountedSteps program;
  Launcher launcher(program.Build(program.x, program.counts));
  launcher.Bind({{{0, 3, 0, 0}}, {{0, 0, 0, 0}}});
  ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
  const auto run = [&](int32_t begin, int32_t end) {
    SetCell(&launcher, 0, 0, begin);
    SetCell(&launcher, 0, 1, end);
    SetCell(&launcher, 1, 0, 0);
    EXPECT_EQ(launcher.RunAgain().acl_code, 0);
    return CellOf(&launcher, 1, 0);
  };
  const auto walked = [&] { return launcher.engine().counters().walked; };
  for (int round = 0; round < 4; ++round) EXPECT_EQ(run(0, 3), 3);
  EXPECT_EQ(walked(), 1u);
  EXPECT_EQ(run(0, 5), 5);
  EXPECT_EQ(run(2, 5), 3);
  EXPECT_EQ(walked(), 3u);
  // All three are kept, whichever ran last.
  for (const int32_t end : {3, 5, 3}) EXPECT_EQ(run(0, end), end);
  EXPECT_EQ(run(2, 5), 3);
  EXPECT_EQ(walked(), 3u);
  // At most four of a shape: the one used longest ago makes room.
  EXPECT_EQ(run(1, 5), 4);
  EXPECT_EQ(run(0, 1), 1);
  EXPECT_EQ(walked(), 5u);
  EXPECT_EQ(run(0, 3), 3);
  EXPECT_EQ(run(2, 5), 3);
  EXPECT_EQ(walked(), 5u);
  EXPECT_EQ(run(0, 5), 5);
  EXPECT_EQ(walked(), 6u);
}

TEST(Replay, CellsThatTheLaunchWritesAreReadByEveryLaunch) {
  CountedSteps program;
  Launcher launcher(program.Build(program.counts, program.counts));
  launcher.Bind({{{0, 3, 0, 0}}, {{0, 0, 0, 0}}});
  ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
  // Each step adds one to both counts, so that there are always three steps.
  for (int round = 2; round < 4; ++round) {
    ASSERT_EQ(launcher.RunAgain().acl_code, 0);
    EXPECT_EQ(CellOf(&launcher, 0, 1), 3 + 3 * round);
  }
  EXPECT_EQ(launcher.engine().counters().walked, 3u);
}

TEST(Replay, CellsInMemoryThatAnotherParameterWritesAreReadByEveryLaunch) {
  CountedSteps program;
  Launcher launcher(program.Build(program.x, program.counts));
  launcher.Bind({{{0, 3, 0, 0}}, {{0, 0, 0, 0}}});
  ASSERT_EQ(launcher.Run().outcome.acl_code, 0);  // kept: the two do not overlap
  launcher.slot(1) = launcher.slot(0);
  for (int round = 1; round < 4; ++round) {
    ASSERT_EQ(launcher.RunAgain().acl_code, 0);
    EXPECT_EQ(CellOf(&launcher, 0, 1), 3 + 3 * round);
  }
  EXPECT_EQ(launcher.engine().counters().walked, 4u);
}

TEST(Replay, InlineDataMovesWithItsBlock) {
  Launcher launcher(RowsPlusScalar().Build());
  launcher.Bind(RowsPlusScalar::Arguments(2, 5), {2});
  ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
  for (const float value : {2.0f, 3.0f}) {
    const size_t offset = (launcher.block().size() + 63) / 64 * 64;
    std::vector<std::byte> block(offset + 512);
    std::memcpy(block.data(), launcher.block().data(), launcher.block().size());
    program::LaunchHeader header;
    std::memcpy(&header, block.data(), sizeof(header));
    header.bytes = static_cast<uint32_t>(block.size());
    std::memcpy(block.data(), &header, sizeof(header));
    const uint64_t slot = program::kInlineFlag | offset;
    std::memcpy(block.data() + sizeof(header), &slot, sizeof(slot));
    for (size_t i = 0; i < 128; ++i) std::memcpy(block.data() + offset + i * 4, &value, 4);
    ASSERT_EQ(launcher.engine().Run(launcher.executable(), block, launcher.memory(), nullptr).acl_code, 0);
    float out = 0;
    std::memcpy(&out, launcher.memory().Host(launcher.slot(1)), 4);
    EXPECT_EQ(out, value + 5);
  }
  EXPECT_EQ(launcher.engine().counters().replayed, 2u);
}

// Keeps what the stitcher makes without running it.
struct Nothing final : TaskSink {
  uint32_t cores() const noexcept override { return 1; }
  bool shaken() const noexcept override { return false; }
  bool Run(const Task&) override { return true; }
};

class StoreTest : public ::testing::Test {
 protected:
  // Opens and walks a launch with `scalar`; kept unless the store does not want it.
  void Walk(RecordingStore* store, int64_t scalar) {
    Open(scalar);
    ASSERT_TRUE(launch_.Evaluate(program_, &fault_));
    ASSERT_TRUE(launch_.Bind(program_, launch_.shape(), launcher_.memory(), &fault_)) << fault_.text;
    TaskRecorder recorder;
    Stitcher stitcher(store, &recorder);
    Nothing sink;
    stitcher.Begin(program_, &launch_, &sink, &fault_);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(stitcher.AddInstance(0, 0));
    ASSERT_TRUE(stitcher.Submit());
    stitcher.Keep();
  }
  bool Finds(RecordingStore* store, int64_t scalar) {
    Open(scalar);
    return store->Find(program_, launch_) != nullptr;
  }

 private:
  void Open(int64_t scalar) {
    launcher_.slot(2) = static_cast<uint64_t>(scalar);
    ASSERT_TRUE(launch_.Open(program_, launcher_.block(), launcher_.memory(), &fault_));
  }
  static Launcher& Prepare(Launcher* launcher) {
    launcher->Bind(RowsPlusScalar::Arguments(4, 0), {4});
    launcher->Run();
    return *launcher;
  }
  Launcher made_{RowsPlusScalar().Build(20)};
  Launcher& launcher_ = Prepare(&made_);
  const LoadedExecutable& program_ = static_cast<const LoadedExecutable&>(launcher_.executable());
  LaunchState launch_;
  Fault fault_;
};

TEST_F(StoreTest, TheLeastRecentlyUsedGoesFirst) {
  RecordingStore store({.recordings = 3});
  for (const int64_t scalar : {1, 2, 3}) Walk(&store, scalar);
  EXPECT_TRUE(Finds(&store, 1));
  Walk(&store, 4);
  EXPECT_EQ(store.size(), 3u);
  EXPECT_FALSE(Finds(&store, 2));
  for (const int64_t scalar : {1, 3, 4}) EXPECT_TRUE(Finds(&store, scalar));
}

TEST_F(StoreTest, BytesAreBounded) {
  RecordingStore probe;
  Walk(&probe, 1);
  const size_t one = probe.bytes();
  ASSERT_GT(one, 1000u);
  RecordingStore store({.recordings = 100, .bytes = 3 * one + one / 2});
  for (int64_t scalar = 0; scalar < 20; ++scalar) {
    Walk(&store, scalar);
    EXPECT_LE(store.bytes(), 3 * one + one / 2);
    EXPECT_TRUE(Finds(&store, scalar));
  }
  EXPECT_GE(store.size(), 2u);
  RecordingStore small({.bytes_per_launch = one / 2});
  Walk(&small, 1);
  EXPECT_FALSE(Finds(&small, 1));
  EXPECT_EQ(small.bytes(), 0u);
}

TEST_F(StoreTest, ShapesThatComeAndGoUseTheSameMemory) {
  RecordingStore store({.recordings = 2});
  for (int64_t scalar = 0; scalar < 10; ++scalar) Walk(&store, scalar);
  const uint64_t before = AllocationCount();
  for (int64_t scalar = 10; scalar < 30; ++scalar) Walk(&store, scalar);
  // A stitcher of its own takes some; the tasks and their records take none.
  const uint64_t each = (AllocationCount() - before) / 20;
  EXPECT_LT(each, 30u);
}

}  // namespace
}  // namespace pypto::device::testing
