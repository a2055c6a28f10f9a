// Profiles as the engine writes them: counts, bytes, places, sums, and what happens without room.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "device/launcher.h"
#include "device/plan_maker.h"

namespace pypto::device::testing {
namespace {

using program::LaunchHeader;
using program::LeafEntry;
using program::OpEntry;
using program::ProfileHeader;
using program::RunEntry;

// One launch with a profile, and the profile as the engine wrote it.
struct Profiled {
  explicit Profiled(Launcher* launcher, uint64_t leaves, uint64_t operations, uint64_t room = 1000) {
    const uint64_t tasks = program::TaskBlockBytes(1);
    const uint64_t bytes = tasks + program::ProfileBytes(leaves, operations, room);
    address = launcher->memory().Put(std::vector<std::byte>(bytes, std::byte{0xee}));
    result = launcher->Run([&](LaunchHeader* head) {
      head->flags = program::kRecordTasks | program::kRecordLeaves;
      head->tasks_address = address;
      head->tasks_bytes = bytes;
    });
    if (result.outcome.acl_code != 0) return;
    const std::byte* at = launcher->memory().Host(address) + tasks;
    const auto take = [&at](auto* to, size_t count) {
      if (count != 0) std::memcpy(static_cast<void*>(to), at, count * sizeof(*to));
      at += count * sizeof(*to);
    };
    take(&header, 1);
    entries.resize(header.leaves);
    ops.resize(header.operations);
    runs.resize(header.runs);
    take(entries.data(), entries.size());
    take(ops.data(), ops.size());
    take(runs.data(), runs.size());
  }

  uint64_t TilesOf(uint32_t leaf) const {
    uint64_t tiles = 0;
    for (const RunEntry& run : runs) tiles += run.leaf == leaf ? run.tiles : 0;
    return tiles;
  }

  uint64_t address = 0;
  LaunchResult result;
  ProfileHeader header;
  std::vector<LeafEntry> entries;
  std::vector<OpEntry> ops;
  std::vector<RunEntry> runs;
};

std::vector<double> Ones(int64_t count) { return std::vector<double>(static_cast<size_t>(count), 1.0); }

// out = exp(x + y) + row, in tiles of 32 rows; `row` is one row of 48 for all.
std::shared_ptr<const program::Image> Chain(int64_t rows) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {rows, 48});
  const uint32_t y = maker.Parameter(DType::kBf16, {rows, 48});
  const uint32_t row = maker.Parameter(DType::kFp32, {1, 48});
  const uint32_t out = maker.Parameter(DType::kFp32, {rows, 48});
  LeafMaker leaf = maker.Leaf({rows, 48}, {32, 48});
  const ValueRef wide = leaf.Cast(leaf.Access(y), leaf.Local(DType::kFp32));
  const ValueRef sum = leaf.Op(OpCode::kAdd, {leaf.Access(x), wide}, leaf.Local(DType::kFp32));
  const ValueRef exp = leaf.Op(OpCode::kExp, {sum}, leaf.Local(DType::kFp32));
  leaf.Op(OpCode::kAdd, {exp, leaf.Access(row)}, leaf.Access(out));
  leaf.leaf().ops[2].place = 7;
  return SingleLeaf(&maker, leaf);
}

std::vector<Argument> ChainArguments(int64_t rows) {
  return {{Ones(rows * 48)}, {Ones(rows * 48)}, {Ones(48)}, {Ones(rows * 48)}};
}

TEST(LeafProfilerTest, CountsTilesBytesAndPlacesOfAVectorLeaf) {
  Launcher launcher(Chain(80));
  launcher.Bind(ChainArguments(80));
  const Profiled profile(&launcher, 1, 4);
  ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
  EXPECT_EQ(profile.header.leaves, 1u);
  EXPECT_EQ(profile.header.operations, 4u);
  EXPECT_EQ(profile.header.cores, 1u);
  EXPECT_EQ(profile.entries[0].instances, 1u);
  EXPECT_EQ(profile.entries[0].tiles, 3u);  // 32, 32 and 16 rows
  EXPECT_EQ(profile.entries[0].operations, 4u);
  EXPECT_EQ(profile.ops[0].code, static_cast<uint32_t>(OpCode::kCast));
  EXPECT_EQ(profile.ops[2].code, static_cast<uint32_t>(OpCode::kExp));
  EXPECT_EQ(profile.ops[2].place, 7u);
  EXPECT_EQ(profile.ops[0].bytes, 80u * 48 * 2);
  EXPECT_EQ(profile.ops[1].bytes, 80u * 48 * 4);
  EXPECT_EQ(profile.ops[2].bytes, 0u);                         // local to local
  EXPECT_EQ(profile.ops[3].bytes, 80u * 48 * 4 + 3 * 48 * 4);  // the row once per tile
}

TEST(LeafProfilerTest, TimesLieInsideTheLaunchAndAddUp) {
  Launcher launcher(Chain(4096));
  launcher.Bind(ChainArguments(4096));
  for (int round = 0; round < 3; ++round) {  // walked, then replayed
    const Profiled profile(&launcher, 1, 4);
    ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
    uint64_t in_runs = 0;
    for (const RunEntry& run : profile.runs) {
      EXPECT_LE(profile.result.statistics.begin_ticks, run.begin_ticks);
      EXPECT_LE(run.begin_ticks, run.end_ticks);
      EXPECT_LE(run.end_ticks, profile.result.statistics.end_ticks);
      in_runs += run.end_ticks - run.begin_ticks;
    }
    EXPECT_EQ(in_runs, profile.entries[0].ticks);
    uint64_t in_operations = 0;
    for (const OpEntry& op : profile.ops) in_operations += op.ticks;
    EXPECT_LE(in_operations, profile.entries[0].ticks);
    EXPECT_GT(in_operations, 0u);
    EXPECT_EQ(profile.TilesOf(0), 128u);
  }
}

TEST(LeafProfilerTest, AProductCountsPanelsOfEachTile) {
  PlanMaker maker;
  const uint32_t a = maker.Parameter(DType::kFp16, {2, 96, 64});
  const uint32_t b = maker.Parameter(DType::kFp16, {1, 64, 128});
  const uint32_t c = maker.Parameter(DType::kFp32, {2, 96, 128});
  LeafMaker leaf = maker.Cube({2, 96, 128}, {1, 64, 64}, 64);
  leaf.Op(OpCode::kMatmul,
          {leaf.Strided(a, maker.Const(0), {96 * 64, 64, 1}, {2, 96, 64}, {}),
           leaf.Strided(b, maker.Const(0), {0, 128, 1}, {1, 64, 128}, {})},
          leaf.Access(c));
  Launcher launcher(SingleLeaf(&maker, leaf));
  launcher.Bind({{Ones(2 * 96 * 64)}, {Ones(64 * 128)}, {Ones(2 * 96 * 128)}});
  const Profiled profile(&launcher, 1, 1);
  ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
  EXPECT_EQ(profile.entries[0].tiles, 8u);
  const uint64_t a_bytes = 2 * (2 * 96 * 64) * 2;  // each row of A for two tiles of columns
  const uint64_t b_bytes = 8 * (64 * 64) * 2;
  EXPECT_EQ(profile.ops[0].bytes, a_bytes + b_bytes + 2 * 96 * 128 * 4);
}

TEST(LeafProfilerTest, AnIndexedCopyCountsWhatItPicks) {
  PlanMaker maker;
  const uint32_t table = maker.Parameter(DType::kFp32, {1000, 16});
  const uint32_t index = maker.Parameter(DType::kInt32, {4, 16});
  const uint32_t out = maker.Parameter(DType::kFp32, {4, 16});
  LeafMaker leaf = maker.Leaf({4, 16}, {4, 16});
  leaf.leaf().kind = program::LeafKind::kWhole;
  leaf.Op(OpCode::kGather,
          {leaf.Strided(table, maker.Const(0), {16, 1}, {1000, 16}, {maker.Const(1000), maker.Const(16)}),
           leaf.Access(index)},
          leaf.Access(out));
  leaf.leaf().ops[0].axis = 0;
  leaf.leaf().ops[0].compute_dtype = DType::kFp32;
  Launcher launcher(SingleLeaf(&maker, leaf));
  launcher.Bind({{Ones(16000)}, {Ones(64)}, {Ones(64)}});
  const Profiled profile(&launcher, 1, 1);
  ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
  EXPECT_EQ(profile.ops[0].bytes, 3u * 64 * 4);
}

TEST(LeafProfilerTest, EveryCoreTellsItsRuns) {
  for (const uint64_t seed : {0, 5}) {
    Launcher plain(Chain(4096), 2, seed);
    plain.Bind(ChainArguments(4096));
    const LaunchResult expected = plain.Run();
    Launcher launcher(Chain(4096), 2, seed);
    launcher.Bind(ChainArguments(4096));
    const Profiled profile(&launcher, 1, 4);
    ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
    EXPECT_EQ(profile.result.bytes, expected.bytes);
    EXPECT_EQ(profile.header.cores, 2u);
    EXPECT_EQ(profile.TilesOf(0), 128u);
    for (size_t i = 0; i < profile.runs.size(); ++i) {
      EXPECT_LT(profile.runs[i].core, 2u);
      EXPECT_LE(profile.runs[i > 0 ? i - 1 : 0].begin_ticks, profile.runs[i].begin_ticks);
    }
    EXPECT_EQ(std::accumulate(profile.ops.begin(), profile.ops.end(), uint64_t{0},
                              [](uint64_t sum, const OpEntry& op) { return sum + op.bytes; }),
              std::accumulate(profile.runs.begin(), profile.runs.end(), uint64_t{0},
                              [](uint64_t sum, const RunEntry& run) { return sum + run.bytes; }));
  }
}

// Row i of out = (row i of x + 1) * 2 through root-inner memory, row by row.
std::shared_ptr<const program::Image> Steps(int64_t steps, int64_t width) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {steps, width});
  const uint32_t out = maker.Parameter(DType::kFp32, {steps, width});
  const uint32_t inner = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {1, width});
  const uint32_t loop = maker.NewLoop();
  const std::vector<program::ExprId> row = {maker.LoopIndex(loop), maker.Const(0)};
  LeafMaker first = maker.Leaf({1, width}, {1, width});
  first.Op(OpCode::kAdd, {first.Window(x, row), LeafMaker::Float(1)}, first.Access(inner));
  LeafMaker second = maker.Leaf({1, width}, {1, width});
  second.Op(OpCode::kMul, {second.Access(inner), LeafMaker::Float(2)}, second.Window(out, row));
  const uint32_t root = maker.Root({first, second});
  maker.SetControl({PlanMaker::Loop(loop, maker.Const(0), maker.Const(steps), maker.Const(1), {PlanMaker::Run(root)})});
  maker.SetWorkspace({width * 4, 0, 0}, 0);
  return maker.Finish();
}

TEST(LeafProfilerTest, ACoreRunsWholeInstancesInMemoryOfItsOwn) {
  constexpr int64_t kSteps = 64;
  constexpr int64_t kWidth = 16384;
  std::vector<double> x(kSteps * kWidth);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 1000);
  for (const uint32_t cores : {1u, 2u, 4u}) {
    Launcher launcher(Steps(kSteps, kWidth), cores);
    launcher.Bind({{x}, {std::vector<double>(x.size())}});
    for (int round = 0; round < 3; ++round) {
      const Profiled profile(&launcher, 2, 2);
      ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(profile.result.values[1][i], (x[i] + 1) * 2) << i;
      ASSERT_EQ(profile.runs.size(), 2u * kSteps);
      std::vector<uint32_t> core_of(2 * kSteps);
      for (const RunEntry& run : profile.runs) core_of[run.number] = run.core;
      for (size_t i = 0; i < core_of.size(); i += 2) EXPECT_EQ(core_of[i], core_of[i + 1]);
    }
  }
}

TEST(LeafProfilerTest, RunsWithoutRoomStayInTheSums) {
  Launcher launcher(Chain(80));
  launcher.Bind(ChainArguments(80));
  const Profiled profile(&launcher, 1, 4, 0);
  ASSERT_EQ(profile.result.outcome.acl_code, 0) << profile.result.outcome.message;
  EXPECT_EQ(profile.header.runs, 0u);
  EXPECT_EQ(profile.header.dropped, 1u);
  EXPECT_EQ(profile.entries[0].tiles, 3u);
  EXPECT_GT(profile.entries[0].ticks, 0u);
}

TEST(LeafProfilerTest, ABlockWithoutRoomForTheSumsIsAFault) {
  Launcher launcher(Chain(80));
  launcher.Bind(ChainArguments(80));
  const Profiled profile(&launcher, 1, 3, 0);
  EXPECT_EQ(profile.result.outcome.acl_code, 507015);
  EXPECT_NE(profile.result.outcome.message.find("does not lie inside live device memory"), std::string::npos);
  EXPECT_EQ(launcher.Run().outcome.acl_code, 0);
}

TEST(LeafProfilerTest, ALaunchBehindAProfileIsNotTimed) {
  Launcher launcher(Chain(80));
  launcher.Bind(ChainArguments(80));
  const Profiled profile(&launcher, 1, 4);
  ASSERT_EQ(profile.result.outcome.acl_code, 0);
  const size_t bytes = program::ProfileBytes(1, 4, 1);
  std::byte* place = launcher.memory().Host(profile.address) + program::TaskBlockBytes(1);
  std::memset(place, 0x55, bytes);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launcher.Run().outcome.acl_code, 0);
  EXPECT_EQ(std::vector<std::byte>(place, place + bytes), std::vector<std::byte>(bytes, std::byte{0x55}));
}

}  // namespace
}  // namespace pypto::device::testing
