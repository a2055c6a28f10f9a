// What stitching costs: making root instances and their graph, handing a kept graph to the cores, whole launches on one
// core and on two, with enough workspace and at depth 1.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "device/launcher.h"
#include "device/plan_maker.h"
#include "pypto/device/control_flow.h"
#include "pypto/device/ready_queue.h"
#include "pypto/device/stitcher.h"

namespace pypto::device {
namespace {

using program::DType;
using program::ExprId;
using testing::LeafMaker;
using testing::PlanMaker;

constexpr int64_t kInstances = 1024;

// Row after row: root-inner = x[i] + s, out[i] = root-inner * 2. Two leaves, three tensors in memory.
std::shared_ptr<const program::Image> Rows(int64_t width) {
  PlanMaker maker("rows");
  const uint32_t x = maker.Parameter(DType::kFp32, {kInstances, width});
  const uint32_t out = maker.Parameter(DType::kFp32, {kInstances, width});
  const uint32_t scalar = maker.IntScalar();
  const uint32_t inner = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {1, width});
  const uint32_t loop = maker.NewLoop();
  const ExprId i = maker.LoopIndex(loop);
  LeafMaker first = maker.Leaf({1, width}, {1, width});
  first.Op(program::OpCode::kAdd, {first.Window(x, {i, maker.Const(0)}), LeafMaker::Expr(maker.exprs().Scalar(scalar))},
           first.Access(inner));
  LeafMaker second = maker.Leaf({1, width}, {1, width});
  second.Op(program::OpCode::kMul, {second.Access(inner), LeafMaker::Float(2)},
            second.Window(out, {i, maker.Const(0)}));
  const uint32_t root = maker.Root({first, second});
  maker.SetControl(
      {PlanMaker::Loop(loop, maker.Const(0), maker.Const(kInstances), maker.Const(1), {PlanMaker::Run(root)})});
  maker.SetWorkspace({(width * 4 + 511) / 512 * 512, 0, 0}, 0);
  return maker.Finish();
}

void BindRows(testing::Launcher* launcher, int64_t width, int64_t scalar) {
  const std::vector<double> values(static_cast<size_t>(kInstances * width), 1);
  launcher->Bind({{values}, {values}, {{}, scalar, 0}});
}

// Takes tasks and runs nothing.
class NoCores final : public TaskSink {
 public:
  uint32_t cores() const noexcept override { return 2; }
  bool shaken() const noexcept override { return true; }  // every task gets a graph
  bool Run(const Task& task) override {
    nodes += task.graph.nodes;
    return true;
  }
  uint64_t nodes = 0;
};

// Control flow, expressions, memory, addresses and the graph; per root instance.
void Stitch(benchmark::State& state) {
  testing::Launcher launcher(Rows(16));
  BindRows(&launcher, 16, 1);
  launcher.Run();
  const auto& program = static_cast<const LoadedExecutable&>(launcher.executable());
  LaunchState launch;
  RecordingStore store;
  TaskRecorder recorder;
  Stitcher stitcher(&store, &recorder);
  NoCores sink;
  Fault fault;
  for (auto _ : state) {
    launch.Open(program, launcher.block(), launcher.memory(), &fault);
    launch.Evaluate(program, &fault);
    launch.Bind(program, launch.shape(), launcher.memory(), &fault);
    stitcher.Begin(program, &launch, &sink, &fault);
    benchmark::DoNotOptimize(ControlFlow(&launch, &stitcher, nullptr, &fault).Run(program.control()));
  }
  if (fault.any()) state.SkipWithError(fault.text.c_str());
  state.counters["per_instance"] =
      benchmark::Counter(kInstances, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(Stitch);

// Hands a kept graph out, with no work in its leaves; per root instance of two leaves.
void HandOut(benchmark::State& state) {
  class Keeper final : public TaskSink {
   public:
    uint32_t cores() const noexcept override { return 2; }
    bool shaken() const noexcept override { return true; }
    bool Run(const Task& task) override {
      ReadyQueue queue;
      for (auto _ : state) {
        queue.Begin(task, 2);
        Claim claim;
        while (queue.Next(&claim)) benchmark::DoNotOptimize(claim);
      }
      state.counters["per_instance"] = benchmark::Counter(
          task.figures.instances, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
      return false;
    }
    explicit Keeper(benchmark::State& to) : state(to) {}
    benchmark::State& state;
  };
  testing::Launcher launcher(Rows(16));
  BindRows(&launcher, 16, 1);
  launcher.Run();
  const auto& program = static_cast<const LoadedExecutable&>(launcher.executable());
  LaunchState launch;
  RecordingStore store;
  TaskRecorder recorder;
  Stitcher stitcher(&store, &recorder);
  Keeper sink(state);
  Fault fault;
  launch.Open(program, launcher.block(), launcher.memory(), &fault);
  launch.Evaluate(program, &fault);
  launch.Bind(program, launch.shape(), launcher.memory(), &fault);
  stitcher.Begin(program, &launch, &sink, &fault);
  ControlFlow(&launch, &stitcher, nullptr, &fault).Run(program.control());
}
BENCHMARK(HandOut);

// Whole launches of 1,024 instances; the argument says whether every launch has a scalar of its own, so that it is
// walked, or all are alike. Per root instance, its two tiles of 16 elements included.
void Launch(benchmark::State& state) {
  testing::Launcher launcher(Rows(16));
  BindRows(&launcher, 16, 1);
  launcher.Run();
  uint64_t scalar = 0;
  for (auto _ : state) {
    if (state.range(0) != 0) launcher.slot(2) = ++scalar;
    benchmark::DoNotOptimize(launcher.RunAgain().acl_code);
  }
  state.counters["per_instance"] =
      benchmark::Counter(kInstances, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(Launch)->ArgName("walked")->Arg(0)->Arg(1);

// One instance, one leaf, one tile of 16 elements: the short path.
void OneTile(benchmark::State& state) {
  PlanMaker maker("one");
  const uint32_t x = maker.Parameter(DType::kFp32, {16});
  const uint32_t out = maker.Parameter(DType::kFp32, {16});
  LeafMaker leaf = maker.Leaf({16}, {16});
  leaf.Op(program::OpCode::kAdd, {leaf.Access(x), LeafMaker::Float(1)}, leaf.Access(out));
  testing::Launcher launcher(testing::SingleLeaf(&maker, leaf), 2);
  launcher.Bind({{std::vector<double>(16)}, {std::vector<double>(16)}});
  launcher.Run();
  for (auto _ : state) benchmark::DoNotOptimize(launcher.RunAgain().acl_code);
}
BENCHMARK(OneTile);

// One leaf of 1,024 tiles of 16 elements each, with as many operations as the argument says: what the engine spends
// per tile, its operations on 16 elements included.
void Tiles(benchmark::State& state) {
  constexpr int64_t kTiles = 1024;
  PlanMaker maker("tiles");
  const uint32_t x = maker.Parameter(DType::kFp32, {kTiles, 16});
  const uint32_t out = maker.Parameter(DType::kFp32, {kTiles, 16});
  LeafMaker leaf = maker.Leaf({kTiles, 16}, {1, 16});
  program::ValueRef value = leaf.Access(x);
  for (int64_t i = 0; i < state.range(0); ++i) {
    const bool last = i + 1 == state.range(0);
    value = leaf.Op(program::OpCode::kAdd, {value, LeafMaker::Float(1)},
                    last ? leaf.Access(out) : leaf.Local(DType::kFp32));
  }
  testing::Launcher launcher(testing::SingleLeaf(&maker, leaf), 1);
  launcher.Bind({{std::vector<double>(kTiles * 16)}, {std::vector<double>(kTiles * 16)}});
  launcher.Run();
  for (auto _ : state) benchmark::DoNotOptimize(launcher.RunAgain().acl_code);
  state.counters["per_tile"] =
      benchmark::Counter(kTiles, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(Tiles)->ArgName("operations")->Arg(1)->Arg(4);

// 64 independent instances, each a 256³ product through the workspace and an addition.
std::shared_ptr<const program::Image> Products(uint32_t depth) {
  constexpr int64_t kCount = 64;
  constexpr int64_t kSize = 256;
  PlanMaker maker("products");
  const uint32_t x = maker.Parameter(DType::kFp32, {kCount * kSize, kSize});
  const uint32_t w = maker.Parameter(DType::kFp32, {kSize, kSize});
  const uint32_t out = maker.Parameter(DType::kFp32, {kCount * kSize, kSize});
  const uint32_t inner = maker.Storage(program::TensorClass::kRootInner, DType::kFp32, {kSize, kSize});
  const uint32_t loop = maker.NewLoop();
  const ExprId row = maker.exprs().Mul(maker.LoopIndex(loop), maker.Const(kSize));
  LeafMaker product = maker.Cube({kSize, kSize}, {kSize, kSize}, kSize);
  product.Op(program::OpCode::kMatmul,
             {product.Strided(x, maker.exprs().Mul(row, maker.Const(kSize)), {kSize, 1}, {kSize, kSize}, {}),
              product.Strided(w, maker.Const(0), {kSize, 1}, {kSize, kSize}, {})},
             product.Access(inner));
  LeafMaker add = maker.Leaf({kSize, kSize}, {kSize, kSize});
  add.Op(program::OpCode::kAdd, {add.Access(inner), LeafMaker::Float(1)}, add.Window(out, {row, maker.Const(0)}));
  const uint32_t root = maker.Root({product, add});
  maker.SetControl(
      {PlanMaker::Loop(loop, maker.Const(0), maker.Const(kCount), maker.Const(1), {PlanMaker::Run(root)})});
  maker.SetWorkspace({kSize * kSize * 4, 0, 0}, 0);
  maker.plan().options.stitch_function_num_per_pool = {depth, 0, 0};
  return maker.Finish();
}

double TimeOf(testing::Launcher* launcher) {
  const auto begin = std::chrono::steady_clock::now();
  launcher->RunAgain();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// One core and two in turn, at the depth of the argument; the best time of each.
void Cores(benchmark::State& state) {
  const auto image = Products(static_cast<uint32_t>(state.range(0)));
  testing::Launcher one(image, 1);
  testing::Launcher two(image, 2);
  const std::vector<double> x(64 * 256 * 256, 0.5);
  for (testing::Launcher* launcher : {&one, &two}) {
    launcher->Bind({{x}, {std::vector<double>(256 * 256, 0.25)}, {x}});
    launcher->Run();
  }
  double alone = 1e9;
  double together = 1e9;
  for (auto _ : state) {
    alone = std::min(alone, TimeOf(&one));
    const double time = TimeOf(&two);
    together = std::min(together, time);
    state.SetIterationTime(time);
  }
  state.counters["speed_up"] = alone / together;
  state.counters["one_core_ms"] = alone * 1e3;
  state.counters["two_cores_ms"] = together * 1e3;
}
BENCHMARK(Cores)->ArgName("depth")->Arg(64)->Arg(1)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(60);

}  // namespace
}  // namespace pypto::device

BENCHMARK_MAIN();
