// Device tasks and workspace memory.
#include <gtest/gtest.h>

#include <numeric>

#include "device/plan_maker.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

using program::TensorClass;

// The worked example of reference/workspace.md §6.
struct WorkedExample {
  PlanMaker maker{"k_tmp_to_d_emb"};
  uint32_t dy = maker.Parameter(DType::kFp32, {64, 16});
  uint32_t weight = maker.Parameter(DType::kFp32, {16, 16});
  uint32_t output1 = maker.Parameter(DType::kFp32, {64, 16});
  uint32_t output2 = maker.Parameter(DType::kFp32, {64, 16});
  uint32_t assemble = maker.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {64, 16});
  uint32_t exclusive = maker.Storage(TensorClass::kExclusiveOutcast, DType::kFp32, {64, 16});
  uint32_t dx = maker.Storage(TensorClass::kRootInner, DType::kFp32, {1, 16});

  std::shared_ptr<const program::Image> Build(const program::PlanOptions& options) {
    const ExprId zero = maker.Const(0);
    LeafMaker doubled = maker.Leaf({64, 16}, {64, 16});
    doubled.Op(OpCode::kAdd, {doubled.Access(dy), doubled.Access(dy)}, doubled.Access(exclusive));
    const uint32_t root0 = maker.Root({doubled}, {exclusive}, {exclusive});

    const uint32_t loops[3] = {maker.NewLoop(), maker.NewLoop(), maker.NewLoop()};
    const ExprId j = maker.LoopIndex(loops[1]);
    LeafMaker product = maker.Cube({1, 16}, {1, 16}, 16);
    const ValueRef row = product.Strided(dy, maker.exprs().Mul(j, maker.Const(16)), {16, 1}, {1, 16}, {});
    const ValueRef matrix = product.Strided(weight, zero, {1, 16}, {16, 16}, {});
    product.Op(OpCode::kMatmul, {row, matrix}, product.Access(dx));
    LeafMaker place = maker.Leaf({1, 16}, {1, 16});
    place.Op(OpCode::kAdd, {place.Access(dx), LeafMaker::Float(0)}, place.Window(assemble, {j, zero}));
    const uint32_t root1 = maker.Root({product, place}, {}, {assemble, exclusive});

    const ExprId k = maker.LoopIndex(loops[2]);
    LeafMaker copy = maker.Leaf({1, 16}, {1, 16});
    copy.Op(OpCode::kCopy, {copy.Window(assemble, {k, zero})}, copy.Window(output1, {k, zero}));
    copy.Op(OpCode::kCopy, {copy.Window(exclusive, {k, zero})}, copy.Window(output2, {k, zero}));
    const uint32_t root2 = maker.Root({copy}, {}, {assemble, exclusive});

    const auto loop = [&](int which, int64_t count, uint32_t root) {
      return PlanMaker::Loop(loops[which], zero, maker.Const(count), maker.Const(1), {PlanMaker::Run(root)});
    };
    maker.SetControl({loop(0, 1, root0), loop(1, 64, root1), loop(2, 64, root2)});
    maker.SetWorkspace({512, 4096, 4096}, 8192);
    maker.plan().options = options;
    return maker.Finish();
  }

  static LaunchResult Run(const program::PlanOptions& options) {
    WorkedExample example;
    return CheckAgainstReference(example.Build(options),
                                 {{RandomValues(DType::kFp32, 1024, -1, 1, 1)},
                                  {RandomValues(DType::kFp32, 256, -1, 1, 2)},
                                  {std::vector<double>(1024)},
                                  {std::vector<double>(1024)}},
                                 {}, 1, 1e-5);
  }
};

TEST(Pools, WorkedExampleByCount) {
  const auto result = WorkedExample::Run({});
  EXPECT_EQ(result.statistics.root_instances, 129u);
  EXPECT_EQ(result.statistics.device_tasks, 2u);
  EXPECT_EQ(result.statistics.alloc_failures, 0u);
  EXPECT_EQ(result.statistics.peak_bytes, (std::array<uint64_t, 3>{64 * 512, 4096, 4096}));
}

TEST(Pools, WorkedExamplePerPool) {
  program::PlanOptions options;
  options.stitch_function_num_per_pool = {64, 1, 1};
  const auto recommended = WorkedExample::Run(options);
  EXPECT_EQ(recommended.statistics.device_tasks, 1u);
  EXPECT_EQ(recommended.statistics.alloc_failures, 0u);

  options.stitch_function_num_per_pool = {1, 1, 1};
  const auto least = WorkedExample::Run(options);
  EXPECT_EQ(least.statistics.device_tasks, 64u);
  EXPECT_EQ(least.statistics.alloc_failures, 63u);
  EXPECT_EQ(least.statistics.peak_bytes, (std::array<uint64_t, 3>{512, 4096, 4096}));
  EXPECT_EQ(least.bytes, recommended.bytes);
}

TEST(Pools, EveryDepthGivesTheSameBits) {
  const auto expected = WorkedExample::Run({}).bytes;
  for (const uint32_t count : {1u, 2u, 7u, 100u, 1024u}) {
    program::PlanOptions options;
    options.stitch_function_max_num = count;
    const auto result = WorkedExample::Run(options);
    EXPECT_EQ(result.bytes, expected);
    EXPECT_EQ(result.statistics.device_tasks, (129 + count - 1) / count);
  }
}

TEST(Pools, LaunchAfterLaunchStartsAnew) {
  WorkedExample example;
  Launcher launcher(example.Build({}));
  launcher.Bind({{RandomValues(DType::kFp32, 1024, -1, 1, 1)},
                 {RandomValues(DType::kFp32, 256, -1, 1, 2)},
                 {std::vector<double>(1024)},
                 {std::vector<double>(1024)}});
  const auto first = launcher.Run();
  const auto second = launcher.Run();
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_EQ(first.statistics.peak_bytes, second.statistics.peak_bytes);
  EXPECT_EQ(second.statistics.launches, 2u);
}

// acc[:] = acc * 2 + i in a loop, transposed so that old and new cells must not share memory.
std::shared_ptr<const program::Image> CarriedWhole(const program::PlanOptions& options,
                                                   ExprId* guard_of_odd = nullptr) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8, 8});
  const uint32_t out = maker.Parameter(DType::kFp32, {8, 8});
  const uint32_t acc = maker.Storage(TensorClass::kExclusiveOutcast, DType::kFp32, {8, 8});
  LeafMaker first = maker.Leaf({8, 8}, {8, 8});
  first.Op(OpCode::kCopy, {first.Access(x)}, first.Access(acc));
  const uint32_t begin = maker.Root({first}, {acc}, {acc});
  const uint32_t loop = maker.NewLoop();
  LeafMaker step = maker.Leaf({8, 8}, {3, 8});
  const ValueRef turned = step.Strided(acc, maker.Const(0), {1, 8}, {8, 8}, {});
  const ValueRef sum =
      step.Op(OpCode::kAdd, {turned, LeafMaker::Expr(maker.LoopIndex(loop))}, step.Local(DType::kFp32));
  step.Op(OpCode::kMul, {sum, LeafMaker::Float(0.5)}, step.Access(acc));
  if (guard_of_odd != nullptr) {
    step.leaf().guard = *maker.exprs().Make(program::ExprOp::kMod, maker.LoopIndex(loop), maker.Const(2));
  }
  const uint32_t body = maker.Root({step}, {acc}, {acc});
  LeafMaker last = maker.Leaf({8, 8}, {8, 8});
  last.Op(OpCode::kCopy, {last.Access(acc)}, last.Access(out));
  const uint32_t end = maker.Root({last});
  maker.SetControl({PlanMaker::Run(begin),
                    PlanMaker::Loop(loop, maker.Const(0), maker.Const(9), maker.Const(1), {PlanMaker::Run(body)}),
                    PlanMaker::Run(end)});
  maker.SetWorkspace({0, 0, 512}, 512);
  maker.plan().options = options;
  return maker.Finish();
}

TEST(Pools, WholeWritesTakeANewBufferAndReadTheOldOne) {
  for (const uint32_t depth : {1u, 2u, 3u, 10u}) {
    program::PlanOptions options;
    options.stitch_function_num_per_pool = {0, 0, depth};
    const auto result = CheckAgainstReference(CarriedWhole(options),
                                              {{RandomValues(DType::kFp32, 64, -9, 9, 1)}, {std::vector<double>(64)}});
    // Ten instances take a buffer; the eleventh needs none.
    EXPECT_EQ(result.statistics.alloc_failures, (10 + depth - 1) / depth - 1);
    EXPECT_EQ(result.statistics.peak_bytes[2], depth * 512);
  }
}

TEST(Pools, AWholeWriteThatIsSkippedKeepsTheOldBuffer) {
  for (const uint32_t count : {1u, 3u, 128u}) {
    program::PlanOptions options;
    options.stitch_function_max_num = count;
    ExprId guard = 0;
    const auto result = CheckAgainstReference(CarriedWhole(options, &guard),
                                              {{RandomValues(DType::kFp32, 64, -9, 9, 1)}, {std::vector<double>(64)}});
    EXPECT_EQ(result.statistics.peak_bytes[2], 512u * (count == 128 ? 5 : count == 3 ? 2 : 1));
  }
}

TEST(Pools, SeveralLiveBlocksMoveThroughBoundaryMemory) {
  // Tensors of different sizes, born and dying at different tasks, so that holes appear in boundary memory.
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {512});
  const uint32_t out = maker.Parameter(DType::kFp32, {4, 512});
  std::vector<uint32_t> tensors;
  const std::vector<int64_t> sizes = {128, 512, 256, 384};
  for (const int64_t size : sizes) {
    tensors.push_back(maker.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {size}));
  }
  const auto write = [&](size_t which, std::vector<uint32_t> live) {
    LeafMaker leaf = maker.Leaf({sizes[which]}, {100});
    leaf.Op(OpCode::kAdd, {leaf.Window(x, {maker.Const(0)}), LeafMaker::Int(static_cast<int64_t>(which))},
            leaf.Access(tensors[which]));
    maker.Root({leaf}, {}, std::move(live));
  };
  const auto read = [&](size_t which, std::vector<uint32_t> live) {
    LeafMaker leaf = maker.Leaf({1, sizes[which]}, {1, 100});
    leaf.Op(OpCode::kCopy, {leaf.Access(tensors[which])},
            leaf.Window(out, {maker.Const(static_cast<int64_t>(which)), maker.Const(0)}));
    maker.Root({leaf}, {}, std::move(live));
  };
  write(0, {tensors[0]});
  write(1, {tensors[0], tensors[1]});
  write(2, {tensors[0], tensors[1], tensors[2]});
  read(0, {tensors[1], tensors[2]});
  write(3, {tensors[1], tensors[2], tensors[3]});  // no hole is large enough: the others slide down
  read(1, {tensors[2], tensors[3]});
  read(2, {tensors[3]});
  read(3, {});
  maker.SetWorkspace({0, 2048, 0}, 512 * 9);
  maker.plan().options.stitch_function_max_num = 1;
  const auto result =
      CheckAgainstReference(maker.Finish(), {{RandomValues(DType::kFp32, 512, -9, 9, 1)}, {std::vector<double>(2048)}});
  EXPECT_EQ(result.statistics.device_tasks, 8u);
}

TEST(Pools, AnInstanceTakesWhatItsRunningLeavesTouch) {
  // Two branches inside one root function; the unit is the larger one.
  for (const int64_t flag : {0, 1}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {256});
    const uint32_t scalar = maker.IntScalar();
    const uint32_t small = maker.Storage(TensorClass::kRootInner, DType::kFp32, {128});
    const uint32_t large = maker.Storage(TensorClass::kRootInner, DType::kFp32, {256});
    const ExprId yes = maker.exprs().Scalar(scalar);
    const ExprId no = *maker.exprs().Make(program::ExprOp::kNot, yes);
    const auto pair = [&](uint32_t inner, int64_t size, ExprId guard) {
      LeafMaker write = maker.Leaf({size}, {size});
      write.Op(OpCode::kAdd, {write.Window(x, {maker.Const(0)}), LeafMaker::Int(1)}, write.Access(inner));
      LeafMaker read = maker.Leaf({size}, {size});
      read.Op(OpCode::kCopy, {read.Access(inner)}, read.Window(x, {maker.Const(0)}));
      write.leaf().guard = guard;
      read.leaf().guard = guard;
      return std::vector<LeafMaker>{write, read};
    };
    std::vector<LeafMaker> leaves = pair(small, 128, yes);
    for (const LeafMaker& leaf : pair(large, 256, no)) leaves.push_back(leaf);
    maker.Root(leaves);
    maker.SetWorkspace({1024, 0, 0}, 0);
    maker.plan().options.stitch_function_num_per_pool = {1, 0, 0};
    const auto result =
        CheckAgainstReference(maker.Finish(), {{RandomValues(DType::kFp32, 256, -9, 9, 1)}, {{}, flag, 0}});
    EXPECT_EQ(result.statistics.peak_bytes[0], flag != 0 ? 512u : 1024u);
  }
}

TEST(Pools, AnInstanceThatDoesNotFitIsAFault) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {256});
  const uint32_t inner = maker.Storage(TensorClass::kRootInner, DType::kFp32, {256});
  LeafMaker write = maker.Leaf({256}, {256});
  write.Op(OpCode::kAdd, {write.Access(x), LeafMaker::Int(1)}, write.Access(inner));
  LeafMaker read = maker.Leaf({256}, {256});
  read.Op(OpCode::kCopy, {read.Access(inner)}, read.Access(x));
  maker.Root({write, read});
  maker.plan().roots[0].place = 2;
  maker.SetWorkspace({512, 0, 0}, 0);  // half of what an instance takes
  maker.plan().options.stitch_function_num_per_pool = {1, 0, 0};
  Launcher launcher(maker.Finish());
  launcher.Bind({{std::vector<double>(256)}});
  const auto result = launcher.Run();
  EXPECT_EQ(result.outcome.acl_code, 507015);
  EXPECT_EQ(result.statistics.fault, static_cast<uint32_t>(program::FaultKind::kWorkspace));
  EXPECT_EQ(result.statistics.fault_value, 1024);
  EXPECT_EQ(result.statistics.fault_place, 2u);
  EXPECT_EQ(result.outcome.message,
            "kernel 'kernel': an instance of root function 'root0' takes 1024 bytes from pool root_inner, which holds "
            "512 when empty (kernel.py, line 12 of its def)");
}

TEST(Pools, BoundaryMemoryThatIsTooSmallIsAFault) {
  program::PlanOptions options;
  options.stitch_function_max_num = 1;
  auto plan = CarriedWhole(options)->plan;
  plan.workspace.boundary_bytes = plan.exprs.Const(0);
  Launcher launcher(program::MakeImage("a2a3sim", std::move(plan), {}, {}));
  launcher.Bind({{std::vector<double>(64)}, {std::vector<double>(64)}});
  const auto result = launcher.Run();
  EXPECT_EQ(result.statistics.fault, static_cast<uint32_t>(program::FaultKind::kWorkspace));
}

TEST(Pools, ParallelIterationsUseCopiesInTurn) {
  for (const uint32_t parallelism : {1u, 2u, 3u}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {12, 128});
    const uint32_t inner = maker.Storage(TensorClass::kRootInner, DType::kFp32, {1, 128});
    const uint32_t loop = maker.NewLoop();
    const ExprId i = maker.LoopIndex(loop);
    LeafMaker write = maker.Leaf({1, 128}, {1, 128});
    write.Op(OpCode::kAdd, {write.Window(x, {i, maker.Const(0)}), LeafMaker::Int(1)}, write.Access(inner));
    LeafMaker read = maker.Leaf({1, 128}, {1, 128});
    read.Op(OpCode::kCopy, {read.Access(inner)}, read.Window(x, {i, maker.Const(0)}));
    const uint32_t root = maker.Root({write, read});
    auto node = PlanMaker::Loop(loop, maker.Const(0), maker.Const(12), maker.Const(1), {PlanMaker::Run(root)});
    node.parallel = true;
    maker.SetControl({node});
    maker.SetWorkspace({512, 0, 0}, 0);
    maker.plan().options.parallelism = parallelism;
    const auto result = CheckAgainstReference(maker.Finish(), {{RandomValues(DType::kFp32, 1536, -9, 9, 1)}});
    EXPECT_EQ(result.statistics.device_tasks, 1u);
    EXPECT_EQ(result.statistics.peak_bytes[0], 512u * (12 / parallelism));
  }
}

// out[b] = the sum of what two inner iterations put into a tensor that each outer iteration makes anew.
std::shared_ptr<const program::Image> AssembledPerIteration(const program::PlanOptions& options, bool parallel) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8, 2, 16});
  const uint32_t out = maker.Parameter(DType::kFp32, {8, 2, 16});
  const uint32_t part = maker.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {2, 16});
  const uint32_t outer = maker.NewLoop();
  const uint32_t fill = maker.NewLoop();
  const uint32_t take = maker.NewLoop();
  const ExprId b = maker.LoopIndex(outer);
  const ExprId zero = maker.Const(0);
  LeafMaker put = maker.Leaf({1, 1, 16}, {1, 1, 16});
  const ExprId row = maker.exprs().Mul(maker.LoopIndex(fill), maker.Const(16));
  put.Op(OpCode::kAdd, {put.Window(x, {b, maker.LoopIndex(fill), zero}), LeafMaker::Float(1)},
         put.Strided(part, row, {0, 0, 1}, {1, 1, 16}, {}));
  const uint32_t first = maker.Root({put}, {}, {part});
  LeafMaker get = maker.Leaf({1, 1, 16}, {1, 1, 16});
  const ExprId from = maker.exprs().Mul(maker.LoopIndex(take), maker.Const(16));
  get.Op(OpCode::kCopy, {get.Strided(part, from, {0, 0, 1}, {1, 1, 16}, {})},
         get.Window(out, {b, maker.LoopIndex(take), zero}));
  const uint32_t second = maker.Root({get}, {}, {part});
  const auto inner = [&](uint32_t loop, uint32_t root) {
    return PlanMaker::Loop(loop, zero, maker.Const(2), maker.Const(1), {PlanMaker::Run(root)});
  };
  auto loop = PlanMaker::Loop(outer, zero, maker.Const(8), maker.Const(1), {inner(fill, first), inner(take, second)});
  loop.fresh = {part};
  loop.parallel = parallel;
  maker.SetControl({loop});
  maker.SetWorkspace({0, 512, 0}, 512);
  maker.plan().options = options;
  return maker.Finish();
}

TEST(Pools, ATensorOfAnIterationTakesABufferForEach) {
  const auto run = [](const program::PlanOptions& options, bool parallel) {
    return CheckAgainstReference(AssembledPerIteration(options, parallel),
                                 {{RandomValues(DType::kFp32, 256, -9, 9, 1)}, {std::vector<double>(256)}});
  };
  const auto whole = run({}, false);
  EXPECT_EQ(whole.statistics.device_tasks, 1u);
  EXPECT_EQ(whole.statistics.peak_bytes[1], 8u * 512);
  for (const uint32_t depth : {1u, 2u, 3u}) {
    program::PlanOptions options;
    options.stitch_function_num_per_pool = {0, depth, 0};
    const auto result = run(options, false);
    EXPECT_EQ(result.bytes, whole.bytes);
    EXPECT_EQ(result.statistics.alloc_failures, (8 + depth - 1) / depth - 1);
    EXPECT_EQ(result.statistics.peak_bytes[1], depth * 512);
  }
  for (const uint32_t count : {1u, 3u, 5u}) {
    program::PlanOptions options;
    options.stitch_function_max_num = count;
    EXPECT_EQ(run(options, false).bytes, whole.bytes);
  }
  program::PlanOptions options;
  options.parallelism = 4;
  const auto spread = run(options, true);
  EXPECT_EQ(spread.bytes, whole.bytes);
  for (uint32_t copy = 0; copy < 4; ++copy) EXPECT_EQ(spread.statistics.copy_peak_bytes[copy][1], 2u * 512);
}

TEST(Pools, SubmitBeforeLoopClosesATaskThatIsNotEmpty) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {4});
  const auto step = [&] {
    LeafMaker leaf = maker.Leaf({4}, {4});
    leaf.Op(OpCode::kAdd, {leaf.Access(x), LeafMaker::Int(1)}, leaf.Access(x));
    return PlanMaker::Run(maker.Root({leaf}));
  };
  std::vector<program::ControlNode> loops;
  for (int i = 0; i < 2; ++i) {
    loops.push_back(PlanMaker::Loop(maker.NewLoop(), maker.Const(0), maker.Const(3), maker.Const(1), {step()}));
    loops.back().submit_before = true;
  }
  maker.SetControl(loops);
  const auto result = CheckAgainstReference(maker.Finish(), {{{1, 2, 3, 4}}});
  EXPECT_EQ(result.statistics.device_tasks, 2u);
}

TEST(Pools, AnOutcastThatNobodyWroteReadsAsZeros) {
  PlanMaker maker;
  const uint32_t out = maker.Parameter(DType::kFp32, {64});
  const uint32_t tensor = maker.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {64});
  LeafMaker leaf = maker.Leaf({64}, {16});
  leaf.Op(OpCode::kAdd, {leaf.Access(tensor), LeafMaker::Int(3)}, leaf.Access(out));
  maker.Root({leaf});
  maker.SetWorkspace({0, 512, 0}, 0);
  EXPECT_EQ(RunImage(maker.Finish(), {{std::vector<double>(64, 9)}})[0], std::vector<double>(64, 3));
}

// An outer loop makes a tensor that two inner iterations assemble and one instance reads: several are live at once in
// one task, each in a buffer of its own.
TEST(Pools, ATensorOfEveryIterationHasABufferOfItsOwn) {
  for (const uint32_t count : {1u, 2u, 128u}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {6, 128});
    const uint32_t out = maker.Parameter(DType::kFp32, {6, 128});
    const uint32_t made = maker.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {2, 128});
    const uint32_t outer = maker.NewLoop();
    const uint32_t inner = maker.NewLoop();
    const ExprId i = maker.LoopIndex(outer);
    const ExprId j = maker.LoopIndex(inner);
    LeafMaker write = maker.Leaf({1, 128}, {1, 128});
    write.Op(OpCode::kAdd, {write.Window(x, {i, maker.Const(0)}), LeafMaker::Expr(j)},
             write.Window(made, {j, maker.Const(0)}));
    LeafMaker read = maker.Leaf({1, 128}, {1, 128});
    read.Op(OpCode::kAdd,
            {read.Window(made, {maker.Const(0), maker.Const(0)}), read.Window(made, {maker.Const(1), maker.Const(0)})},
            read.Window(out, {i, maker.Const(0)}));
    const uint32_t writes = maker.Root({write}, {}, {made});
    const uint32_t reads = maker.Root({read}, {}, {});
    maker.SetControl({PlanMaker::Loop(
        outer, maker.Const(0), maker.Const(6), maker.Const(1),
        {PlanMaker::Loop(inner, maker.Const(0), maker.Const(2), maker.Const(1), {PlanMaker::Run(writes)}),
         PlanMaker::Run(reads)})});
    maker.SetWorkspace({0, 1024, 0}, 1024);
    maker.plan().options.stitch_function_max_num = count;
    const auto result = CheckAgainstReference(
        maker.Finish(), {{RandomValues(DType::kFp32, 768, -9, 9, 1)}, {std::vector<double>(768)}});
    EXPECT_EQ(result.statistics.device_tasks, (18 + count - 1) / count);
    EXPECT_EQ(result.statistics.peak_bytes[1], count == 128 ? 6u * 1024 : 1024u);
  }
}

// Iteration i uses copy i mod parallelism; nested loops stay in it, everything else is in copy 0.
TEST(Pools, CopiesOfNestedLoopsAndOfWhatIsOutside) {
  for (const uint32_t parallelism : {1u, 2u, 4u, 8u}) {
    PlanMaker maker;
    const uint32_t x = maker.Parameter(DType::kFp32, {10, 3, 128});
    const auto step = [&](std::vector<ExprId> at) {
      const uint32_t inner = maker.Storage(TensorClass::kRootInner, DType::kFp32, {1, 1, 128});
      LeafMaker write = maker.Leaf({1, 1, 128}, {1, 1, 128});
      write.Op(OpCode::kAdd, {write.Window(x, at), LeafMaker::Int(1)}, write.Access(inner));
      LeafMaker read = maker.Leaf({1, 1, 128}, {1, 1, 128});
      read.Op(OpCode::kCopy, {read.Access(inner)}, read.Window(x, at));
      return PlanMaker::Run(maker.Root({write, read}));
    };
    const uint32_t outer = maker.NewLoop();
    const uint32_t inner = maker.NewLoop();
    const ExprId zero = maker.Const(0);
    auto nested = PlanMaker::Loop(inner, zero, maker.Const(3), maker.Const(1),
                                  {step({maker.LoopIndex(outer), maker.LoopIndex(inner), zero})});
    nested.parallel = true;
    // Downwards: the first iteration is number 0 whatever its index.
    auto loop = PlanMaker::Loop(outer, maker.Const(9), maker.Const(-1), maker.Const(-1), {nested});
    loop.parallel = true;
    maker.SetControl({step({zero, zero, zero}), loop, step({maker.Const(1), zero, zero})});
    maker.SetWorkspace({512, 0, 0}, 0);
    maker.plan().options.parallelism = parallelism;
    const auto result = CheckAgainstReference(maker.Finish(), {{RandomValues(DType::kFp32, 3840, -9, 9, 1)}});
    EXPECT_EQ(result.statistics.device_tasks, 1u);
    for (uint32_t copy = 0; copy < 8; ++copy) {
      const uint64_t iterations = copy < parallelism ? (10 - copy + parallelism - 1) / parallelism : 0;
      EXPECT_EQ(result.statistics.copy_peak_bytes[copy][0], 512 * (3 * iterations + (copy == 0 ? 2 : 0)));
    }
  }
}

// A tensor lives in the copy of the instance that first writes it; all copies read and write it.
TEST(Pools, ATensorStaysInTheCopyOfItsFirstWriter) {
  PlanMaker maker;
  const uint32_t x = maker.Parameter(DType::kFp32, {8, 128});
  const uint32_t out = maker.Parameter(DType::kFp32, {8, 128});
  const uint32_t tensor = maker.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {8, 128});
  const auto loop = [&](uint32_t from, uint32_t to, std::vector<uint32_t> live) {
    const uint32_t id = maker.NewLoop();
    const ExprId i = maker.LoopIndex(id);
    LeafMaker leaf = maker.Leaf({1, 128}, {1, 128});
    leaf.Op(OpCode::kAdd, {leaf.Window(from, {i, maker.Const(0)}), LeafMaker::Int(2)},
            leaf.Window(to, {i, maker.Const(0)}));
    auto node = PlanMaker::Loop(id, maker.Const(0), maker.Const(8), maker.Const(1),
                                {PlanMaker::Run(maker.Root({leaf}, {}, live))});
    node.parallel = true;
    return node;
  };
  maker.SetControl({loop(x, tensor, {tensor}), loop(tensor, out, {tensor})});
  maker.SetWorkspace({0, 4096, 0}, 4096);
  maker.plan().options.parallelism = 3;
  maker.plan().options.stitch_function_max_num = 3;
  const auto result = CheckAgainstReference(
      maker.Finish(), {{RandomValues(DType::kFp32, 1024, -9, 9, 1)}, {std::vector<double>(1024)}});
  EXPECT_EQ(result.statistics.copy_peak_bytes[0][1], 4096u);
  EXPECT_EQ(result.statistics.copy_peak_bytes[1][1], 0u);
  EXPECT_EQ(result.statistics.copy_peak_bytes[2][1], 0u);
}

}  // namespace
}  // namespace pypto::device::testing
