// Units of the pools, live outcasts and boundary memory.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

int64_t Bytes(const program::Plan& plan, ExprId id, const std::vector<int64_t>& symbols) {
  return *program::Evaluate(plan.exprs, id, {symbols, {}, {}});
}

TEST(Requirements, UnitsAreExpressionsOfTheDims) {
  Kernel k;
  const TensorId x = k.Param("x", {kDynamic, 16}, DType::kFp32, {"B", ""});
  const TensorId out = k.Param("out", {kDynamic, 16}, DType::kFp32, {"B", ""});
  const ExprId rows = k.DimOf(x, 0);
  const TensorId middle = k.DeclareDims("middle", {rows, k.C(16)});
  k.LoopOver(k.C(0), rows, 8,
             [&](ExprId i) { k.Assemble(middle, k.Exp(k.Slice(x, {8, 16}, {i, k.C(0)})), {i, k.C(0)}); });
  k.LoopOver(k.C(0), rows, 8,
             [&](ExprId i) { k.Assemble(out, k.Neg(k.Slice(middle, {8, 16}, {i, k.C(0)})), {i, k.C(0)}); });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  EXPECT_EQ(ClassNamed(plan, "middle"), TensorClass::kAssembleOutcast);
  for (const int64_t b : {0, 1, 7, 8, 100}) {
    const int64_t expected = (b * 64 + 511) / 512 * 512;
    EXPECT_EQ(Bytes(plan, plan.workspace.unit_bytes[1], {b}), expected);
    EXPECT_EQ(Bytes(plan, plan.workspace.boundary_bytes, {b}), expected);
  }
  EXPECT_EQ(plan.workspace.present, (std::array<bool, 3>{false, true, false}));
}

TEST(Requirements, TheLargestRootFunctionCounts) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  k.Loop(0, 4, 1, [&](ExprId) { k.Move(out, k.Exp(k.Matmul(x, x))); });
  k.Loop(0, 4, 1, [&](ExprId) { k.Move(out, k.Exp(k.Matmul(k.Neg(k.Matmul(x, x)), x))); });
  const auto image = k.CompileImage();
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.unit_bytes[0]), 3 * 1024);
}

TEST(Requirements, ExclusiveUnitIsTheLargestSumWrittenByOneRootFunction) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const TensorId a = k.Declare("a", {16, 16});
  const TensorId b = k.Declare("b", {16, 16});
  const TensorId c = k.Declare("c", {16, 16});
  k.Loop(0, 1, 1, [&](ExprId) {
    k.Move(a, k.Exp(x));
    k.Move(b, k.Neg(x));
  });
  k.Loop(0, 1, 1, [&](ExprId) { k.Move(c, k.Add(a, b)); });
  k.Loop(0, 1, 1, [&](ExprId) { k.Move(out, k.Add(c, 1.0)); });
  const auto image = k.CompileImage();
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.unit_bytes[2]), 2 * 1024);
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.boundary_bytes), 2 * 1024);
  EXPECT_EQ(image->plan.roots[0].live_after.size(), 2U);
  EXPECT_EQ(image->plan.roots[1].live_after.size(), 1U);
  EXPECT_TRUE(image->plan.roots[2].live_after.empty());
}

TEST(Requirements, ACarriedTensorIsLiveAroundItsLoop) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const TensorId sum = k.Declare("sum", {16, 16});
  k.Move(sum, k.Full(0, {16, 16}));
  k.Loop(0, 4, 1, [&](ExprId) { k.Move(sum, k.Add(sum, x)); });
  k.Move(out, sum);
  const auto image = k.CompileImage();
  const std::vector<uint32_t> live = {StorageNamed(image->plan, "sum")};
  EXPECT_EQ(image->plan.roots[0].live_after, live);
  EXPECT_EQ(image->plan.roots[1].live_after, live);
  EXPECT_TRUE(image->plan.roots[2].live_after.empty());
}

TEST(Requirements, ATensorDeclaredInTheLoopIsNotLiveIntoTheNextIteration) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  const TensorId out = k.Param("out", {64, 16});
  k.Loop(0, 64, 16, [&](ExprId i) {
    const TensorId block = k.Declare("block", {16, 16});
    k.Assemble(block, k.Exp(k.Slice(x, {16, 16}, {i, k.C(0)})), k.Consts({0, 0}));
    k.Loop(0, 16, 8,
           [&](ExprId j) { k.Assemble(out, k.Slice(block, {8, 16}, {j, k.C(0)}), {k.exprs().Add(i, j), k.C(0)}); });
    k.Assemble(out, k.Slice(x, {1, 16}, {i, k.C(0)}), {i, k.C(0)});
  });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots.size(), 3U);
  EXPECT_EQ(ClassNamed(plan, "block"), TensorClass::kAssembleOutcast);
  EXPECT_EQ(plan.roots[0].live_after.size(), 1U);
  EXPECT_EQ(plan.roots[1].live_after.size(), 1U);  // the next inner iteration
  EXPECT_TRUE(plan.roots[2].live_after.empty());
}

TEST(Requirements, ATensorThatInnerIterationsAssembleBeginsAnewWithEachOuterOne) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  const TensorId out = k.Param("out", {64, 16});
  const TensorId outside = k.Declare("outside", {16, 16});
  k.Loop(0, 64, 16, [&](ExprId i) {
    const TensorId block = k.Declare("block", {16, 16});
    k.Loop(0, 16, 8, [&](ExprId j) {
      const TensorId rows = k.Exp(k.Slice(x, {8, 16}, {k.exprs().Add(i, j), k.C(0)}));
      k.Assemble(block, rows, {j, k.C(0)});
      k.Assemble(outside, rows, {j, k.C(0)});
    });
    k.Loop(0, 16, 16, [&](ExprId) { k.Assemble(out, k.Add(block, outside), {i, k.C(0)}); });
  });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  const uint32_t block = StorageNamed(plan, "block");
  ASSERT_EQ(plan.control.size(), 1U);
  EXPECT_EQ(plan.control[0].fresh, std::vector<uint32_t>{block});
  EXPECT_TRUE(plan.control[0].body[0].fresh.empty());
  ASSERT_EQ(plan.roots.size(), 2U);
  EXPECT_EQ(plan.roots[0].live_after, (std::vector<uint32_t>{StorageNamed(plan, "outside"), block}));
  EXPECT_EQ(plan.roots[1].live_after, std::vector<uint32_t>{StorageNamed(plan, "outside")});
}

TEST(Requirements, OfTwoBranchesTheLargerCounts) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const ExprId flag = k.Int("flag");
  const TensorId small = k.Declare("small", {16, 16});
  const TensorId large = k.Declare("large", {32, 16});
  k.If(
      flag,
      [&] {
        k.Loop(0, 1, 1, [&](ExprId) { k.Move(small, k.Exp(x)); });
        k.Loop(0, 1, 1, [&](ExprId) { k.Move(out, k.Neg(small)); });
      },
      [&] {
        k.Loop(0, 32, 16, [&](ExprId i) { k.Assemble(large, x, {i, k.C(0)}); });
        k.Loop(0, 1, 1, [&](ExprId) { k.Move(out, k.Slice(large, {16, 16}, k.Consts({8, 0}))); });
      });
  const auto image = k.CompileImage();
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.boundary_bytes), 2048);
}

TEST(Requirements, OfTwoBranchesInsideARootFunctionTheLargerCounts) {
  Kernel k;
  const TensorId x = k.Param("x", {16, 16});
  const TensorId out = k.Param("out", {16, 16});
  const ExprId flag = k.Int("flag");
  k.If(
      flag, [&] { k.Move(out, k.Neg(k.Matmul(x, x))); },
      [&] { k.Move(out, k.Neg(k.Matmul(k.Exp(k.Matmul(x, x)), x))); });
  k.If(flag, [&] { k.Assemble(out, k.Neg(k.Matmul(x, x)), k.Consts({0, 0})); });
  const auto image = k.CompileImage();
  EXPECT_EQ(image->plan.roots[0].root_inner.size(), 5U);
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.unit_bytes[0]), (3 + 1) * 1024);
}

TEST(Requirements, DepthZeroIsRefusedAtCompileTimeForDynamicDimsToo) {
  Kernel k;
  const TensorId x = k.Param("x", {kDynamic, 16}, DType::kFp32, {"B", ""});
  const TensorId out = k.Param("out", {kDynamic, 16}, DType::kFp32, {"B", ""});
  const ExprId rows = k.DimOf(x, 0);
  const TensorId middle = k.DeclareDims("middle", {rows, k.C(16)});
  k.LoopOver(k.C(0), rows, 8, [&](ExprId i) {
    k.Assemble(middle, k.Slice(x, {8, 16}, {i, k.C(0)}), {i, k.C(0)});
    k.Assemble(out, k.Slice(middle, {8, 16}, {i, k.C(0)}), {i, k.C(0)});
  });
  program::PlanOptions options;
  options.stitch_function_num_per_pool = {1, 0, 1};
  const auto image = k.TryCompile(options);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kWorkspace);
  EXPECT_NE(image.status().ToString().find("assemble_outcast"), std::string::npos);
}

}  // namespace
}  // namespace pypto::compile::testing
