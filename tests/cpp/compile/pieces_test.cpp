// Tensors made of pieces and then copied: the pieces are written where the copy would go, if nobody can tell.
#include "compile/kernel.h"
#include "compile/machine.h"

namespace pypto::compile::testing {
namespace {

// Two halves of [4, 8], side by side in a declared tensor.
struct Halves {
  Kernel k;
  TensorId x = k.Param("x", {4, 4});
  TensorId y = k.Param("y", {4, 4});
  TensorId out = k.Param("out", {4, 8});
  TensorId wide = k.Param("wide", {6, 10});
  TensorId both = k.Declare("both", {4, 8});

  void Write(TensorId left, TensorId right) {
    k.Assemble(both, left, k.Consts({0, 0}));
    k.Assemble(both, right, k.Consts({0, 4}));
  }
};

std::vector<double> Numbers(size_t count, double first) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<double>(i);
  return values;
}

TEST(Pieces, AreWrittenWhereTheCopyWouldGo) {
  Halves h;
  h.Write(h.x, h.y);
  h.k.Move(h.out, h.both);
  const auto image = h.k.CompileImage();
  EXPECT_FALSE(HasStorage(image->plan, "both"));
  EXPECT_EQ(CountClass(image->plan, TensorClass::kRootInner), 0U);
  EXPECT_EQ(image->plan.parameters[2].direction, program::Direction::kOut);
  Memory memory = {Numbers(16, 0), Numbers(16, 100), Numbers(32, 900), Numbers(60, 0)};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 4; ++column) {
      EXPECT_EQ(memory[2][row * 8 + column], static_cast<double>(row * 4 + column));
      EXPECT_EQ(memory[2][row * 8 + 4 + column], static_cast<double>(100 + row * 4 + column));
    }
  }
}

// What `concat` gives is a view of all that it has written.
TEST(Pieces, AreSeenThroughAViewOfTheWhole) {
  Halves h;
  h.Write(h.x, h.y);
  h.k.Move(h.out, h.k.Slice(h.both, {4, 8}, h.k.Consts({0, 0})));
  const auto image = h.k.CompileImage();
  EXPECT_FALSE(HasStorage(image->plan, "both"));
  Memory memory = {Numbers(16, 0), Numbers(16, 100), Numbers(32, 900), Numbers(60, 0)};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
  EXPECT_EQ(memory[2][8 + 1], 5);
  EXPECT_EQ(memory[2][8 + 4], 104);
}

TEST(Pieces, StayWhereAViewIsTakenBeforeTheLastOfThem) {
  Halves h;
  h.k.Assemble(h.both, h.x, h.k.Consts({0, 0}));
  const auto before = h.k.Slice(h.both, {4, 8}, h.k.Consts({0, 0}));
  h.k.Assemble(h.both, h.y, h.k.Consts({0, 4}));
  h.k.Move(h.out, before);
  EXPECT_TRUE(HasStorage(h.k.CompileImage()->plan, "both"));
}

TEST(Pieces, GoToAPartOfTheTargetToo) {
  Halves h;
  h.Write(h.k.Neg(h.x), h.y);
  h.k.Assemble(h.wide, h.both, h.k.Consts({1, 2}));
  const auto image = h.k.CompileImage();
  EXPECT_FALSE(HasStorage(image->plan, "both"));
  Memory memory = {Numbers(16, 0), Numbers(16, 100), Numbers(32, 900), std::vector<double>(60, 7)};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
  EXPECT_EQ(memory[3][10 + 2 + 1], -1);
  EXPECT_EQ(memory[3][10 + 6], 100);
  EXPECT_EQ(memory[3][10 + 1], 7);
  EXPECT_EQ(memory[3][0], 7);
}

TEST(Pieces, StayWhereTheyLeaveAGap) {
  Halves h;
  h.k.Assemble(h.both, h.x, h.k.Consts({0, 0}));
  h.k.Assemble(h.both, h.x, h.k.Consts({0, 3}));
  h.k.Move(h.out, h.both);
  EXPECT_TRUE(HasStorage(h.k.CompileImage()->plan, "both"));
}

TEST(Pieces, StayWhereTheTensorOutlivesAnIteration) {
  Halves h;
  h.k.Loop(0, 2, 1, [&](ExprId) {
    h.Write(h.x, h.y);
    h.k.Move(h.out, h.both);
  });
  EXPECT_TRUE(HasStorage(h.k.CompileImage()->plan, "both"));
}

TEST(Pieces, StayWhereSomebodyElseReadsTheWhole) {
  Halves h;
  h.Write(h.x, h.y);
  h.k.Move(h.out, h.both);
  h.k.Assemble(h.wide, h.k.Neg(h.both), h.k.Consts({0, 0}));
  EXPECT_TRUE(HasStorage(h.k.CompileImage()->plan, "both"));
}

// The right half is made of what the target held before.
TEST(Pieces, StayWhereTheTargetIsReadInBetween) {
  Halves h;
  h.k.Assemble(h.both, h.x, h.k.Consts({0, 0}));
  h.k.Assemble(h.both, h.k.Neg(h.k.Slice(h.out, {4, 4}, h.k.Consts({0, 0}))), h.k.Consts({0, 4}));
  h.k.Move(h.out, h.both);
  const auto image = h.k.CompileImage();
  EXPECT_TRUE(HasStorage(image->plan, "both"));
  Memory memory = {Numbers(16, 0), Numbers(16, 100), Numbers(32, 900), Numbers(60, 0)};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
  EXPECT_EQ(memory[2][0], 0);
  EXPECT_EQ(memory[2][4], -900);
}

TEST(Pieces, OfPiecesGoToTheTargetAsWell) {
  Kernel k;
  const TensorId x = k.Param("x", {4, 2});
  const TensorId out = k.Param("out", {4, 8});
  const TensorId halves[] = {k.Declare("left", {4, 4}), k.Declare("right", {4, 4})};
  const TensorId both = k.Declare("both", {4, 8});
  for (int64_t i = 0; i < 2; ++i) {
    k.Assemble(halves[i], x, k.Consts({0, 0}));
    k.Assemble(halves[i], x, k.Consts({0, 2}));
    k.Assemble(both, halves[i], k.Consts({0, 4 * i}));
  }
  k.Move(out, both);
  const auto image = k.CompileImage();
  EXPECT_FALSE(HasStorage(image->plan, "both"));
  Memory memory = {Numbers(8, 1), std::vector<double>(32, 0)};
  EXPECT_TRUE(RunPlan(image->plan, {}, memory).complaints.empty());
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(memory[1][i], static_cast<double>(1 + i % 2));
}

}  // namespace
}  // namespace pypto::compile::testing
