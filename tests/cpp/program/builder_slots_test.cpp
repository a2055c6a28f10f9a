// Reads of cells, slots and checks under construction, and other shapes of the same cells.
#include "program/builder_fixture.h"

namespace pypto::program {
namespace {

using base::StatusCode;
using testing::ElementsAre;

class SlotsTest : public BuilderTest {
 protected:
  TensorId table = Parameter("table", DType::kInt32, {4, 8});
  TensorId lengths = Parameter("lengths", DType::kUint8, {-1});
  TensorId x = Parameter("x", DType::kFp32, {-1, 4, 8});
  ExprId Const(int64_t value) { return builder.exprs().Const(value); }
};

TEST_F(SlotsTest, ACellIsAnIntegerOfItsDType) {
  const ExprId cell = *builder.ReadCell(lengths, {Const(2)});
  EXPECT_EQ(builder.exprs().Range(cell), (std::pair<int64_t, int64_t>{0, 255}));
  EXPECT_EQ(builder.exprs().Range(*builder.ReadCell(table, {Const(0), Const(1)})).first, INT32_MIN);
  EXPECT_TRUE(builder.Finish().ok());
}

TEST_F(SlotsTest, EqualReadsAreOneUntilTheTensorIsWritten) {
  const ExprId first = *builder.ReadCell(table, {Const(0), Const(1)});
  EXPECT_EQ(*builder.ReadCell(table, {Const(0), Const(1)}), first);
  EXPECT_NE(*builder.ReadCell(table, {Const(0), Const(2)}), first);
  Operand seven = Int(7);
  const TensorId cell = Made(builder.Fill(seven, DType::kInt32, {1, 1}, {}));
  ASSERT_TRUE(builder.Assemble(table, cell, {Const(0), Const(0)}).ok());
  const ExprId second = *builder.ReadCell(table, {Const(0), Const(1)});
  EXPECT_NE(second, first);
  // What a branch reads is not known behind it; a loop may write anything.
  ASSERT_TRUE(builder.BeginIf(second).ok());
  EXPECT_EQ(*builder.ReadCell(table, {Const(0), Const(1)}), second);
  const ExprId inside = *builder.ReadCell(table, {Const(3), Const(3)});
  ASSERT_TRUE(builder.EndIf().ok());
  EXPECT_NE(*builder.ReadCell(table, {Const(3), Const(3)}), inside);
  ASSERT_TRUE(builder.BeginLoop("i", Const(0), Const(3), Const(1), false, false).ok());
  EXPECT_NE(*builder.ReadCell(table, {Const(0), Const(1)}), second);
}

TEST_F(SlotsTest, ReadsThatCannotBe) {
  ExpectError(builder.ReadCell(x, {Const(0), Const(0), Const(0)}), StatusCode::kTypeMismatch, "read a [1] slice");
  ExpectError(builder.ReadCell(table, {Const(0)}), StatusCode::kOutOfRange, "rank not match, expect 2, but got 1");
  ExpectError(builder.ReadCell(table, {Const(0), Const(8)}), StatusCode::kOutOfRange, "index 8 is out of range");
  ExpectError(builder.ReadCell(table, {Const(-1), Const(0)}), StatusCode::kOutOfRange, "index -1 is out of range");
  ExpectError(builder.SetSlots({{9, Const(0)}}), StatusCode::kInvalidArgument, "slot 9 does not belong");
  ExpectError(builder.Check(999, "text"), StatusCode::kInvalidArgument, "expression 999 does not belong");
}

TEST_F(SlotsTest, ASlotIsSetBeforeItIsUsed) {
  const uint32_t slot = builder.AddSlot("n", ScalarKind::kInt);
  ASSERT_TRUE(builder.BeginLoop("i", Const(0), builder.exprs().Slot(slot), Const(1), false, false).ok());
  ASSERT_TRUE(builder.EndLoop().ok());
  ExpectError(builder.Finish(), StatusCode::kCompile, "a slot is used before it is set");
}

TEST_F(SlotsTest, SizesDependOnNoSlot) {
  const ExprId cell = *builder.ReadCell(table, {Const(0), Const(1)});
  Made(builder.Declare("t", DType::kFp32, {cell}));
  ExpectError(builder.Finish(), StatusCode::kCompile, "known only while the kernel runs");
}

TEST_F(SlotsTest, AnAliasHasTheCellsOfItsBase) {
  const TensorId rows = Made(builder.Alias(x, {kNoExpr, Const(8)}));
  EXPECT_EQ(builder.exprs().ToText(builder.tensor(rows).shape[0], nullptr), "(symbol1*4)");
  const TensorId flat = Made(builder.Alias(rows, {kNoExpr}));
  EXPECT_EQ(builder.tensor(flat).base, x);
  ExpectError(builder.Alias(table, {Const(31)}), StatusCode::kInvalidArgument, "counts are not known to agree");
  const TensorId window = Tail(table, {2, 8}, Const(0));
  ExpectError(builder.Alias(window, {Const(16)}), StatusCode::kInvalidArgument, "derived from dynamic view");
  const TensorId ones = Made(builder.Fill(Float(1), DType::kFp32, {2, 8}, {}));
  EXPECT_TRUE(builder.Assemble(rows, ones, {Const(0), Const(0)}).ok());
  EXPECT_TRUE(builder.Finish().ok());
}

}  // namespace
}  // namespace pypto::program
