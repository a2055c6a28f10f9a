// Compilation as a whole: options, errors with places, size of the work.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

// A straight line of operations: `count` of them in chains of ten behind each matmul.
std::shared_ptr<const program::Image> CompileStraightLine(int count) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 64});
  const TensorId out = k.Param("out", {64, 64});
  TensorId value = x;
  for (int i = 0; i < count; ++i) {
    value = i % 10 == 0 ? k.Matmul(value, x) : k.Add(value, x);
  }
  k.Move(out, value);
  return k.CompileImage();
}

TEST(Compile, TheWorkGrowsLinearlyWithTheKernel) {
  const auto small = CompileStraightLine(500);
  const auto large = CompileStraightLine(2000);
  const auto leaves = [](const program::Image& image) { return image.plan.roots[0].leaves.size(); };
  EXPECT_EQ(leaves(*small), 100U);
  EXPECT_EQ(leaves(*large), 400U);
  EXPECT_LT(large->plan.exprs.size(), 200U);  // expressions are shared
  EXPECT_LT(large->bytes.size(), small->bytes.size() * 5);
}

TEST(Compile, InPlaceUpdatesOfOneTensorGrowLinearly) {
  const auto edges = [](int count) {
    Kernel k;
    const TensorId x = k.Param("x", {64, 64});
    for (int i = 0; i < count; ++i) {
      k.Assemble(x, k.Exp(k.Slice(x, {8, 64}, k.Consts({i % 8 * 8, 0}))), k.Consts({i % 7 * 8, 0}));
    }
    return k.CompileImage()->bytes.size();
  };
  EXPECT_LT(edges(400), edges(100) * 5);
}

TEST(Compile, UnknownPlatformsAreRefused) {
  Kernel k;
  k.Param("x", {8, 8});
  CompileOptions options;
  options.platform = "a4";
  const auto image = Compile(k.Finish(), options);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kInvalidArgument);
  EXPECT_NE(image.status().ToString().find("a2a3, a5, a2a3sim or a5sim"), std::string::npos);
}

TEST(Compile, OptionsAreKeptInTheImage) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  k.Move(x, k.Neg(x));
  program::PlanOptions options;
  options.stitch_function_max_num = 7;
  options.parallelism = 2;
  const auto image = k.CompileImage(options);
  EXPECT_EQ(image->plan.options, options);
  EXPECT_EQ(image->platform, "a2a3sim");
}

TEST(Compile, OptionsOutsideTheirRangeAreRefused) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  k.Move(x, k.Neg(x));
  program::PlanOptions options;
  options.stitch_function_max_num = 0;
  const auto image = k.TryCompile(options);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kInvalidArgument);
}

TEST(Compile, PlacesLeadBackToTheKernel) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  const TensorId y = k.Exp(x);
  const int exp_line = k.line();
  const int move_line = k.Move(out, k.Neg(y));
  const auto image = k.CompileImage();
  const program::Leaf& leaf = image->plan.roots[0].leaves[0];
  const auto line_of = [&](uint32_t place) { return image->debug.places.at(place).line; };
  EXPECT_EQ(line_of(leaf.place), exp_line);
  EXPECT_EQ(line_of(leaf.ops[0].place), exp_line);
  EXPECT_EQ(line_of(leaf.ops[1].place), move_line - 1);
  EXPECT_EQ(line_of(image->plan.roots[0].place), exp_line);
  EXPECT_EQ(image->debug.files.at(image->debug.places.at(leaf.place).file).name, "kernel.py");
}

TEST(Compile, ATileThatFitsNoCoreNamesItsLine) {
  Kernel k;
  const TensorId x = k.Param("x", {1, int64_t{1} << 27});
  const TensorId out = k.Param("out", {1, 1});
  const TensorId sum = k.Sum(x, 1);
  const int line = k.line();
  k.Move(out, sum);
  const auto image = k.TryCompile();
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kCompile);
  EXPECT_EQ(image.status().source_line(), line);
  EXPECT_EQ(image.status().source_file(), "kernel.py");
}

TEST(Compile, ADTypeThatThePlatformLacksNamesLineAndPlatforms) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8}, DType::kInt8);
  const TensorId out = k.Param("out", {8, 8}, DType::kInt8);
  const TensorId sum = k.Add(x, x);
  const int line = k.Move(out, sum) - 1;
  const auto image = k.TryCompile();
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kCompile);
  EXPECT_EQ(image.status().source_line(), line);
  EXPECT_NE(image.status().ToString().find("add() of DT_INT8 is not available on platform a2a3sim; it is on a5 and "
                                           "a5sim"),
            std::string::npos)
      << image.status().ToString();
}

TEST(Compile, ADTypeThatThePlatformLacksIsRefusedWhereItsResultIsNotUsed) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8}, DType::kInt8);
  const TensorId out = k.Param("out", {8, 8}, DType::kInt8);
  k.Add(x, x);
  const int line = k.Move(out, x) - 1;
  const auto image = k.TryCompile();
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kCompile);
  EXPECT_EQ(image.status().source_line(), line);
  EXPECT_NE(image.status().ToString().find("add() of DT_INT8 is not available"), std::string::npos);
}

TEST(Compile, ADamagedProgramIsACompileError) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 8});
  const TensorId out = k.Param("out", {8, 8});
  k.Move(out, k.Neg(x));
  program::Program program = k.Finish();
  std::get<program::OpStatement>(program.body.statements[0]).inputs[0].tensor = 1000;
  const auto image = Compile(program, {});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kCompile);
}

TEST(Compile, WorkspaceBeyond63BitsIsAWorkspaceError) {
  Kernel k;
  const int64_t huge = int64_t{1} << 59;
  const TensorId x = k.Param("x", {huge});
  const TensorId out = k.Param("out", {huge});
  const TensorId a = k.Declare("a", {huge});
  const TensorId b = k.Declare("b", {huge});
  k.Loop(0, 1, 1, [&](ExprId) {
    k.Move(a, k.Neg(x));
    k.Move(b, k.Exp(x));
  });
  k.Loop(0, 1, 1, [&](ExprId) { k.Move(out, k.Add(a, b)); });
  const auto image = k.TryCompile();
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kWorkspace);
}

TEST(Compile, AKernelWithoutWorkNeedsNoWorkspace) {
  Kernel k;
  k.Param("x", {8, 8});
  const auto image = k.CompileImage();
  EXPECT_TRUE(image->plan.roots.empty());
  EXPECT_TRUE(image->plan.control.empty());
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.boundary_bytes), 0);
}

TEST(Compile, WorkIsCountedOverLoops) {
  const auto work = [](int64_t rows, int64_t columns, int64_t step) {
    Kernel k;
    const TensorId x = k.Param("x", {64, 32});
    const TensorId w = k.Param("w", {32, columns});
    const TensorId out = k.Param("out", {64, columns});
    k.Loop(0, 64, step,
           [&](ExprId i) { k.Assemble(out, k.Matmul(k.Slice(x, {rows, 32}, {i, k.C(0)}), w), {i, k.C(0)}); });
    return k.CompileImage()->plan.flops_hint;
  };
  EXPECT_EQ(work(8, 16, 8), 8U * (8 * 32 + 32 * 16));        // a byte of the operands is a quarter
  EXPECT_EQ(work(32, 64, 32), 2U * 32 * 64 * 32 / 10 + 0U);  // a term is a tenth
}

}  // namespace
}  // namespace pypto::compile::testing
