// Leaf partition: what runs together, what has to go through memory.
#include "compile/kernel.h"

namespace pypto::compile::testing {
namespace {

using program::Leaf;
using program::LeafKind;
using program::ValueRef;

TEST(Leaves, SoftmaxWithKeepdimIsOneVectorLeaf) {
  for (const int64_t columns : {64, 4096}) {
    Kernel k;
    const TensorId x = k.Param("x", {256, columns});
    const TensorId out = k.Param("out", {256, columns});
    const TensorId e = k.Exp(k.Sub(x, k.Amax(x, 1)));
    k.Move(out, k.Mul(e, k.Op(OpCode::kReciprocal, {Kernel::T(k.Sum(e, 1))})));
    const auto image = k.CompileImage();
    const program::Plan& plan = image->plan;
    ASSERT_EQ(plan.roots.size(), 1U);
    ASSERT_EQ(plan.roots[0].leaves.size(), 1U) << columns;
    const Leaf& leaf = plan.roots[0].leaves[0];
    EXPECT_EQ(leaf.ops.size(), 6U);
    EXPECT_EQ(leaf.tile[1], columns);
    EXPECT_LT(leaf.tile[0], 256);
    EXPECT_EQ(leaf.ops.back().output.kind, ValueRef::Kind::kAccess);
    EXPECT_FALSE(plan.workspace.present[0]);
    EXPECT_EQ(plan.parameters[1].direction, program::Direction::kOut);
  }
}

TEST(Leaves, LayerNormIsOneVectorLeaf) {
  Kernel k;
  const TensorId x = k.Param("x", {100, 768});
  const TensorId gamma = k.Param("gamma", {768});
  const TensorId beta = k.Param("beta", {768});
  const TensorId out = k.Param("out", {100, 768});
  const TensorId centred = k.Sub(x, k.Mul(k.Sum(x, 1), 1.0 / 768));
  const TensorId variance = k.Mul(k.Sum(k.Mul(centred, centred), 1), 1.0 / 768);
  const TensorId scale = k.Op(OpCode::kRsqrt, {Kernel::T(k.Add(variance, 1e-5))});
  k.Move(out, k.Add(k.Mul(k.Mul(centred, scale), gamma), beta));
  const auto image = k.CompileImage();
  EXPECT_EQ(image->plan.roots[0].leaves.size(), 1U);
  EXPECT_FALSE(image->plan.workspace.present[0]);
}

TEST(Leaves, GeluOfAMatmulIsOneCubeAndOneVectorLeaf) {
  Kernel k;
  const TensorId x = k.Param("x", {128, 256});
  const TensorId w = k.Param("w", {256, 512});
  const TensorId b = k.Param("b", {512});
  const TensorId out = k.Param("out", {128, 512});
  const TensorId y = k.Add(k.Matmul(x, w), b);
  const TensorId erf = k.Op(OpCode::kErf, {Kernel::T(k.Mul(y, 0.7071))});
  k.Move(out, k.Mul(k.Mul(y, 0.5), k.Add(erf, 1.0)));
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  EXPECT_EQ(CountLeaves(plan, LeafKind::kCube), 1U);
  EXPECT_EQ(CountLeaves(plan, LeafKind::kVector), 1U);
  EXPECT_EQ(CountClass(plan, TensorClass::kRootInner), 1U);
  EXPECT_EQ(Constant(plan, plan.workspace.unit_bytes[0]), 128 * 512 * 4);
  const Leaf& cube = plan.roots[0].leaves[0];
  EXPECT_EQ(cube.extents, (std::vector<int64_t>{128, 512}));
  EXPECT_EQ(cube.k_extent, 256);
}

TEST(Leaves, AMatmulWritesItsOnlyReaderTheStoreDirectly) {
  Kernel k;
  const TensorId a = k.Param("a", {2, 32, 16});
  const TensorId b = k.Param("b", {1, 8, 32});
  const TensorId out = k.Param("out", {2, 16, 8});
  k.Move(out, k.Matmul(a, b, true, true));
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots[0].leaves.size(), 1U);
  const Leaf& leaf = plan.roots[0].leaves[0];
  EXPECT_EQ(leaf.extents, (std::vector<int64_t>{2, 16, 8}));
  EXPECT_EQ(leaf.accesses[0].extents, (std::vector<int64_t>{2, 16, 32}));
  EXPECT_EQ(Constant(plan, leaf.accesses[0].strides[1]), 1);
  EXPECT_EQ(Constant(plan, leaf.accesses[0].strides[2]), 16);
  EXPECT_EQ(leaf.accesses[1].extents, (std::vector<int64_t>{1, 32, 8}));
  EXPECT_EQ(Constant(plan, leaf.accesses[1].strides[0]), 0);
  EXPECT_EQ(Constant(plan, leaf.accesses[1].strides[1]), 1);
  EXPECT_EQ(leaf.accesses[2].storage, StorageNamed(plan, "out"));
  EXPECT_FALSE(plan.workspace.present[0]);
}

TEST(Leaves, ChainedMatmulsPassDataThroughMemory) {
  Kernel k;
  const TensorId a = k.Param("a", {32, 32});
  const TensorId out = k.Param("out", {32, 32});
  k.Move(out, k.Matmul(k.Matmul(a, a), a));
  const auto image = k.CompileImage();
  EXPECT_EQ(CountLeaves(image->plan, LeafKind::kCube), 2U);
  EXPECT_EQ(CountClass(image->plan, TensorClass::kRootInner), 1U);
}

TEST(Leaves, ReadingOtherCellsThanTheLeafWritesSplitsIt) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 16});
  k.Assemble(x, k.Add(k.Slice(x, {6, 16}, k.Consts({1, 0})), 1.0), k.Consts({0, 0}));
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.roots[0].leaves.size(), 2U);
  EXPECT_EQ(CountClass(image->plan, TensorClass::kRootInner), 1U);
}

TEST(Leaves, ReadingTheCellsThatTheLeafWritesDoesNot) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  k.Move(x, k.Mul(x, k.Sum(x, 1)));
  const auto image = k.CompileImage();
  EXPECT_EQ(image->plan.roots[0].leaves.size(), 1U);
  EXPECT_FALSE(image->plan.workspace.present[0]);
}

TEST(Leaves, DisjointCellsDoNotSplit) {
  Kernel k;
  const TensorId x = k.Param("x", {8, 16});
  k.Assemble(x, k.Add(k.Slice(x, {4, 16}, k.Consts({4, 0})), 1.0), k.Consts({0, 0}));
  EXPECT_EQ(k.CompileImage()->plan.roots[0].leaves.size(), 1U);
}

TEST(Leaves, ABroadcastReadOfWhatIsWrittenSplits) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 16});
  k.VectorTile({8, 16});
  k.Move(x, k.Add(x, k.Slice(x, {1, 16}, k.Consts({0, 0}))));
  EXPECT_EQ(k.CompileImage()->plan.roots[0].leaves.size(), 2U);
}

TEST(Leaves, ATransposeReadsMemory) {
  Kernel k;
  const TensorId x = k.Param("x", {32, 16});
  const TensorId out = k.Param("out", {16, 32});
  k.Move(out, k.Neg(k.Transpose(k.Exp(x), 0, 1)));
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots[0].leaves.size(), 2U);
  const Leaf& second = plan.roots[0].leaves[1];
  const program::Access& read = second.accesses[second.ops[0].inputs[0].index];
  EXPECT_EQ(Constant(plan, read.strides[0]), 1);
  EXPECT_EQ(Constant(plan, read.strides[1]), 16);
  EXPECT_EQ(plan.storages[read.storage].tensor_class, TensorClass::kRootInner);
}

TEST(Leaves, ChangeOfTileEndsALeaf) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 64});
  const TensorId out = k.Param("out", {64, 64});
  k.VectorTile({8, 64});
  const TensorId a = k.Exp(x);
  k.VectorTile({16, 64});
  k.Move(out, k.Neg(a));
  EXPECT_EQ(k.CompileImage()->plan.roots[0].leaves.size(), 2U);
}

TEST(Leaves, ADifferentBoundThatCutsToTheSameTileDoesNot) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 64});
  const TensorId out = k.Param("out", {64, 64});
  k.VectorTile({1, 8, 256});
  const TensorId a = k.Exp(x);
  k.VectorTile({8, 512});
  k.Move(out, k.Neg(a));
  EXPECT_EQ(k.CompileImage()->plan.roots[0].leaves.size(), 1U);
}

TEST(Leaves, AReductionOverASplitAxisIsALeafOfItsOwn) {
  Kernel k;
  const TensorId x = k.Param("x", {64, 64});
  const TensorId out = k.Param("out", {64, 1});
  k.VectorTile({8, 16});
  k.Move(out, k.Sum(k.Exp(x), 1));
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  ASSERT_EQ(plan.roots[0].leaves.size(), 2U);
  EXPECT_EQ(plan.roots[0].leaves[0].tile, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(plan.roots[0].leaves[1].tile, (std::vector<int64_t>{8, 64}));
  EXPECT_EQ(plan.roots[0].leaves[1].ops[0].axis, 1);
}

TEST(Leaves, AReducedValueWithoutKeepdimCrossesUnlessItsDimsStayAligned) {
  for (const int axis : {0, 1}) {
    Kernel k;
    const TensorId x = k.Param("x", {16, 16});
    const TensorId out = k.Param("out", {16});
    k.Move(out, k.Neg(k.Sum(x, axis, false)));
    EXPECT_EQ(k.CompileImage()->plan.roots[0].leaves.size(), axis == 0 ? 1U : 2U);
  }
}

TEST(Leaves, WorkForALaterReaderDoesNotJoinAnEarlierLeaf) {
  Kernel k;
  const TensorId x = k.Param("x", {32, 32});
  const TensorId v = k.Param("v", {32, 32});
  const TensorId out = k.Param("out", {32, 32});
  const TensorId a = k.Exp(x);
  const TensorId late = k.Neg(v);  // on its own before the matmul, but read behind it
  k.Move(out, k.Add(k.Matmul(a, x), late));
  const auto image = k.CompileImage();
  EXPECT_EQ(image->plan.roots[0].leaves.size(), 3U);
  EXPECT_EQ(CountClass(image->plan, TensorClass::kRootInner), 2U);
}

TEST(Leaves, WorkOnTheCellsThatALaterReaderStoresJoinsIt) {
  Kernel k;
  const TensorId a = k.Param("a", {128, 64});
  const TensorId b = k.Param("b", {64, 64});
  const TensorId sum = k.Param("sum", {128, 64});
  k.Move(sum, k.Add(k.Mul(sum, 0.5), k.Matmul(a, b)));
  const auto image = k.CompileImage();
  EXPECT_EQ(CountLeaves(image->plan, LeafKind::kCube), 1U);
  EXPECT_EQ(CountLeaves(image->plan, LeafKind::kVector), 1U);
  EXPECT_EQ(image->plan.roots[0].leaves.back().ops.size(), 2U);
  EXPECT_EQ(CountClass(image->plan, TensorClass::kRootInner), 1U);
}

TEST(Leaves, WorkOnOtherCellsThanALaterReaderStoresDoesNot) {
  Kernel k;
  const TensorId a = k.Param("a", {128, 64});
  const TensorId b = k.Param("b", {64, 64});
  const TensorId sum = k.Param("sum", {128, 64});
  const TensorId first = k.Slice(sum, {1, 64}, k.Consts({0, 0}));
  k.Move(sum, k.Add(k.Mul(first, 0.5), k.Matmul(a, b)));
  const auto image = k.CompileImage();
  EXPECT_EQ(CountLeaves(image->plan, LeafKind::kVector), 2U);
}

TEST(Leaves, LocalSlotsAreTakenAgain) {
  Kernel k;
  const TensorId x = k.Param("x", {32, 32});
  const TensorId out = k.Param("out", {32, 32});
  TensorId value = x;
  for (int i = 0; i < 100; ++i) value = k.Add(value, x);
  k.Move(out, value);
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.roots[0].leaves.size(), 1U);
  EXPECT_EQ(image->plan.roots[0].leaves[0].ops.size(), 100U);
  EXPECT_LE(image->plan.roots[0].leaves[0].locals.size(), 2U);
}

TEST(Leaves, AValueStoredTwiceIsComputedOnce) {
  Kernel k;
  const TensorId x = k.Param("x", {32, 32});
  const TensorId out = k.Param("out", {32, 32});
  const TensorId copy = k.Param("copy", {64, 32});
  const TensorId y = k.Exp(x);
  k.Move(out, y);
  k.Assemble(copy, y, k.Consts({32, 0}));
  const auto image = k.CompileImage();
  ASSERT_EQ(image->plan.roots[0].leaves.size(), 1U);
  EXPECT_EQ(CountOps(image->plan, OpCode::kExp), 1U);
  EXPECT_EQ(CountOps(image->plan, OpCode::kCopy), 2U);
}

TEST(Leaves, AReductionDoesNotWriteACellThatMayLiePastTheEnd) {
  for (const bool past_the_end : {false, true}) {
    Kernel k;
    const TensorId x = k.Param("x", {8, 16});
    const TensorId out = k.Param("out", {8, 4});
    k.Loop(0, past_the_end ? 6 : 4, 1, [&](ExprId i) { k.Assemble(out, k.Sum(x, 1), {k.C(0), i}); });
    EXPECT_EQ(CountOps(k.CompileImage()->plan, OpCode::kCopy), past_the_end ? 1U : 0U);
  }
}

TEST(Leaves, ATailBlockTouchesOnlyExistingCells) {
  Kernel k;
  const TensorId x = k.Param("x", {kDynamic, 64}, DType::kFp32, {"B", ""});
  const TensorId out = k.Param("out", {kDynamic, 64}, DType::kFp32, {"B", ""});
  k.LoopOver(k.C(0), k.DimOf(x, 0), 32,
             [&](ExprId i) { k.Assemble(out, k.Exp(k.Slice(x, {32, 64}, {i, k.C(0)})), {i, k.C(0)}); });
  const auto image = k.CompileImage();
  const program::Plan& plan = image->plan;
  const Leaf& leaf = plan.roots[0].leaves[0];
  ASSERT_EQ(leaf.accesses.size(), 2U);
  for (const program::Access& access : leaf.accesses) {
    for (const auto& [rows, index, valid] :
         {std::tuple<int64_t, int64_t, int64_t>{100, 64, 32}, {100, 96, 4}, {5, 0, 5}}) {
      const std::vector<int64_t> symbols = {rows};
      const std::vector<int64_t> indices = {index};
      EXPECT_EQ(*program::Evaluate(plan.exprs, access.valid[0], {symbols, {}, indices}), valid);
      EXPECT_EQ(*program::Evaluate(plan.exprs, access.offset, {symbols, {}, indices}), index * 64);
    }
  }
  EXPECT_EQ(plan.parameters[1].direction, program::Direction::kOut);
}

}  // namespace
}  // namespace pypto::compile::testing
