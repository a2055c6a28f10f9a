// Launches that cannot run, and what is said about them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "device/plan_maker.h"
#include "device/reference.h"
#include "pypto/device/executable.h"

namespace pypto::device::testing {
namespace {

using program::FaultKind;
using ::testing::Test;

void ExpectFault(const LaunchResult& result, FaultKind kind, const std::string& text) {
  EXPECT_EQ(result.outcome.acl_code, kind == FaultKind::kAborted ? 107023 : 507015);
  EXPECT_EQ(result.statistics.fault, static_cast<uint32_t>(kind));
  EXPECT_NE(result.outcome.message.find(text), std::string::npos) << result.outcome.message;
}

// out[s: s + 4] = -x[s : s + 4] with a scalar s; divides by the scalar d where asked.
struct Sliced {
  PlanMaker maker{"sliced"};
  uint32_t x = maker.Parameter(DType::kFp32, {Sym(0)});
  uint32_t out = maker.Parameter(DType::kFp32, {Sym(0)});
  uint32_t s = maker.IntScalar();
  ExprId start = maker.exprs().Scalar(s);

  std::shared_ptr<const program::Image> Build() {
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kNeg, {leaf.Window(x, {start})}, leaf.Window(out, {start}));
    leaf.leaf().place = 3;
    maker.Root({leaf});
    return maker.Finish();
  }
  static std::vector<Argument> Arguments(int64_t s, size_t count = 8) {
    return {{std::vector<double>(count, 1)}, {std::vector<double>(count, 5)}, {{}, s, 0}};
  }
};

LaunchResult RunSliced(int64_t s, const std::function<void(program::LaunchHeader*)>& change = {}) {
  Sliced sliced;
  Launcher launcher(sliced.Build());
  launcher.Bind(Sliced::Arguments(s), {8});
  return launcher.Run(change);
}

TEST(Fault, ANegativeStartNamesPlaceAndValue) {
  const auto result = RunSliced(-3);
  ExpectFault(result, FaultKind::kNegativeOffset,
              "kernel 'sliced': neg: what it reads of 't0' starts at offset -3, before its base (kernel.py, line 13 of "
              "its def)");
  EXPECT_EQ(result.statistics.fault_place, 3u);
  EXPECT_EQ(result.statistics.fault_value, -3);
  EXPECT_EQ(result.values[1], std::vector<double>(8, 5));
}

TEST(Fault, AStartPastTheEndWritesNothing) {
  for (const int64_t s : {8, 9, 1000000}) {
    const auto result = RunSliced(s);
    EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
    EXPECT_EQ(result.values[1], std::vector<double>(8, 5));
  }
  EXPECT_EQ(RunSliced(6).values[1], (std::vector<double>{5, 5, 5, 5, 5, 5, -1, -1}));
}

TEST(Fault, DivisionByZeroAndOverflow) {
  for (const bool overflow : {false, true}) {
    Sliced sliced;
    program::ExprPool& e = sliced.maker.exprs();
    const ExprId s = e.Scalar(sliced.s);
    sliced.start = overflow ? *e.Make(program::ExprOp::kMod, e.Mul(s, s), sliced.maker.Const(4))
                            : *e.Make(program::ExprOp::kDiv, sliced.maker.Const(4), s);
    Launcher launcher(sliced.Build());
    launcher.Bind(Sliced::Arguments(overflow ? int64_t{1} << 40 : 0), {8});
    const auto result = launcher.Run();
    ExpectFault(result, overflow ? FaultKind::kOverflow : FaultKind::kDivisionByZero,
                overflow ? "exceeds 64 bits" : "division by zero");
    EXPECT_EQ(result.statistics.fault_place, 3u);
    // The same launch with another scalar is sound.
    launcher.slot(2) = 2;
    EXPECT_EQ(launcher.Run().outcome.acl_code, 0);
  }
}

TEST(Fault, BoundsOfLoopsAndBranches) {
  struct Case {
    int64_t divisor;
    int64_t step;
    FaultKind kind;
  };
  for (const Case& c : {Case{0, 1, FaultKind::kDivisionByZero}, Case{1, 0, FaultKind::kZeroStep}}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {4});
    const uint32_t divisor = maker.IntScalar();
    const uint32_t step = maker.IntScalar();
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(x));
    const uint32_t root = maker.Root({leaf});
    program::ExprPool& e = maker.exprs();
    auto loop = PlanMaker::Loop(maker.NewLoop(), maker.Const(0),
                                *e.Make(program::ExprOp::kDiv, maker.Const(2), e.Scalar(divisor)), e.Scalar(step),
                                {PlanMaker::Run(root)});
    loop.place = 1;
    maker.SetControl({loop});
    Launcher launcher(maker.Finish());
    launcher.Bind({{{1, 2, 3, 4}}, {{}, c.divisor, 0}, {{}, c.step, 0}});
    const auto result = launcher.Run();
    ExpectFault(result, c.kind, "line 11");
    EXPECT_EQ(result.statistics.root_instances, 0u);
  }
  PlanMaker maker;
  const uint32_t divisor = maker.IntScalar();
  program::ExprPool& e = maker.exprs();
  maker.SetControl({PlanMaker::If(*e.Make(program::ExprOp::kMod, maker.Const(2), e.Scalar(divisor)), {}, {})});
  Launcher launcher(maker.Finish());
  launcher.Bind({{{}, 0, 0}});
  ExpectFault(launcher.Run(), FaultKind::kDivisionByZero, "loop or branch");
}

TEST(Fault, AGuardThatDividesByZero) {
  Sliced sliced;
  program::ExprPool& e = sliced.maker.exprs();
  LeafMaker leaf = sliced.maker.Leaf({4}, {4});
  leaf.Op(OpCode::kNeg, {leaf.Window(sliced.x, {sliced.maker.Const(0)})},
          leaf.Window(sliced.out, {sliced.maker.Const(0)}));
  leaf.leaf().guard = *e.Make(program::ExprOp::kDiv, sliced.maker.Const(4), e.Scalar(sliced.s));
  sliced.maker.Root({leaf});
  Launcher launcher(sliced.maker.Finish());
  launcher.Bind(Sliced::Arguments(0), {8});
  ExpectFault(launcher.Run(), FaultKind::kDivisionByZero, "condition");
}

TEST(Fault, BadAddresses) {
  Sliced sliced;
  const auto image = sliced.Build();
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x10}, uint64_t{0x7fffffffffff0000}}) {
    Launcher launcher(image);
    launcher.Bind(Sliced::Arguments(0), {8});
    launcher.slot(1) = address;
    ExpectFault(launcher.Run(), FaultKind::kBadAddress, "tensor 'p1' (32 bytes at 0x");
  }
  Launcher unaligned(image);
  unaligned.Bind(Sliced::Arguments(0), {7});
  unaligned.slot(0) += 2;
  ExpectFault(unaligned.Run(), FaultKind::kBadAddress, "is not aligned to its elements");
  Launcher launcher(image);
  launcher.Bind(Sliced::Arguments(0), {8});
  launcher.slot(3) = 9;  // one row more than there is memory for
  ExpectFault(launcher.Run(), FaultKind::kBadAddress, "does not lie inside live device memory");
}

TEST(Fault, ParametersWithoutElementsNeedNoMemory) {
  Sliced sliced;
  Launcher launcher(sliced.Build());
  launcher.Bind(Sliced::Arguments(0, 0), {0});
  launcher.slot(0) = 0;
  launcher.slot(1) = 0;
  EXPECT_EQ(launcher.Run().outcome.acl_code, 0);
}

TEST(Fault, AnAccessThatLeavesItsTensor) {
  for (const int64_t offset : {-1, 5, 1000000}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {8});
    const uint32_t out = maker.Parameter(DType::kFp32, {4});
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kNeg, {leaf.Strided(x, maker.Const(offset), {1}, {4}, {})}, leaf.Access(out));
    maker.Root({leaf});
    Launcher launcher(maker.Finish());
    launcher.Bind({{std::vector<double>(8)}, {std::vector<double>(4)}});
    ExpectFault(launcher.Run(), FaultKind::kBadAddress, "leaves a tensor of 8 elements");
  }
}

TEST(Fault, AWorkspaceThatIsNoMemory) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8});
  LeafMaker leaf = maker.Leaf({8}, {8});
  leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(x));
  maker.Root({leaf});
  maker.SetWorkspace({512, 0, 0}, 0);
  Launcher launcher(maker.Finish());
  launcher.Bind({{std::vector<double>(8)}});
  ExpectFault(launcher.Run([](program::LaunchHeader* h) { h->workspace_address = 64; }), FaultKind::kBadAddress,
              "the workspace (65536 bytes");
}

TEST(Fault, ABudgetThatDiffersFromTheEngines) {
  const std::vector<std::function<void(program::LaunchHeader*)>> changes = {
      [](auto* h) { h->pools[1].depth += 1; },       [](auto* h) { h->pools[0].unit += 1; },
      [](auto* h) { h->pools[2].offset += 1; },      [](auto* h) { h->pools[1].capacity += 1; },
      [](auto* h) { h->boundary_offset += 1; },      [](auto* h) { h->boundary_bytes += 1; },
      [](auto* h) { h->copy_bytes += 1; },           [](auto* h) { h->parallelism = 2; },
      [](auto* h) { h->max_instances_per_task = 1; }};
  for (const auto& change : changes)
    ExpectFault(RunSliced(0, change), FaultKind::kBudgetMismatch, "the engine computed");
}

TEST(Fault, OptionsThatTheShapesDoNotAllow) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8});
  LeafMaker leaf = maker.Leaf({8}, {8});
  leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(x));
  maker.Root({leaf});
  Launcher sound(maker.Finish());
  sound.Bind({{std::vector<double>(8)}});
  ASSERT_EQ(sound.Run().outcome.acl_code, 0);

  PlanMaker other;
  other.Parameter(DType::kFp32, {8});
  other.SetWorkspace({1 << 20, 0, 0}, 0);
  other.plan().options.max_workspace_kb = 1;
  const auto image = other.Finish();
  auto executable = Executable::Load(image->bytes);
  ASSERT_TRUE(executable.ok());
  const LaunchOutcome outcome = sound.engine().Run(**executable, sound.block(), sound.memory(), nullptr);
  EXPECT_EQ(outcome.acl_code, 507015);
  EXPECT_NE(outcome.message.find("max_workspace_kb=1KB must be greater"), std::string::npos) << outcome.message;
}

TEST(Fault, BlocksThatDoNotFitTheProgram) {
  const auto expect_bad = [](const std::function<void(program::LaunchHeader*)>& change, const char* text) {
    Sliced sliced;
    Launcher launcher(sliced.Build());
    launcher.Bind(Sliced::Arguments(0), {8});
    const LaunchResult result = launcher.Run(change);
    EXPECT_EQ(result.outcome.acl_code, 507015);
    EXPECT_NE(result.outcome.message.find(text), std::string::npos) << result.outcome.message;
  };
  expect_bad([](auto* h) { h->magic = 0; }, "version");
  expect_bad([](auto* h) { h->version = 9; }, "version 9, this engine reads version 2");
  expect_bad([](auto* h) { h->bytes += 8; }, "its slots need");
  expect_bad([](auto* h) { h->parameter_count = 2; }, "the kernel takes 3 and 1");
  expect_bad([](auto* h) { h->symbol_count = 1000000; }, "its slots need");
  expect_bad([](auto* h) { h->statistics_address = 64; }, "the statistics block");
  expect_bad([](auto* h) { h->statistics_bytes = 8; }, "the statistics block");

  Sliced sliced;
  Launcher launcher(sliced.Build());
  launcher.Bind(Sliced::Arguments(0), {8});
  launcher.slot(3) = static_cast<uint64_t>(-2);
  ExpectFault(launcher.Run(), FaultKind::kBadBlock, "dim 's0' is negative");
  launcher.block().resize(10);
  EXPECT_NE(launcher.RunAgain().message.find("10 bytes holds no header"), std::string::npos);
}

TEST(Fault, SizesThatOverflow) {
  PlanMaker maker;
  maker.Parameter(DType::kFp32, {Sym(0), Sym(1), 1024});
  Launcher launcher(maker.Finish());
  launcher.Bind({{{1}}}, {1, 1});
  launcher.slot(1) = uint64_t{1} << 40;
  launcher.slot(2) = uint64_t{1} << 40;
  ExpectFault(launcher.Run(), FaultKind::kOverflow, "the size of tensor 'p0'");
}

TEST(Fault, InputsInsideTheBlock) {
  Sliced sliced;
  Launcher launcher(sliced.Build());
  launcher.Bind(Sliced::Arguments(0), {8});
  const size_t at = (launcher.block().size() + 63) / 64 * 64;
  const std::vector<std::byte> input = Encode(DType::kFp32, {1, 2, 3, 4, 5, 6, 7, 8});
  launcher.block().resize(at + input.size());
  std::memcpy(launcher.block().data() + at, input.data(), input.size());
  const auto grow = [&](program::LaunchHeader* h) { h->bytes = static_cast<uint32_t>(launcher.block().size()); };
  launcher.slot(0) = program::kInlineFlag | at;
  const auto result = launcher.Run(grow);
  EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
  EXPECT_EQ(result.values[1], (std::vector<double>{-1, -2, -3, -4, 5, 5, 5, 5}));

  launcher.slot(0) = program::kInlineFlag | (at + 4);
  ExpectFault(launcher.Run(grow), FaultKind::kBadAddress, "does not lie inside the launch block");
  launcher.slot(0) = program::kInlineFlag | at;
  launcher.slot(1) = program::kInlineFlag | at;
  ExpectFault(launcher.Run(grow), FaultKind::kBadAddress, "is written and travels in the launch block");
}

TEST(Fault, AbortEndsALaunch) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8});
  LeafMaker leaf = maker.Leaf({8}, {8});
  leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(x));
  const uint32_t root = maker.Root({leaf});
  maker.SetControl({PlanMaker::Loop(maker.NewLoop(), maker.Const(0), maker.Const(int64_t{1} << 60), maker.Const(1),
                                    {PlanMaker::Run(root)})});
  Launcher launcher(maker.Finish());
  launcher.Bind({{std::vector<double>(8)}});
  std::atomic<bool> abort{true};
  launcher.abort = &abort;
  ExpectFault(launcher.Run(), FaultKind::kAborted, "aborted");
  abort = false;
  std::thread other([&] { abort = true; });
  ExpectFault(launcher.Run(), FaultKind::kAborted, "aborted");
  other.join();
}

// Rows of long work that several cores share; aborted in the middle.
TEST(Fault, AbortEndsATaskThatCoresShare) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {512, 4096});
  LeafMaker leaf = maker.Leaf({1, 4096}, {1, 4096});
  const uint32_t loop = maker.NewLoop();
  const uint32_t again = maker.NewLoop();
  const ExprId row = maker.LoopIndex(loop);
  leaf.Op(OpCode::kExp, {leaf.Window(x, {row, maker.Const(0)})}, leaf.Window(x, {row, maker.Const(0)}));
  const uint32_t root = maker.Root({leaf});
  maker.SetControl({PlanMaker::Loop(
      again, maker.Const(0), maker.Const(20000), maker.Const(1),
      {PlanMaker::Loop(loop, maker.Const(0), maker.Const(512), maker.Const(1), {PlanMaker::Run(root)})})});
  maker.plan().options.stitch_function_max_num = 512;
  const auto image = maker.Finish();
  for (const uint64_t seed : {0u, 5u}) {
    Launcher launcher(image, 3, seed);
    launcher.Bind({{std::vector<double>(512 * 4096)}});
    std::atomic<bool> abort{false};
    launcher.abort = &abort;
    std::thread other([&] {
      while (launcher.engine().counters().shared_tasks == 0) std::this_thread::yield();
      abort = true;
    });
    const LaunchResult result = launcher.Run();
    other.join();
    ExpectFault(result, FaultKind::kAborted, "aborted");
    EXPECT_LT(result.statistics.device_tasks, 20000u);
  }
}

TEST(Fault, WhatCannotBeLoaded) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8});
  LeafMaker leaf = maker.Leaf({8}, {8});
  leaf.Op(OpCode::kNeg, {leaf.Access(x)}, leaf.Access(x));
  maker.Root({leaf});
  const auto image = maker.Finish();
  auto damaged = image->bytes;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_EQ(Executable::Load(damaged).status().code(), base::StatusCode::kProgramFormat);
  EXPECT_EQ(Executable::Load(std::span(image->bytes).first(20)).status().code(), base::StatusCode::kProgramFormat);

  // A parameter that the plan says is only read must not be written.
  auto plan = image->plan;
  plan.parameters[0].direction = program::Direction::kIn;
  const auto status = Executable::Load(program::MakeImage("a2a3sim", std::move(plan), {}, {})->bytes).status();
  EXPECT_EQ(status.code(), base::StatusCode::kProgramFormat);
  EXPECT_NE(status.ToString().find("direction of a parameter"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace pypto::device::testing
