// The verifier: programs that no builder makes.
#include "program/builder_fixture.h"

namespace pypto::program {
namespace {

using base::StatusCode;

constexpr auto kF32 = DType::kFp32;

class VerifyTest : public BuilderTest {
 protected:
  // out = x + x inside a loop over 4, with a view and a store.
  Program Sound() {
    const uint32_t file = builder.AddFile({"kernel.py", "", "", 0});
    const TensorId x = Parameter("x", kF32, {4, 8});
    const TensorId out = Parameter("out", kF32, {4, 8});
    ExprPool& pool = builder.exprs();
    builder.SetPlace({file, 5, 1});
    const TensorId t = Made(builder.Declare("t", kF32, builder.tensor(x).shape));
    const ExprId i = *builder.BeginLoop("i", pool.Const(0), pool.Const(4), pool.Const(1), false, false);
    builder.SetPlace({file, 6, 1});
    const TensorId row = Tail(x, {1, 8}, i);
    const TensorId sum = Made(builder.Op(OpCode::kAdd, {Tensor(row), Tensor(row)}, {}));
    EXPECT_TRUE(builder.Assemble(t, sum, {i, pool.Const(0)}).ok());
    EXPECT_TRUE(builder.EndLoop().ok());
    builder.SetPlace({file, 9, 1});
    EXPECT_TRUE(builder.Move(out, t).ok());
    auto program = builder.Finish();
    EXPECT_TRUE(program.ok()) << program.status().ToString();
    return *std::move(program);
  }
  static LoopStatement& Loop(Program& program) { return std::get<LoopStatement>(program.body.statements[1]); }
  template <typename T>
  static T& InLoop(Program& program, size_t index) {
    return std::get<T>(Loop(program).body->statements[index]);
  }
  static void Refused(const Program& program, const std::string& text) {
    ExpectError(Verify(program), StatusCode::kCompile, text);
  }
};

TEST_F(VerifyTest, AcceptsWhatTheBuilderMakes) { EXPECT_TRUE(Verify(Sound()).ok()); }

TEST_F(VerifyTest, ErrorsCarryTheSourcePlace) {
  Program program = Sound();
  std::get<MoveStatement>(program.body.statements[2]).source = 4;
  const base::Status status = Verify(program);
  EXPECT_EQ(status.source_line(), 9);
  EXPECT_EQ(status.source_file(), "kernel.py");
}

TEST_F(VerifyTest, RefusesIdsOutOfRange) {
  Program program = Sound();
  InLoop<OpStatement>(program, 1).inputs[0].tensor = 77;
  Refused(program, "tensor 77 does not exist");
  InLoop<OpStatement>(program, 1).inputs[0].tensor = 3;
  InLoop<ViewStatement>(program, 0).offsets[0] = 999;
  Refused(program, "expression 999 does not exist");
  program = Sound();
  program.tensors[0].valid[0] = 888;
  Refused(program, "tensor 'x' has a dim that does not exist");
  program.tensors[0].valid.pop_back();
  Refused(program, "tensor 'x' has rank 2 and 1 valid extents");
}

TEST_F(VerifyTest, RefusesWhatIsNotDefined) {
  Program program = Sound();
  // The sum of the loop body does not live behind the loop.
  std::get<MoveStatement>(program.body.statements[2]).source = 4;
  Refused(program, "tensor '%4' is used where it is not defined");
  program.body.statements.erase(program.body.statements.begin());
  Refused(program, "tensor 't' is used where it is not defined");
}

TEST_F(VerifyTest, RefusesLoopIndicesOutsideTheirLoop) {
  Program program = Sound();
  const ExprId i = program.exprs.LoopIndex(0);
  Loop(program).stop = program.exprs.Add(i, program.exprs.Const(1));
  Refused(program, "the index of loop 0 is used outside of it");
  Loop(program).stop = program.exprs.Const(4);
  program.tensors[2].shape[0] = program.exprs.Add(i, program.exprs.Const(1));
  Refused(program, "the shape of tensor 't' depends on a loop index");
}

TEST_F(VerifyTest, RefusesResultsThatDoNotFollow) {
  Program program = Sound();
  program.tensors[4].dtype = DType::kFp16;
  Refused(program, "add(): the output is [1, 8] of DT_FP16, the inputs give [1, 8] of DT_FP32");
  program.tensors[4].dtype = kF32;
  program.tensors[4].shape[1] = program.exprs.Const(9);
  Refused(program, "add(): the output is [1, 9] of DT_FP32");
  program.tensors[4].shape[1] = program.exprs.Symbol(0);
  program.symbols.push_back({"n", 0, 0});
  Refused(program, "a result has a dynamic dim");
}

TEST_F(VerifyTest, RefusesBadStatements) {
  Program program = Sound();
  Loop(program).step = program.exprs.Const(0);
  Refused(program, "the step must not be zero");
  Loop(program).step = program.exprs.Const(1);
  Loop(program).body.reset();
  Refused(program, "a loop without body");
  program = Sound();
  InLoop<AssembleStatement>(program, 2).offsets.pop_back();
  Refused(program, "rank mismatch");
  program = Sound();
  InLoop<AssembleStatement>(program, 2).destination = 3;
  Refused(program, "only parameters and declared tensors can be written");
  program = Sound();
  InLoop<ViewStatement>(program, 0).offsets[0] = program.exprs.Const(-2);
  Refused(program, "an offset is negative");
  program = Sound();
  InLoop<OpStatement>(program, 1).output = 3;
  Refused(program, "tensor 3 is not of that origin");
  program = Sound();
  InLoop<OpStatement>(program, 1).inputs.pop_back();
  Refused(program, "add() takes 2 operand(s), got 1");
}

TEST_F(VerifyTest, RefusesSignaturesThatDoNotFit) {
  Program program = Sound();
  program.parameters[0].dtype = DType::kFp16;
  Refused(program, "parameter 'x' does not fit its tensor");
  program = Sound();
  program.parameters[1].tensor = 90;
  Refused(program, "parameter 'out' has no tensor");
  program = Sound();
  program.symbols.push_back({"n", 0, 5});
  Refused(program, "symbol 'n' is read from a dim that does not exist");
}

TEST_F(VerifyTest, RefusesDeepNesting) {
  ExprPool& pool = builder.exprs();
  const int depth = 70;
  for (int i = 0; i < depth; ++i) {
    ASSERT_TRUE(builder.BeginLoop("l", pool.Const(0), pool.Const(1), pool.Const(1), false, false).ok());
  }
  for (int i = 0; i < depth; ++i) ASSERT_TRUE(builder.EndLoop().ok());
  ExpectError(builder.Finish(), StatusCode::kCompile, "nested more than 64 deep");
}

}  // namespace
}  // namespace pypto::program
