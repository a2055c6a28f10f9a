// The engine as a whole: statistics, cores, allocation, instruction sets.
#include <gtest/gtest.h>

#include <thread>

#include "device/allocation_counter.h"
#include "device/plan_maker.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

using program::TensorClass;

// Several leaves, all kinds of work: c = gelu-like(x @ w + b), then its row sums, through workspace memory.
std::shared_ptr<const program::Image> Mixed(int64_t m, int64_t n, int64_t k, DType dtype) {
  PlanMaker maker("mixed");
  const uint32_t x = maker.Parameter(dtype, {m, k});
  const uint32_t w = maker.Parameter(dtype, {k, n});
  const uint32_t b = maker.Parameter(dtype, {1, n});
  const uint32_t out = maker.Parameter(dtype, {m, n});
  const uint32_t sums = maker.Parameter(DType::kFp32, {m, 1});
  const uint32_t inner = maker.Storage(TensorClass::kRootInner, dtype, {m, n});
  LeafMaker product = maker.Cube({m, n}, {std::min<int64_t>(m, 32), std::min<int64_t>(n, 64)}, k);
  product.Op(
      OpCode::kMatmul,
      {product.Strided(x, maker.Const(0), {k, 1}, {m, k}, {}), product.Strided(w, maker.Const(0), {n, 1}, {k, n}, {})},
      product.Access(inner));
  LeafMaker gate = maker.Leaf({m, n}, {std::min<int64_t>(m, 8), n});
  const ValueRef sum = gate.Op(OpCode::kAdd, {gate.Access(inner), gate.Access(b)}, gate.Local(dtype));
  const ValueRef curve = gate.Op(
      OpCode::kErf, {gate.Op(OpCode::kMul, {sum, LeafMaker::Float(0.70710678)}, gate.Local(dtype))}, gate.Local(dtype));
  const ValueRef result = gate.Op(OpCode::kMul, {sum, curve}, gate.Local(dtype));
  gate.Op(OpCode::kCopy, {result}, gate.Access(out));
  const ValueRef wide = gate.Cast(result, gate.Local(DType::kFp32));
  gate.Reduce(OpCode::kSum, wide, 1, gate.Access(sums));
  maker.Root({product, gate});
  maker.SetWorkspace({(m * n * program::BytesOf(dtype) + 511) / 512 * 512, 0, 0}, 0);
  return maker.Finish();
}

std::vector<Argument> MixedArguments(int64_t m, int64_t n, int64_t k, DType dtype) {
  const auto count = [](int64_t a, int64_t b) { return static_cast<size_t>(a * b); };
  return {{RandomValues(dtype, count(m, k), -1, 1, 1)},
          {RandomValues(dtype, count(k, n), -1, 1, 2)},
          {RandomValues(dtype, count(1, n), -1, 1, 3)},
          {std::vector<double>(count(m, n))},
          {std::vector<double>(count(m, 1))}};
}

TEST(Engine, ResultsAreTheSameBitsOnAnyNumberOfCores) {
  for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
    const auto image = Mixed(150, 200, 300, dtype);
    std::vector<std::vector<std::byte>> expected;
    for (const uint32_t cores : {1u, 2u, 4u}) {
      for (const uint64_t seed : {0u, 7u, 99u}) {
        Launcher launcher(image, cores, seed);
        launcher.Bind(MixedArguments(150, 200, 300, dtype));
        for (int round = 0; round < 3; ++round) {
          const LaunchResult result = launcher.Run();
          ASSERT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
          if (expected.empty()) expected = result.bytes;
          ASSERT_EQ(result.bytes, expected) << cores << " cores, seed " << seed;
        }
      }
    }
  }
}

TEST(Engine, MixedKernelMatchesTheReference) {
  // Half types round at five places on the way to the sums.
  CheckAgainstReference(Mixed(33, 70, 40, DType::kFp32), MixedArguments(33, 70, 40, DType::kFp32), {}, 64, 1e-4);
}

TEST(Engine, StatisticsOfALaunch) {
  Launcher launcher(Mixed(40, 64, 16, DType::kFp32));
  launcher.Bind(MixedArguments(40, 64, 16, DType::kFp32));
  const auto first = launcher.Run();
  const auto second = launcher.Run();
  const program::LaunchStatistics& s = second.statistics;
  EXPECT_EQ(first.statistics.launches, 1u);
  EXPECT_EQ(s.launches, 2u);
  EXPECT_GT(s.end_ticks, s.begin_ticks);
  EXPECT_GE(s.begin_ticks, first.statistics.end_ticks);
  EXPECT_GT(s.ticks_per_second, 1e6);
  EXPECT_EQ(s.fault, 0u);
  EXPECT_EQ(s.root_instances, 1u);
  EXPECT_EQ(s.device_tasks, 1u);
  EXPECT_EQ(s.leaf_tiles, 2u + 5u);
  EXPECT_EQ(s.alloc_failures, 0u);
  EXPECT_EQ(s.peak_bytes, (std::array<uint64_t, 3>{40 * 64 * 4, 0, 0}));
  EXPECT_EQ(s.largest_peak_bytes, s.peak_bytes);
}

TEST(Engine, NoStatisticsWhenNoneAreWanted) {
  Launcher launcher(Mixed(4, 4, 4, DType::kFp32));
  launcher.Bind(MixedArguments(4, 4, 4, DType::kFp32));
  const auto result = launcher.Run([](program::LaunchHeader* h) { h->statistics_address = 0; });
  EXPECT_EQ(result.outcome.acl_code, 0);
  EXPECT_EQ(result.statistics.launches, 0u);
}

TEST(Engine, AWarmLaunchAllocatesNothing) {
  for (const uint32_t cores : {1u, 2u}) {
    Launcher launcher(Mixed(150, 200, 300, DType::kFp16), cores);
    launcher.Bind(MixedArguments(150, 200, 300, DType::kFp16));
    ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
    const uint64_t before = AllocationCount();
    for (int i = 0; i < 10; ++i) ASSERT_EQ(launcher.RunAgain().acl_code, 0);
    EXPECT_EQ(AllocationCount(), before);
  }
}

TEST(Engine, AWarmLaunchWithManyTasksAllocatesNothing) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {500, 16});
  const uint32_t acc = maker.Storage(TensorClass::kExclusiveOutcast, DType::kFp32, {1, 16});
  const uint32_t loop = maker.NewLoop();
  const ExprId i = maker.LoopIndex(loop);
  LeafMaker leaf = maker.Leaf({1, 16}, {1, 16});
  leaf.Op(OpCode::kAdd, {leaf.Window(x, {i, maker.Const(0)}), leaf.Access(acc)}, leaf.Access(acc));
  leaf.Op(OpCode::kCopy, {leaf.Access(acc)}, leaf.Window(x, {i, maker.Const(0)}));
  const uint32_t root = maker.Root({leaf}, {acc}, {acc});
  maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.Const(500), maker.Const(1), {PlanMaker::Run(root)})});
  maker.SetWorkspace({0, 0, 512}, 512);
  maker.plan().options.stitch_function_max_num = 60;
  Launcher launcher(maker.Finish());
  launcher.Bind({{std::vector<double>(8000, 1)}});
  const auto result = launcher.Run();
  ASSERT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
  EXPECT_EQ(result.statistics.device_tasks, 9u);
  EXPECT_EQ(result.values[0][499 * 16], 500);
  const uint64_t before = AllocationCount();
  ASSERT_EQ(launcher.RunAgain().acl_code, 0);
  EXPECT_EQ(AllocationCount(), before);
}

// out = exp(x) row by row, with a scalar that nothing reads.
std::shared_ptr<const program::Image> LongRows(int64_t rows) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {rows, 4096});
  const uint32_t out = maker.Parameter(DType::kFp32, {rows, 4096});
  maker.IntScalar();
  const uint32_t loop = maker.NewLoop();
  const ExprId i = maker.LoopIndex(loop);
  LeafMaker leaf = maker.Leaf({1, 4096}, {1, 4096});
  leaf.Op(OpCode::kExp, {leaf.Window(x, {i, maker.Const(0)})}, leaf.Window(out, {i, maker.Const(0)}));
  const uint32_t root = maker.Root({leaf});
  maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.Const(rows), maker.Const(1), {PlanMaker::Run(root)})});
  return maker.Finish();
}

TEST(Engine, SharedTasksAllocateNothingWalkedOrReplayed) {
  for (const uint64_t seed : {0u, 9u}) {
    Launcher launcher(LongRows(30), 2, seed);
    const std::vector<double> values(30 * 4096, 0.5);
    launcher.Bind({{values}, {values}, {}});
    ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
    for (uint64_t i = 0; i < 300; ++i) {  // more shapes than are kept
      launcher.slot(2) = i;
      ASSERT_EQ(launcher.RunAgain().acl_code, 0);
    }
    ASSERT_GT(launcher.engine().counters().shared_tasks, 0u);
    const EngineCounters first = launcher.engine().counters();
    const uint64_t before = AllocationCount();
    for (uint64_t i = 0; i < 20; ++i) {
      launcher.slot(2) = 1000 + i % 10;
      ASSERT_EQ(launcher.RunAgain().acl_code, 0);
    }
    EXPECT_EQ(AllocationCount(), before);
    EXPECT_EQ(launcher.engine().counters().walked - first.walked, 10u);
    EXPECT_EQ(launcher.engine().counters().replayed - first.replayed, 10u);
  }
}

TEST(Engine, ShortTasksStayOnTheCaller) {
  Launcher launcher(Mixed(4, 4, 4, DType::kFp32), 4);
  launcher.Bind(MixedArguments(4, 4, 4, DType::kFp32));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
  EXPECT_EQ(launcher.engine().counters().shared_tasks, 0u);
}

TEST(Engine, OtherWorkOnTheCoresIsNoTaskOfALaunch) {
  const auto mark = [](void* ran, uint32_t core) {
    if (core == 0) *static_cast<std::thread::id*>(ran) = std::this_thread::get_id();
  };
  std::thread::id ran;
  EXPECT_FALSE(Engine::Make({1, 0})->Share(mark, &ran)) << "one core";
  EXPECT_EQ(ran, std::thread::id());
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  const auto engine = Engine::Make({2, 0});
  EXPECT_TRUE(engine->Share(mark, &ran));
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_EQ(engine->counters().shared_tasks, 0u);
}

TEST(Engine, ShapesMayChangeFromLaunchToLaunch) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {Sym(0)});
  const uint32_t inner = maker.Storage(TensorClass::kRootInner, DType::kFp32, {Sym(0)});
  LeafMaker write = maker.Leaf({1000}, {64});
  write.Op(OpCode::kAdd, {write.Access(x), LeafMaker::Int(1)}, write.Access(inner));
  LeafMaker read = maker.Leaf({1000}, {64});
  read.Op(OpCode::kCopy, {read.Access(inner)}, read.Access(x));
  maker.Root({write, read});
  const ExprId bytes = maker.plan().storages[inner].bytes;
  maker.SetWorkspace({0, 0, 0}, 0);
  maker.plan().workspace.unit_bytes[0] = bytes;
  maker.plan().workspace.present[0] = true;
  Launcher launcher(maker.Finish(), 2);
  for (const int64_t size : {1000, 3, 1000, 0, 512}) {
    launcher.Bind({{std::vector<double>(static_cast<size_t>(size), 4)}}, {size});
    const auto result = launcher.Run();
    ASSERT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
    EXPECT_EQ(result.values[0], std::vector<double>(static_cast<size_t>(size), 5));
    EXPECT_EQ(result.statistics.peak_bytes[0], static_cast<uint64_t>(size * 4 + 511) / 512 * 512);
  }
}

TEST(Engine, OneExecutableOnSeveralEngines) {
  const auto image = Mixed(20, 30, 10, DType::kFp32);
  Launcher a(image);
  Launcher b(image, 2);
  a.Bind(MixedArguments(20, 30, 10, DType::kFp32));
  b.Bind(MixedArguments(20, 30, 10, DType::kFp32));
  EXPECT_EQ(a.Run().bytes, b.Run().bytes);
  EXPECT_EQ(b.engine().Run(a.executable(), b.block(), b.memory(), nullptr).acl_code, 0);
  EXPECT_EQ(a.executable().entry(), "mixed");
}

}  // namespace
}  // namespace pypto::device::testing
