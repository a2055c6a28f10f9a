// The builder: parameters, operations, control flow, and the texts of its errors.
#include "program/builder_fixture.h"

namespace pypto::program {
namespace {

using base::StatusCode;
using testing::ElementsAre;

constexpr auto kF32 = DType::kFp32;
constexpr auto kF16 = DType::kFp16;

TEST_F(BuilderTest, DynamicDimsBecomeSymbolsSharedByName) {
  ASSERT_TRUE(builder.AddTensorParameter("x", kF32, {std::nullopt, 16}, {"n", ""}).ok());
  const auto y = builder.AddTensorParameter("y", kF32, {std::nullopt, std::nullopt}, {"n", ""});
  ASSERT_TRUE(y.ok());
  const Program& program = builder.program();
  ASSERT_EQ(program.symbols.size(), 2u);
  EXPECT_EQ(program.symbols[0].name, "n");
  EXPECT_EQ(program.symbols[0].parameter, 0u);
  EXPECT_EQ(program.symbols[1].name, "y_1");
  EXPECT_EQ(program.parameters[1].dims[0].symbol, 0);
  EXPECT_EQ(builder.tensor(*y).shape[0], builder.tensor(0).shape[0]);
}

TEST_F(BuilderTest, ParameterErrors) {
  ExpectError(builder.AddTensorParameter("x", kF32, {std::nullopt, 0}, {}), StatusCode::kInvalidArgument,
              "parameter 'x': dim 1 is 0");
  EXPECT_TRUE(builder.program().parameters.empty());
  EXPECT_TRUE(builder.program().symbols.empty());
  ExpectError(builder.AddTensorParameter("x", kF32, {}, {}), StatusCode::kInvalidArgument, "rank 0");
  ExpectError(builder.AddTensorParameter("x", kF32, {1, 1, 1, 1, 1, 1, 1}, {}), StatusCode::kInvalidArgument, "rank 7");
  ExpectError(builder.AddTensorParameter("x", kF32, {1, 2}, {"n"}), StatusCode::kInvalidArgument, "1 symbol names");
  const TensorId x = Parameter("x", kF32, {4});
  Made(builder.Op(OpCode::kNeg, {Tensor(x)}, {}));
  ExpectError(builder.AddTensorParameter("y", kF32, {4}, {}), StatusCode::kFailedPrecondition, "before the first");
  ExpectError(builder.AddScalarParameter("s", ScalarKind::kInt), StatusCode::kFailedPrecondition, "before the first");
}

TEST_F(BuilderTest, BroadcastsLikeNumpyByStaticSize) {
  const TensorId a = Parameter("a", kF32, {4, 1, 8});
  const TensorId b = Parameter("b", kF32, {3, 1});
  EXPECT_THAT(Shape(Made(builder.Op(OpCode::kAdd, {Tensor(a), Tensor(b)}, {}))), ElementsAre(4, 3, 8));
  EXPECT_THAT(Shape(Made(builder.Op(OpCode::kAdd, {Tensor(b), Tensor(a)}, {}))), ElementsAre(4, 3, 8));
}

TEST_F(BuilderTest, ResultsOfTheFamilies) {
  const TensorId x = Parameter("x", kF32, {4, 6, 8});
  const TensorId i = Parameter("i", DType::kInt32, {4, 8});
  OpAttributes last;
  last.axis = -1;
  const TensorId sum = Made(builder.Op(OpCode::kSum, {Tensor(x)}, last));
  EXPECT_THAT(Shape(sum), ElementsAre(4, 6));
  EXPECT_EQ(std::get<OpStatement>(builder.program().body.statements.back()).attributes.axis, 2);
  last.keepdim = true;
  EXPECT_THAT(Shape(Made(builder.Op(OpCode::kAmax, {Tensor(x)}, last))), ElementsAre(4, 6, 1));
  OpAttributes swap;
  swap.dim0 = 0;
  swap.dim1 = -1;
  EXPECT_THAT(Shape(Made(builder.Op(OpCode::kTranspose, {Tensor(x)}, swap))), ElementsAre(8, 6, 4));
  const TensorId quotient = Made(builder.Op(OpCode::kDiv, {Tensor(i), Int(3)}, {}));
  EXPECT_EQ(builder.tensor(quotient).dtype, kF32);
  EXPECT_EQ(builder.tensor(Made(builder.Op(OpCode::kMul, {Int(3), Tensor(i)}, {}))).dtype, DType::kInt32);
  OpAttributes to_half;
  to_half.dtype = kF16;
  EXPECT_EQ(builder.tensor(Made(builder.Op(OpCode::kCast, {Tensor(x)}, to_half))).dtype, kF16);
  const TensorId all = Made(builder.Op(OpCode::kSum, {Tensor(Made(builder.Reshape(i, {-1}, {})))}, {}));
  EXPECT_THAT(Shape(all), ElementsAre(1));
}

TEST_F(BuilderTest, MatmulShapesAndDTypes) {
  const TensorId a = Parameter("a", kF16, {1, 5, 7});
  const TensorId b = Parameter("b", kF16, {3, 9, 7});
  OpAttributes attributes;
  attributes.b_trans = true;
  attributes.dtype = kF32;
  const TensorId flat = Parameter("flat", kF16, {7, 4});
  const TensorId c = Made(builder.Op(OpCode::kMatmul, {Tensor(a), Tensor(b)}, attributes));
  EXPECT_THAT(Shape(c), ElementsAre(3, 5, 9));
  EXPECT_EQ(builder.tensor(c).dtype, kF32);
  attributes.dtype = DType::kInt32;
  ExpectError(builder.Op(OpCode::kMatmul, {Tensor(a), Tensor(b)}, attributes), StatusCode::kTypeMismatch,
              "matmul(): out_dtype DT_INT32 is not possible for inputs of DT_FP16; accepted: DT_FP32, DT_FP16");
  attributes.dtype = kF16;
  attributes.b_trans = false;
  ExpectError(builder.Op(OpCode::kMatmul, {Tensor(a), Tensor(b)}, attributes), StatusCode::kInvalidArgument,
              "matmul(): K differs: 7 in a [1, 5, 7], 9 in b [3, 9, 7]");
  ExpectError(builder.Op(OpCode::kMatmul, {Tensor(a), Tensor(flat)}, attributes), StatusCode::kInvalidArgument,
              "matmul(): operands must have equal ranks of 2 to 4, got [1, 5, 7] and [7, 4]");
}

TEST_F(BuilderTest, OperandErrors) {
  const TensorId x = Parameter("x", kF32, {4, 8});
  const TensorId h = Parameter("h", kF16, {4, 8});
  const TensorId i = Parameter("i", DType::kInt32, {4, 8});
  const TensorId flags = Parameter("flags", DType::kBool, {4, 8});
  const TensorId odd = Parameter("odd", kF32, {3, 8});
  const TensorId open = Parameter("open", kF32, {-1, 8});
  const auto added = builder.AddScalarParameter("scale", ScalarKind::kFloat);
  const Operand scale = added.value();
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(x), Tensor(h)}, {}), StatusCode::kTypeMismatch,
              "add(): operand dtypes must match, got DT_FP32 and DT_FP16");
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(i), Float(1.5)}, {}), StatusCode::kTypeMismatch,
              "add(): float scalar incompatible with integer tensor dtype DT_INT32");
  ExpectError(builder.Op(OpCode::kMul, {Tensor(i), scale}, {}), StatusCode::kTypeMismatch,
              "mul(): float scalar incompatible with integer tensor dtype DT_INT32");
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(flags), Int(1)}, {}), StatusCode::kTypeMismatch,
              "add(): dtype DT_BOOL is not supported; accepted: DT_FP32, DT_FP16, DT_BF16, DT_INT32");
  ExpectError(builder.Op(OpCode::kExp, {Tensor(i)}, {}), StatusCode::kTypeMismatch,
              "exp(): dtype DT_INT32 is not supported; accepted: DT_FP32, DT_FP16, DT_BF16");
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(x), Tensor(odd)}, {}), StatusCode::kInvalidArgument,
              "add(): shapes [4, 8] and [3, 8] do not broadcast: dim -2 is 4 and 3");
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(open), Int(1)}, {}), StatusCode::kTypeMismatch,
              "Dynamic shape tensors are not allowed as operation operands: open has shape [?, 8]");
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(x)}, {}), StatusCode::kInvalidArgument,
              "add() takes 2 operand(s), got 1");
  ExpectError(builder.Op(OpCode::kAdd, {Int(1), Int(2)}, {}), StatusCode::kTypeMismatch, "at least one operand");
  ExpectError(builder.Op(OpCode::kNeg, {Int(1)}, {}), StatusCode::kTypeMismatch, "operands must be tensors");
  ExpectError(builder.Op(OpCode::kNeg, {Tensor(99)}, {}), StatusCode::kInvalidArgument, "no tensor of this kernel");
  ExpectError(builder.Op(static_cast<OpCode>(77), {Tensor(x)}, {}), StatusCode::kInvalidArgument, "operation 77");
  ExpectError(builder.Op(OpCode::kFill, {Int(1)}, {}), StatusCode::kInvalidArgument, "operation 60");
  Operand foreign;
  foreign.kind = Operand::Kind::kExpr;
  foreign.expr = 12345;
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(x), foreign}, {}), StatusCode::kInvalidArgument, "does not belong");
  OpAttributes axis;
  axis.axis = 2;
  ExpectError(builder.Op(OpCode::kSum, {Tensor(x)}, axis), StatusCode::kOutOfRange,
              "sum(): dim 2 is out of range for a tensor of rank 2 (-2 to 1)");
  OpAttributes swap;
  swap.dim1 = -3;
  ExpectError(builder.Op(OpCode::kTranspose, {Tensor(x)}, swap), StatusCode::kOutOfRange, "transpose(): dim -3");
  OpAttributes to_wide;
  to_wide.dtype = DType::kUint64;
  ExpectError(builder.Op(OpCode::kCast, {Tensor(x)}, to_wide), StatusCode::kTypeMismatch,
              "cast(): target dtype DT_UINT64 is not supported");
  OpAttributes odd_mode;
  odd_mode.cast_mode = 7;
  ExpectError(builder.Op(OpCode::kCast, {Tensor(x)}, odd_mode), StatusCode::kInvalidArgument, "cast(): unknown mode 7");
  // Nothing of a refused operation stays in the program.
  EXPECT_TRUE(builder.program().body.statements.empty());
  EXPECT_EQ(builder.program().tensors.size(), 6u);
}

TEST_F(BuilderTest, RanksAndSizesAreBounded) {
  const TensorId deep = Parameter("deep", kF32, {2, 2, 2, 2, 2, 2});
  ExpectError(builder.Op(OpCode::kNeg, {Tensor(deep)}, {}), StatusCode::kInvalidArgument, "rank 1 to 5");
  const TensorId row = Parameter("row", kF32, {int64_t{1} << 40, 1});
  const TensorId column = Parameter("column", kF32, {1, int64_t{1} << 40});
  ExpectError(builder.Op(OpCode::kAdd, {Tensor(row), Tensor(column)}, {}), StatusCode::kInvalidArgument, "63 bits");
}

TEST_F(BuilderTest, FillChecksValueDTypeAndShape) {
  const TensorId full = Made(builder.Fill(Float(1.5), kF16, {4, 8}, {}));
  EXPECT_THAT(Valid(full), ElementsAre(4, 8));
  EXPECT_EQ(std::get<OpStatement>(builder.program().body.statements[0]).fill_shape, builder.tensor(full).shape);
  const ExprId three = builder.exprs().Const(3);
  EXPECT_THAT(Valid(Made(builder.Fill(Int(0), DType::kBool, {4}, {three}))), ElementsAre(3));
  ExpectError(builder.Fill(Float(1.5), DType::kInt8, {4}, {}), StatusCode::kTypeMismatch,
              "full(): float scalar incompatible with integer tensor dtype DT_INT8");
  ExpectError(builder.Fill(Int(1), kF32, {4, 0}, {}), StatusCode::kInvalidArgument, "every extent must be at least 1");
  ExpectError(builder.Fill(Int(1), kF32, {}, {}), StatusCode::kInvalidArgument, "rank 0");
  ExpectError(builder.Fill(Tensor(full), kF32, {4}, {}), StatusCode::kTypeMismatch, "must be a number");
  ExpectError(builder.Fill(Int(1), kF32, {4}, {three, three}), StatusCode::kInvalidArgument, "rank mismatch");
  ExpectError(builder.Fill(Int(1), kF32, {2}, {three}), StatusCode::kInvalidArgument,
              "full(): valid_shape 3 in dim 0 is not within 0 to 2");
}

TEST_F(BuilderTest, LoopsBoundTheirIndex) {
  ExprPool& pool = builder.exprs();
  const auto i = builder.BeginLoop("i", pool.Const(0), pool.Const(13), pool.Const(4), false, false);
  EXPECT_EQ(pool.Range(*i), (std::pair<int64_t, int64_t>{0, 12}));
  const auto down = builder.BeginLoop("d", pool.Const(9), pool.Const(-1), pool.Const(-3), false, false);
  EXPECT_EQ(pool.Range(*down), (std::pair<int64_t, int64_t>{0, 9}));
  EXPECT_TRUE(builder.EndLoop().ok());
  EXPECT_TRUE(builder.EndLoop().ok());
  ExpectError(builder.BeginLoop("z", pool.Const(0), pool.Const(4), pool.Const(0), false, false),
              StatusCode::kInvalidArgument, "loop(): the step must not be zero");
  ExpectError(builder.BeginLoop("z", 999, pool.Const(4), pool.Const(1), false, false), StatusCode::kInvalidArgument,
              "does not belong");
}

TEST_F(BuilderTest, BlocksNestAndAreClosed) {
  ExprPool& pool = builder.exprs();
  const TensorId x = Parameter("x", kF32, {4});
  ExpectError(builder.EndLoop(), StatusCode::kFailedPrecondition, "EndLoop");
  ExpectError(builder.BeginElse(), StatusCode::kFailedPrecondition, "BeginElse");
  ExpectError(builder.EndIf(), StatusCode::kFailedPrecondition, "EndIf");
  const ExprId i = *builder.BeginLoop("i", pool.Const(0), pool.Const(4), pool.Const(1), true, true);
  ASSERT_TRUE(builder.BeginIf(*pool.Make(ExprOp::kLt, i, pool.Const(2))).ok());
  ExpectError(builder.EndLoop(), StatusCode::kFailedPrecondition, "innermost");
  ExpectError(builder.Finish(), StatusCode::kFailedPrecondition, "2 loop(s) or branch(es) open");
  Made(builder.Op(OpCode::kNeg, {Tensor(x)}, {}));
  ASSERT_TRUE(builder.BeginElse().ok());
  Made(builder.Op(OpCode::kExp, {Tensor(x)}, {}));
  ExpectError(builder.BeginElse(), StatusCode::kFailedPrecondition, "BeginElse");
  ASSERT_TRUE(builder.EndIf().ok());
  ASSERT_TRUE(builder.EndLoop().ok());
  const auto program = builder.Finish();
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const auto& loop = std::get<LoopStatement>(program->body.statements[0]);
  EXPECT_TRUE(loop.parallel && loop.submit_before);
  const auto& branch = std::get<IfStatement>(loop.body->statements[0]);
  EXPECT_EQ(std::get<OpStatement>(branch.then_block->statements[0]).code, OpCode::kNeg);
  EXPECT_EQ(std::get<OpStatement>(branch.else_block->statements[0]).code, OpCode::kExp);
}

TEST_F(BuilderTest, StatementsKeepPlaceAndTiles) {
  const TensorId x = Parameter("x", kF32, {4});
  const uint32_t file = builder.AddFile({"kernel.py", "", "", 0});
  EXPECT_NE(builder.AddFile({"helper.py", "", "", 0}), file);
  builder.SetPlace({file, 7, 3});
  builder.SetTiles({{64}, {16, 32, 48}});
  Made(builder.Op(OpCode::kNeg, {Tensor(x)}, {}));
  const auto& op = std::get<OpStatement>(builder.program().body.statements[0]);
  EXPECT_EQ(op.place.line, 7);
  EXPECT_THAT(op.tiles.vector_tile, ElementsAre(64));
  EXPECT_EQ(op.tiles.cube.k, 32);
}

TEST_F(BuilderTest, FinishLeavesAnEmptyBuilder) {
  Made(builder.Declare("t", kF32, {builder.exprs().Const(4)}));
  ASSERT_TRUE(builder.Finish().ok());
  EXPECT_TRUE(builder.program().body.statements.empty());
  const TensorId x = Parameter("x", kF32, {4});
  Made(builder.Op(OpCode::kNeg, {Tensor(x)}, {}));
  EXPECT_TRUE(builder.Finish().ok());
}

TEST_F(BuilderTest, DeclareTakesDynamicDims) {
  const TensorId x = Parameter("x", kF32, {-1, 8});
  const TensorId t = Made(builder.Declare("t", kF16, builder.tensor(x).shape));
  EXPECT_EQ(builder.tensor(t).valid, builder.tensor(x).shape);
  ExpectError(builder.Declare("t", kF16, {builder.exprs().Const(0)}), StatusCode::kInvalidArgument, "at least 1");
  ExpectError(builder.Declare("t", kF16, {}), StatusCode::kInvalidArgument, "rank 0");
  ExpectError(builder.Declare("t", kF16, {4444}), StatusCode::kInvalidArgument, "does not belong");
}

TEST_F(BuilderTest, ResultsOfAGivenShapeAreChecked) {
  const TensorId x = Parameter("x", kF32, {4, 8});
  OpAttributes bytes{.dtype = DType::kUint8, .dims = {128}};
  EXPECT_THAT(Shape(Made(builder.Op(OpCode::kBytes, {Tensor(x)}, bytes))), ElementsAre(128));
  const std::vector<std::vector<int64_t>> wrong = {{4, 32}, {}, {0}, {-1}};
  for (const std::vector<int64_t>& dims : wrong) {
    bytes.dims = dims;
    ExpectError(builder.Op(OpCode::kBytes, {Tensor(x)}, bytes), StatusCode::kInvalidArgument,
                "the result has one positive extent");
    const OpAttributes range{.dtype = DType::kInt32, .dims = dims};
    ExpectError(builder.Op(OpCode::kArange, {Int(0), Int(1)}, range), StatusCode::kInvalidArgument,
                "the result has one positive extent");
  }
  const OpAttributes many{.dtype = kF32, .dims = {1, 1, 1, 1, 1, 1, 1}};
  ExpectError(builder.Op(OpCode::kUniform, std::vector<Operand>(6, Int(1)), many), StatusCode::kInvalidArgument,
              "1 to 6 positive extents");
}

}  // namespace
}  // namespace pypto::program
