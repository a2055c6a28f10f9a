// The worked example of the workspace contract: classes, units, boundary memory.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

// Three loops over 64 rows, B, L, H, D = 1, 64, 1, 16.
void BuildExample(Kernel& k) {
  constexpr int64_t kRows = 64;
  constexpr int64_t kWidth = 16;
  const TensorId dy = k.Param("dy", {1, kRows, 1, kWidth});
  const TensorId weight = k.Param("weight", {1, kWidth, kWidth});
  const TensorId output1 = k.Param("output1", {1, kRows, kWidth});
  const TensorId output2 = k.Param("output2", {1, kRows, kWidth});
  const TensorId tmp_assemble = k.Declare("tmp_assemble", {1, kRows, 1, kWidth});
  const TensorId tmp_exclusive = k.Declare("tmp_exclusive", {1, kRows, 1, kWidth});
  const ExprId zero = k.C(0);
  k.Loop(
      0, 1, 1,
      [&](ExprId) {
        k.VectorTile({1, 64, 1, 256});
        k.Move(tmp_exclusive, k.Add(dy, dy));
      },
      "l_loop_0");
  k.Loop(
      0, kRows, 1,
      [&](ExprId j) {
        k.VectorTile({1, 64, 1, 256});
        const TensorId dy_v = k.Reshape(k.Slice(dy, {1, 1, 1, kWidth}, {zero, j, zero, zero}), {1, kWidth});
        k.CubeTile(128, 128, 128);
        const TensorId weight0 = k.Reshape(k.Slice(weight, {1, kWidth, kWidth}, {zero, zero, zero}), {kWidth, kWidth});
        const TensorId dx = k.Matmul(dy_v, weight0, false, true);
        k.VectorTile({1, 64, 1, 512});
        k.Assemble(tmp_assemble, k.Reshape(k.Add(dx, 0.0), {1, 1, 1, kWidth}), {zero, j, zero, zero});
      },
      "l_loop_1");
  k.Loop(
      0, kRows, 1,
      [&](ExprId i) {
        k.VectorTile({1, 64, 1, 512});
        const auto row_of = [&](TensorId tensor) {
          return k.Reshape(k.Slice(tensor, {1, 1, 1, kWidth}, {zero, i, zero, zero}), {1, 1, kWidth});
        };
        k.Assemble(output1, row_of(tmp_assemble), {zero, i, zero});
        k.Assemble(output2, row_of(tmp_exclusive), {zero, i, zero});
      },
      "l_loop_2");
}

TEST(WorkspaceExample, ClassesUnitsAndBoundary) {
  Kernel k;
  BuildExample(k);
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots.size(), 3U);
  EXPECT_EQ(ClassNamed(plan, "tmp_assemble"), TensorClass::kAssembleOutcast);
  EXPECT_EQ(ClassNamed(plan, "tmp_exclusive"), TensorClass::kExclusiveOutcast);
  EXPECT_EQ(CountClass(plan, TensorClass::kParameter), 4U);
  EXPECT_EQ(CountClass(plan, TensorClass::kRootInner), 1U);
  EXPECT_EQ(Constant(plan, plan.workspace.unit_bytes[0]), 512);
  EXPECT_EQ(Constant(plan, plan.workspace.unit_bytes[1]), 4096);
  EXPECT_EQ(Constant(plan, plan.workspace.unit_bytes[2]), 4096);
  EXPECT_EQ(Constant(plan, plan.workspace.boundary_bytes), 8192);
  EXPECT_TRUE(plan.workspace.present[0] && plan.workspace.present[1] && plan.workspace.present[2]);
}

TEST(WorkspaceExample, RootFunctions) {
  Kernel k;
  BuildExample(k);
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots.size(), 3U);
  EXPECT_EQ(plan.roots[0].name, "l_loop_0");
  const uint32_t assemble = StorageNamed(plan, "tmp_assemble");
  const uint32_t exclusive = StorageNamed(plan, "tmp_exclusive");
  EXPECT_EQ(plan.roots[0].live_after, std::vector<uint32_t>{exclusive});
  EXPECT_EQ(plan.roots[1].live_after.size(), 2U);
  EXPECT_EQ(plan.roots[2].live_after.size(), 2U);
  ASSERT_EQ(plan.roots[0].writes.size(), 1U);
  EXPECT_EQ(plan.roots[0].writes[0].storage, exclusive);
  EXPECT_EQ(plan.roots[0].writes[0].kind, program::WriteKind::kWhole);
  ASSERT_EQ(plan.roots[1].writes.size(), 1U);
  EXPECT_EQ(plan.roots[1].writes[0].storage, assemble);
  EXPECT_EQ(plan.roots[1].writes[0].kind, program::WriteKind::kRegion);
  // One matmul, then the addition written straight into its rows.
  ASSERT_EQ(plan.roots[1].leaves.size(), 2U);
  EXPECT_EQ(plan.roots[1].leaves[0].kind, program::LeafKind::kCube);
  EXPECT_EQ(plan.roots[1].leaves[1].ops.size(), 1U);
  EXPECT_TRUE(plan.roots[1].leaves[1].locals.empty());
  EXPECT_EQ(plan.roots[1].root_inner.size(), 1U);
  EXPECT_EQ(plan.parameters[2].direction, program::Direction::kOut);
  EXPECT_EQ(plan.parameters[3].direction, program::Direction::kOut);
  EXPECT_EQ(plan.parameters[0].direction, program::Direction::kIn);
}

TEST(WorkspaceExample, DepthZeroOfANeededPoolIsAWorkspaceError) {
  Kernel k;
  BuildExample(k);
  program::PlanOptions options;
  options.stitch_function_num_per_pool = {64, 0, 1};
  const auto image = k.TryCompile(options);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kWorkspace);
  EXPECT_NE(image.status().ToString().find("assemble_outcast"), std::string::npos) << image.status().ToString();
  EXPECT_NE(image.status().ToString().find("4096"), std::string::npos);
}

TEST(WorkspaceExample, TooSmallALimitIsAWorkspaceError) {
  Kernel k;
  BuildExample(k);
  program::PlanOptions options;
  options.max_workspace_kb = 32;
  const auto image = k.TryCompile(options);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), base::StatusCode::kWorkspace);
  EXPECT_NE(image.status().ToString().find("max_workspace_kb=32KB"), std::string::npos);
}

TEST(WorkspaceExample, RowsWrittenSeveralAtATimeStillGoStraightIntoPlace) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  const TensorId w = k.Param("w", {16, 16});
  const TensorId out = k.Param("out", {1, 64, 1, 16});
  k.Loop(0, 64, 8, [&](ExprId i) {
    const TensorId y = k.Matmul(k.Slice(x, {8, 16}, {i, k.C(0)}), w);
    k.Assemble(out, k.Reshape(k.Add(y, 0.0), {1, 8, 1, 16}), {k.C(0), i, k.C(0), k.C(0)});
  });
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.roots.size(), 1U);
  EXPECT_EQ(image->plan.roots[0].leaves.size(), 2U);
  EXPECT_EQ(CountOps(image->plan, OpCode::kCopy), 0U);
  EXPECT_EQ(Constant(image->plan, image->plan.workspace.unit_bytes[0]), 512);
}

}  // namespace
}  // namespace pypto::compile::testing
