// Views, writes, and the valid extents that follow from them.
#include "program/builder_fixture.h"

namespace pypto::program {
namespace {

using base::StatusCode;
using testing::ElementsAre;

constexpr auto kF32 = DType::kFp32;

class ViewTest : public BuilderTest {
 protected:
  ViewTest() {
    x = Parameter("x", kF32, {-1, 16});
    w = Parameter("w", kF32, {16, 8});
    s = Parameter("s", kF32, {4, 16});
    k = builder.exprs().Scalar(0);
    EXPECT_TRUE(builder.AddScalarParameter("k", ScalarKind::kInt).ok());
    zero = builder.exprs().Const(0);
  }
  ExprId Const(int64_t value) { return builder.exprs().Const(value); }

  TensorId x = 0;  // [n, 16]
  TensorId w = 0;
  TensorId s = 0;
  ExprId k = 0;  // a number of unknown sign
  ExprId zero = 0;
};

TEST_F(ViewTest, SliceClampsValid) {
  EXPECT_THAT(Valid(Made(builder.Slice(s, {3, 16}, {Const(2), zero}, {}))), ElementsAre(2, 16));
  EXPECT_THAT(Valid(Made(builder.Slice(s, {3, 16}, {Const(9), zero}, {}))), ElementsAre(0, 16));
  // The static extent may exceed the base.
  EXPECT_THAT(Valid(Made(builder.Slice(s, {100, 16}, {zero, zero}, {}))), ElementsAre(4, 16));
  const TensorId tail = Tail(x, {32, 16}, k);
  EXPECT_EQ(ValidText(tail, 0), "RUNTIME_Min(RUNTIME_Max((symbol0-scalar0), 0), 32)");
  // A window of a window starts from what is valid there.
  EXPECT_THAT(
      Valid(Made(builder.Slice(Made(builder.Slice(s, {8, 16}, {Const(1), zero}, {})), {8, 16}, {Const(1), zero}, {}))),
      ElementsAre(2, 16));
}

TEST_F(ViewTest, LoopsOverWholeBlocksHaveNoTails) {
  ExprPool& pool = builder.exprs();
  const ExprId n = builder.tensor(x).shape[0];
  const ExprId row = *builder.BeginLoop("row", zero, n, Const(1), false, false);
  EXPECT_THAT(Valid(Tail(x, {1, 16}, row)), ElementsAre(1, 16));
  ASSERT_TRUE(builder.EndLoop().ok());
  const ExprId block = *builder.BeginLoop("block", zero, Const(4), Const(2), false, false);
  EXPECT_THAT(Valid(Tail(s, {2, 16}, block)), ElementsAre(2, 16));
  ASSERT_TRUE(builder.EndLoop().ok());
  const ExprId tail = *builder.BeginLoop("tail", zero, n, Const(32), false, false);
  EXPECT_EQ(builder.tensor(Tail(x, {32, 16}, tail)).valid[0], pool.Min(pool.Sub(n, tail), Const(32)));
  ASSERT_TRUE(builder.EndLoop().ok());
}

TEST_F(ViewTest, NothingIsNegativeInALoopThatNeverRuns) {
  ExprPool& pool = builder.exprs();
  for (const auto& [start, stop, step] : {std::array{0, 0, 1}, std::array{0, -4, 1}, std::array{2, 5, -1}}) {
    const ExprId i = *builder.BeginLoop("none", Const(start), Const(stop), Const(step), false, false);
    const TensorId tile = Made(builder.Slice(s, {1, 16}, {pool.Add(i, Const(-9)), zero}, {}));
    EXPECT_TRUE(builder.Assemble(x, tile, {pool.Add(i, Const(-9)), zero}).ok());
    ASSERT_TRUE(builder.EndLoop().ok());
  }
  const ExprId once = *builder.BeginLoop("once", zero, Const(1), Const(1), false, false);
  ExpectError(builder.Slice(s, {1, 16}, {pool.Add(once, Const(-9)), zero}, {}), StatusCode::kOutOfRange, "is negative");
  ASSERT_TRUE(builder.EndLoop().ok());
  const auto program = builder.Finish();
  EXPECT_TRUE(program.ok()) << program.status().ToString();
}

TEST_F(ViewTest, GivenValidStaysWithinTheBase) {
  EXPECT_THAT(Valid(Made(builder.Slice(s, {4, 16}, {zero, zero}, {Const(3), Const(5)}))), ElementsAre(3, 5));
  EXPECT_THAT(Valid(Made(builder.Slice(s, {4, 16}, {Const(2), zero}, {Const(4), Const(16)}))), ElementsAre(2, 16));
  ExpectError(builder.Slice(s, {4, 16}, {zero, zero}, {Const(3)}), StatusCode::kInvalidArgument,
              "view(): rank mismatch: valid_shape has rank 1, shape [4, 16] has rank 2");
  ExpectError(builder.Slice(s, {4, 16}, {zero, zero}, {Const(5), Const(16)}), StatusCode::kInvalidArgument,
              "view(): valid_shape 5 in dim 0 is not within 0 to 4");
  ExpectError(builder.Slice(s, {4, 16}, {zero, zero}, {Const(-1), Const(16)}), StatusCode::kInvalidArgument,
              "valid_shape -1");
}

TEST_F(ViewTest, SliceErrors) {
  ExpectError(builder.Slice(s, {4}, {zero, zero}, {}), StatusCode::kInvalidArgument,
              "view(): rank mismatch: shape [4] has rank 1, the tensor has rank 2");
  ExpectError(builder.Slice(s, {4, 16}, {zero}, {}), StatusCode::kInvalidArgument,
              "view(): rank mismatch: 1 offsets for a tensor of rank 2");
  ExpectError(builder.Slice(s, {4, 16}, {Const(-3), zero}, {}), StatusCode::kOutOfRange,
              "view(): offset -3 in dim 0 is negative");
  ExpectError(builder.Slice(s, {4, 0}, {zero, zero}, {}), StatusCode::kInvalidArgument, "at least 1");
  ExpectError(builder.Slice(77, {4, 16}, {zero, zero}, {}), StatusCode::kInvalidArgument, "tensor 77");
  ExpectError(builder.Slice(s, {4, 16}, {zero, 9999}, {}), StatusCode::kInvalidArgument, "does not belong");
}

TEST_F(ViewTest, ValidOfOperations) {
  const TensorId a = Tail(s, {4, 16}, Const(1));  // 3 rows
  const TensorId b = Tail(s, {4, 16}, Const(2));  // 2 rows
  EXPECT_THAT(Valid(Made(builder.Op(OpCode::kAdd, {Tensor(a), Tensor(b)}, {}))), ElementsAre(2, 16));
  OpAttributes rows;
  rows.axis = 0;
  const TensorId sums = Made(builder.Op(OpCode::kSum, {Tensor(a)}, rows));
  EXPECT_THAT(Valid(sums), ElementsAre(16));
  rows.axis = 1;
  rows.keepdim = true;
  const TensorId columns = Made(builder.Op(OpCode::kSum, {Tensor(a)}, rows));
  EXPECT_THAT(Valid(columns), ElementsAre(3, 1));
  EXPECT_THAT(Valid(Made(builder.Op(OpCode::kSub, {Tensor(b), Tensor(columns)}, {}))), ElementsAre(2, 16));
  OpAttributes swap;
  swap.dim1 = 1;
  EXPECT_THAT(Valid(Made(builder.Op(OpCode::kTranspose, {Tensor(a)}, swap))), ElementsAre(16, 3));
  const TensorId narrow = Made(builder.Slice(w, {16, 8}, {zero, Const(3)}, {}));
  EXPECT_THAT(Valid(Made(builder.Op(OpCode::kMatmul, {Tensor(a), Tensor(narrow)}, {}))), ElementsAre(3, 5));
}

TEST_F(ViewTest, AnEmptyStretchedOperandEmptiesTheResult) {
  const TensorId none = Made(builder.Slice(s, {1, 16}, {Const(4), zero}, {}));
  EXPECT_THAT(Valid(Made(builder.Op(OpCode::kAdd, {Tensor(s), Tensor(none)}, {}))), ElementsAre(0, 16));
  const TensorId one = Made(builder.Slice(s, {1, 16}, {Const(3), zero}, {}));
  EXPECT_THAT(Valid(Made(builder.Op(OpCode::kAdd, {Tensor(s), Tensor(one)}, {}))), ElementsAre(4, 16));
  const TensorId maybe = Tail(s, {1, 16}, k);
  const TensorId sum = Made(builder.Op(OpCode::kAdd, {Tensor(s), Tensor(maybe)}, {}));
  EXPECT_EQ(ValidText(sum, 0), "(RUNTIME_Min(RUNTIME_Max((4-scalar0), 0), 1)*4)");
}

TEST_F(ViewTest, ReshapeOfFullTensors) {
  EXPECT_THAT(Shape(Made(builder.Reshape(s, {2, -1, 4}, {}))), ElementsAre(2, 8, 4));
  EXPECT_THAT(Valid(Made(builder.Reshape(s, {64}, {}))), ElementsAre(64));
  ExpectError(builder.Reshape(s, {5, 13}, {}), StatusCode::kInvalidArgument,
              "reshape(): [4, 16] into [5, 13]: the element counts differ");
  ExpectError(builder.Reshape(s, {-1, -1}, {}), StatusCode::kInvalidArgument, "only one extent may be -1");
  ExpectError(builder.Reshape(s, {-1, 5}, {}), StatusCode::kInvalidArgument, "the element counts differ");
  ExpectError(builder.Reshape(s, {0, -1}, {}), StatusCode::kInvalidArgument, "at least 1, or -1 once");
  ExpectError(builder.Reshape(x, {-1, 8}, {}), StatusCode::kTypeMismatch,
              "Dynamic shape tensors are not allowed as operation operands");
  ExpectError(builder.Reshape(77, {4}, {}), StatusCode::kInvalidArgument, "tensor 77");
  ExpectError(builder.Reshape(s, {int64_t{1} << 62, 8}, {}), StatusCode::kInvalidArgument, "the element counts differ");
}

TEST_F(ViewTest, ReshapeCarriesTheValidBox) {
  const TensorId a = Tail(s, {4, 16}, Const(1));  // [4, 16], 3 rows valid
  // Dims of 1 come and go.
  EXPECT_THAT(Valid(Made(builder.Reshape(a, {1, 4, 1, 16}, {}))), ElementsAre(1, 3, 1, 16));
  // Whole rows stay a prefix.
  EXPECT_THAT(Valid(Made(builder.Reshape(a, {64}, {}))), ElementsAre(48));
  EXPECT_THAT(Valid(Made(builder.Reshape(a, {8, 8}, {}))), ElementsAre(6, 8));
  EXPECT_THAT(Valid(Made(builder.Reshape(a, {4, 2, 8}, {}))), ElementsAre(3, 2, 8));
  // 48 of 64 cells are no box of [2, 32].
  EXPECT_THAT(Valid(Made(builder.Reshape(a, {2, 32}, {}))), ElementsAre(2, 32));
  EXPECT_THAT(Valid(Made(builder.Reshape(a, {2, 32}, {Const(1), Const(32)}))), ElementsAre(1, 32));
  ExpectError(builder.Reshape(a, {2, 32}, {Const(1)}), StatusCode::kInvalidArgument, "rank mismatch");
  // Valid columns only: no prefix.
  const TensorId narrow = Made(builder.Slice(s, {4, 16}, {zero, Const(4)}, {}));
  EXPECT_THAT(Valid(Made(builder.Reshape(narrow, {64}, {}))), ElementsAre(64));
  // One row and some of its columns are one.
  const TensorId part = Made(builder.Slice(s, {4, 16}, {Const(3), Const(4)}, {}));
  EXPECT_THAT(Valid(Made(builder.Reshape(part, {64}, {}))), ElementsAre(12));
  const TensorId row = Made(builder.Reshape(part, {4, 4, 4}, {}));
  EXPECT_THAT(Valid(row), ElementsAre(1, 3, 4));
}

TEST_F(ViewTest, ReshapeOfSymbolicRows) {
  const TensorId tail = Tail(x, {32, 16}, k);
  EXPECT_EQ(ValidText(Made(builder.Reshape(tail, {512}, {})), 0),
            "(RUNTIME_Min(RUNTIME_Max((symbol0-scalar0), 0), 32)*16)");
  EXPECT_EQ(ValidText(Made(builder.Reshape(tail, {32, 4, 4}, {})), 0), ValidText(tail, 0));
  const TensorId flat = Made(builder.Reshape(tail, {512}, {}));
  EXPECT_EQ(builder.tensor(Made(builder.Reshape(flat, {32, 16}, {}))).valid, builder.tensor(tail).valid);
  EXPECT_THAT(Valid(Made(builder.Reshape(tail, {16, 32}, {}))), ElementsAre(16, 32));
  // A dropped row that may lie past the end empties the result.
  const TensorId row = Made(builder.Reshape(Tail(x, {1, 16}, k), {16}, {}));
  EXPECT_EQ(ValidText(row, 0), "(RUNTIME_Min(RUNTIME_Max((symbol0-scalar0), 0), 1)*16)");
}

TEST_F(ViewTest, MoveChecksItsTarget) {
  const TensorId t = Made(builder.Declare("t", kF32, builder.tensor(s).shape));
  const TensorId half = Made(builder.Declare("half", DType::kFp16, builder.tensor(s).shape));
  const TensorId twice = Made(builder.Op(OpCode::kAdd, {Tensor(s), Tensor(s)}, {}));
  EXPECT_TRUE(builder.Move(t, twice).ok());
  EXPECT_TRUE(builder.Move(s, t).ok());
  ExpectError(builder.Move(half, twice), StatusCode::kTypeMismatch,
              "move(): dtypes must match, the destination is DT_FP16");
  ExpectError(builder.Move(w, twice), StatusCode::kInvalidArgument,
              "move(): shapes must match, the destination is [16, 8], the source [4, 16]");
  ExpectError(builder.Move(twice, t), StatusCode::kInvalidArgument, "only parameters and declared tensors");
  ExpectError(builder.Move(t, 99), StatusCode::kInvalidArgument, "tensor 99");
  ExpectError(builder.Move(99, t), StatusCode::kInvalidArgument, "tensor 99");
  const TensorId open = Made(builder.Declare("open", kF32, builder.tensor(x).shape));
  ExpectError(builder.Move(open, x), StatusCode::kTypeMismatch, "Dynamic shape tensors are not allowed");
  // A tensor onto itself changes nothing.
  const size_t statements = builder.program().body.statements.size();
  EXPECT_TRUE(builder.Move(t, t).ok());
  EXPECT_EQ(builder.program().body.statements.size(), statements);
}

TEST_F(ViewTest, AssembleChecksItsTarget) {
  const TensorId block = Tail(x, {32, 16}, k);
  EXPECT_TRUE(builder.Assemble(x, block, {k, zero}).ok());
  ExpectError(builder.Assemble(x, x, {zero, zero}), StatusCode::kTypeMismatch,
              "Assemble: shape of src tensor requires integer");
  ExpectError(builder.Assemble(x, block, {zero}), StatusCode::kInvalidArgument, "rank mismatch: 1 offsets");
  ExpectError(builder.Assemble(x, block, {Const(-1), zero}), StatusCode::kOutOfRange,
              "assemble(): offset -1 in dim 0 is negative");
  ExpectError(builder.Assemble(block, block, {zero, zero}), StatusCode::kInvalidArgument, "can be written");
  const TensorId row = Made(builder.Reshape(s, {64}, {}));
  ExpectError(builder.Assemble(x, row, {zero, zero}), StatusCode::kInvalidArgument,
              "assemble(): rank mismatch: the destination is [?, 16], the source [64]");
  const TensorId half = Made(builder.Declare("half", DType::kFp16, builder.tensor(s).shape));
  ExpectError(builder.Assemble(half, block, {zero, zero}), StatusCode::kTypeMismatch, "assemble(): dtypes must match");
}

}  // namespace
}  // namespace pypto::program
