// Listings of programs and plans.
#include "program/builder_fixture.h"
#include "program/random_plan.h"

namespace pypto::program {
namespace {

TEST_F(BuilderTest, ListingOfAProgram) {
  const TensorId x = *builder.AddTensorParameter("x", DType::kFp32, {std::nullopt, 8}, {"n", ""});
  ASSERT_TRUE(builder.AddScalarParameter("k", ScalarKind::kInt).ok());
  const uint32_t file = builder.AddFile({"kernel.py", "", "", 0});
  ExprPool& pool = builder.exprs();
  builder.SetPlace({file, 3, 1});
  const ExprId n = builder.tensor(x).shape[0];
  const ExprId i = *builder.BeginLoop("rows", pool.Const(0), n, pool.Const(32), false, false);
  builder.SetPlace({file, 4, 1});
  builder.SetTiles({{32, 8}, {}});
  const TensorId block = Tail(x, {32, 8}, i);
  OpAttributes last;
  last.axis = -1;
  last.keepdim = true;
  const TensorId sum = Made(builder.Op(OpCode::kSum, {Tensor(block)}, last));
  ASSERT_TRUE(builder.BeginIf(*pool.Make(ExprOp::kLt, pool.Scalar(0), i)).ok());
  const TensorId less = Made(builder.Op(OpCode::kSub, {Tensor(block), Tensor(sum)}, {}));
  ASSERT_TRUE(builder.BeginElse().ok());
  Made(builder.Op(OpCode::kMul, {Tensor(block), Float(0.5)}, {}));
  ASSERT_TRUE(builder.EndIf().ok());
  static_cast<void>(less);
  ASSERT_TRUE(builder.Assemble(x, block, {i, pool.Const(0)}).ok());
  ASSERT_TRUE(builder.EndLoop().ok());
  const auto program = builder.Finish();
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  EXPECT_EQ(
      ToText(*program),
      "program kernel(%0:x FP32[n, 8], k int)\n"
      "  loop i0 in (0, n, 32) name=rows  # line 3\n"
      "    %1 = view(%0:x, offsets=[i0, 0]) : FP32[32, 8] valid [RUNTIME_Min((n-i0), 32), 8]  # line 4\n"
      "    %2 = sum(%1, dim=1, keepdim) : FP32[32, 1] valid [RUNTIME_Min((n-i0), 32), 1] vec_tile [32, 8]  # line 4\n"
      "    if (k<i0)  # line 4\n"
      "      %3 = sub(%1, %2) : FP32[32, 8] valid [RUNTIME_Min((n-i0), 32), 8] vec_tile [32, 8]  # line 4\n"
      "    else\n"
      "      %4 = mul(%1, 0.5) : FP32[32, 8] valid [RUNTIME_Min((n-i0), 32), 8] vec_tile [32, 8]  # line 4\n"
      "    assemble(%1, [i0, 0], %0:x) vec_tile [32, 8]  # line 4\n");
}

TEST(PlanTextTest, ListsStoragesLeavesAndWorkspace) {
  DebugInfo debug;
  debug.files = {{"kernel.py", "", "", 0}};
  debug.places = {{}, {0, 12, 1}};
  const std::string text = ToText(SamplePlan(), debug);
  for (const char* line :
       {"plan sample", "parameter x: FP32[n, 8] in", "parameter out: FP32[n, 8] inout (line 12 writes only part of it)",
        "storage s2:inner: root_inner FP32[32, 8], 1024 bytes", "storage s3:whole: exclusive_outcast",
        "storage s4:parts: assemble_outcast", "leaf 0 vector [32, 8] tile [16, 8]", "# kernel.py:12",
        "l0: leaf-local FP32[32, 8]", "l0 = add(a0, 1.5) of FP32", "a1 = sum(", "leaf 1 cube", "k 8 tile 8",
        "loop i0 in (0, n, 32)", "root_inner unit 1024 bytes", "exclusive_outcast unit 1024 bytes",
        "boundary 1024 bytes"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
  // Without debug information nothing is looked up.
  EXPECT_THAT(ToText(SamplePlan(), {}), testing::Not(testing::HasSubstr("kernel.py")));
}

}  // namespace
}  // namespace pypto::program
