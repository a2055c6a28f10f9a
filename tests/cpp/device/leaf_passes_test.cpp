// Passes over the operations of a leaf: readers that are gathered behind what they read, and cheap values that are
// computed again behind a reduction.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "pypto/device/op_order.h"
#include "pypto/device/recompute.h"

namespace pypto::device {
namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kColumns = 16;

constexpr OperandProgram Operand(Source source, uint32_t index) { return {source, index}; }

// A vector leaf of [kRows, kColumns]; operations are known by their place, the order in which they were added.
class Leaf {
 public:
  Leaf() {
    program.kind = program::LeafKind::kVector;
    program.rank = 2;
    program.extents = {kRows, kColumns};
  }

  OperandProgram Access(uint32_t storage, simd::Format format = simd::kF32, bool is_parameter = false) {
    AccessProgram access;
    access.storage = storage;
    access.is_parameter = is_parameter;
    access.format = format;
    access.extents = {kRows, kColumns};
    access.constant_strides = {kColumns, 1};
    access.has_constant_strides = true;
    program.accesses.push_back(access);
    return Operand(Source::kAccess, static_cast<uint32_t>(program.accesses.size() - 1));
  }

  OperandProgram Local(int64_t rows = kRows, int64_t columns = kColumns) {
    LocalProgram local;
    local.extents = {rows, columns};
    program.locals.push_back(local);
    return Operand(Source::kLocal, static_cast<uint32_t>(program.locals.size() - 1));
  }

  OperandProgram Number() {
    program.numbers.emplace_back();
    return Operand(Source::kNumber, static_cast<uint32_t>(program.numbers.size() - 1));
  }

  OpProgram& Op(Action action, std::initializer_list<OperandProgram> inputs, OperandProgram output) {
    OpProgram op;
    op.action = action;
    for (const OperandProgram& input : inputs) op.inputs[op.input_count++] = input;
    op.output = output;
    op.varies = {true, true};
    op.place = static_cast<uint32_t>(program.ops.size());
    program.ops.push_back(op);
    return program.ops.back();
  }

  OperandProgram Compute(simd::ElementwiseKernel kernel, std::initializer_list<OperandProgram> inputs) {
    const OperandProgram output = Local();
    Op(Action::kCompute, inputs, output).kernel = kernel;
    return output;
  }

  // Along the rows.
  OperandProgram Reduce(OperandProgram input) {
    const OperandProgram output = Local(kRows, 1);
    OpProgram& op = Op(Action::kReduce, {input}, output);
    op.axis = 1;
    op.varies = {true, false};
    return output;
  }

  OperandProgram Widen(OperandProgram input) {
    const OperandProgram output = Local();
    Op(Action::kCast, {input}, output).input = simd::kBf16;
    return output;
  }

  std::vector<uint32_t> Order() const {
    std::vector<uint32_t> places;
    for (const OpProgram& op : program.ops) places.push_back(op.place);
    return places;
  }

  std::vector<uint32_t> Gathered() {
    GatherReaders(&program);
    return Order();
  }

  std::vector<uint32_t> Recomputed() {
    RecomputeCheapValues(&program);
    return Order();
  }

  LeafProgram program;
};

using Places = std::vector<uint32_t>;

bool Same(const OperandProgram& a, const OperandProgram& b) { return a.source == b.source && a.index == b.index; }

TEST(GatherReaders, MoveUpBehindWhatTheyRead) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  const OperandProgram b = leaf.Compute(simd::kElementwiseLog, {leaf.Access(1)});
  leaf.Compute(simd::kElementwiseNeg, {a});
  leaf.Compute(simd::kElementwiseAbs, {b});
  EXPECT_EQ(leaf.Gathered(), (Places{0, 2, 1, 3}));
}

TEST(GatherReaders, FollowWhatJoinedBefore) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  leaf.Compute(simd::kElementwiseLog, {leaf.Access(1)});
  const OperandProgram c = leaf.Compute(simd::kElementwiseNeg, {a});
  leaf.Compute(simd::kElementwiseLog, {leaf.Access(2)});
  leaf.Compute(simd::kElementwiseAbs, {c});
  EXPECT_EQ(leaf.Gathered(), (Places{0, 2, 4, 1, 3}));
}

TEST(GatherReaders, AReductionJoinsButItsReadersWaitForTheRow) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  const OperandProgram b = leaf.Compute(simd::kElementwiseLog, {leaf.Access(1)});
  const OperandProgram sum = leaf.Reduce(a);
  leaf.Compute(simd::kElementwiseNeg, {b});
  leaf.Compute(simd::kElementwiseDiv, {a, sum});
  EXPECT_EQ(leaf.Gathered(), (Places{0, 2, 1, 3, 4}));
}

TEST(GatherReaders, StayBehindWhatTheyAlsoRead) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  const OperandProgram b = leaf.Compute(simd::kElementwiseLog, {leaf.Access(1)});
  leaf.Compute(simd::kElementwiseAdd, {a, b});
  EXPECT_EQ(leaf.Gathered(), (Places{0, 1, 2}));
}

TEST(GatherReaders, OfOtherCellsStay) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  leaf.Compute(simd::kElementwiseLog, {leaf.Access(1)});
  leaf.Op(Action::kCompute, {a}, leaf.Local(1, kColumns)).varies = {false, true};
  EXPECT_EQ(leaf.Gathered(), (Places{0, 1, 2}));
}

// Whether the last of three operations comes second: the first one is read by it, the one between goes from one tensor
// to another.
bool PassesStoreOf(uint32_t stored, uint32_t read, uint32_t to, bool parameters) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  const OperandProgram between = leaf.Access(read, simd::kF32, parameters);
  leaf.Op(Action::kCompute, {between}, leaf.Access(stored, simd::kF32, parameters));
  leaf.Op(Action::kCompute, {a}, leaf.Access(to, simd::kF32, parameters));
  return leaf.Gathered() == Places{0, 2, 1};
}

TEST(GatherReaders, PassNoStoreOrLoadOfTheSameTensor) {
  EXPECT_TRUE(PassesStoreOf(2, 1, 3, false));
  EXPECT_FALSE(PassesStoreOf(2, 1, 2, false));
  EXPECT_FALSE(PassesStoreOf(2, 3, 3, false));
  EXPECT_FALSE(PassesStoreOf(2, 1, 3, true)) << "tensors of the caller may lie over one another";
}

TEST(GatherReaders, OfAValueThatIsMadeAgainKeepToTheLastOne) {
  Leaf leaf;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  leaf.Op(Action::kCompute, {leaf.Access(1)}, a);
  leaf.Compute(simd::kElementwiseNeg, {a});
  EXPECT_EQ(leaf.Gathered(), (Places{0, 1, 2}));
}

TEST(GatherReaders, AreThoseOfVectorLeaves) {
  Leaf leaf;
  leaf.program.kind = program::LeafKind::kCube;
  const OperandProgram a = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  leaf.Compute(simd::kElementwiseLog, {leaf.Access(1)});
  leaf.Compute(simd::kElementwiseNeg, {a});
  EXPECT_EQ(leaf.Gathered(), (Places{0, 1, 2}));
}

TEST(Recompute, ReadersBehindAReductionGetAValueOfTheirOwn) {
  Leaf leaf;
  const OperandProgram scaled = leaf.Compute(simd::kElementwiseMul, {leaf.Access(0), leaf.Number()});
  const OperandProgram sum = leaf.Reduce(scaled);
  leaf.Compute(simd::kElementwiseSub, {scaled, sum});
  leaf.Compute(simd::kElementwiseMul, {scaled, scaled});
  ASSERT_EQ(leaf.Recomputed(), (Places{0, 1, 0, 2, 3}));
  const std::vector<OpProgram>& ops = leaf.program.ops;
  EXPECT_TRUE(Same(ops[1].inputs[0], scaled));
  EXPECT_FALSE(Same(ops[2].output, scaled));
  EXPECT_TRUE(Same(ops[2].inputs[0], ops[0].inputs[0]) && Same(ops[2].inputs[1], ops[0].inputs[1]));
  EXPECT_TRUE(Same(ops[3].inputs[0], ops[2].output));
  EXPECT_TRUE(Same(ops[3].inputs[1], sum));
  EXPECT_TRUE(Same(ops[4].inputs[0], ops[2].output) && Same(ops[4].inputs[1], ops[2].output));
  EXPECT_EQ(leaf.program.locals[ops[2].output.index].extents, leaf.program.locals[scaled.index].extents);
}

TEST(Recompute, EachReductionEndsWhatIsHandedOn) {
  Leaf leaf;
  const OperandProgram x = leaf.Access(0);
  const OperandProgram most = leaf.Reduce(x);
  const OperandProgram centred = leaf.Compute(simd::kElementwiseSub, {x, most});
  const OperandProgram first = leaf.Reduce(centred);
  const OperandProgram second = leaf.Compute(simd::kElementwiseMul, {centred, first});
  leaf.Reduce(second);
  leaf.Compute(simd::kElementwiseAdd, {centred, first});
  EXPECT_EQ(leaf.Recomputed(), (Places{0, 1, 2, 1, 3, 4, 1, 5}));
}

TEST(Recompute, OnlyWhatIsCheapAndOnlyBehindAReduction) {
  Leaf leaf;
  const OperandProgram slow = leaf.Compute(simd::kElementwiseExp, {leaf.Access(0)});
  const OperandProgram of_two = leaf.Compute(simd::kElementwiseAdd, {leaf.Access(1), leaf.Access(2)});
  const OperandProgram cheap = leaf.Compute(simd::kElementwiseAdd, {leaf.Access(3), leaf.Number()});
  leaf.Compute(simd::kElementwiseMul, {cheap, of_two});
  const OperandProgram sum = leaf.Reduce(slow);
  leaf.Compute(simd::kElementwiseSub, {slow, sum});
  leaf.Compute(simd::kElementwiseSub, {of_two, sum});
  EXPECT_EQ(leaf.Recomputed(), (Places{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Recompute, NothingThatAStoreMayChange) {
  Leaf leaf;
  const OperandProgram scaled = leaf.Compute(simd::kElementwiseMul, {leaf.Access(0), leaf.Number()});
  const OperandProgram sum = leaf.Reduce(scaled);
  leaf.Op(Action::kCompute, {sum}, leaf.Access(0));
  leaf.Compute(simd::kElementwiseSub, {scaled, sum});
  EXPECT_EQ(leaf.Recomputed(), (Places{0, 1, 2, 3}));
}

TEST(Recompute, ReadersOnBothSidesOfAReductionWidenThemselves) {
  Leaf leaf;
  const OperandProgram x = leaf.Access(0, simd::kBf16);
  const OperandProgram wide = leaf.Widen(x);
  const OperandProgram sum = leaf.Reduce(wide);
  leaf.Compute(simd::kElementwiseSub, {wide, sum});
  ASSERT_EQ(leaf.Recomputed(), (Places{1, 2}));
  EXPECT_TRUE(Same(leaf.program.ops[0].inputs[0], x));
  EXPECT_TRUE(Same(leaf.program.ops[1].inputs[0], x));
}

TEST(Recompute, WidenedValuesStayWhereTheyAreHandedOnOrSelected) {
  Leaf handed;
  const OperandProgram wide = handed.Widen(handed.Access(0, simd::kBf16));
  handed.Compute(simd::kElementwiseNeg, {wide});
  handed.Reduce(wide);
  EXPECT_EQ(handed.Recomputed(), (Places{0, 1, 2}));

  Leaf selected;
  const OperandProgram other = selected.Widen(selected.Access(0, simd::kBf16));
  const OperandProgram sum = selected.Reduce(other);
  selected.Op(Action::kCompute, {selected.Number(), other, sum}, selected.Local()).selects = true;
  EXPECT_EQ(selected.Recomputed(), (Places{0, 1, 2}));
}

TEST(Recompute, WidenedValuesStayWithoutAReduction) {
  Leaf leaf;
  const OperandProgram wide = leaf.Widen(leaf.Access(0, simd::kBf16));
  leaf.Compute(simd::kElementwiseNeg, {wide});
  leaf.Compute(simd::kElementwiseAbs, {wide});
  EXPECT_EQ(leaf.Recomputed(), (Places{0, 1, 2}));
}

}  // namespace
}  // namespace pypto::device
