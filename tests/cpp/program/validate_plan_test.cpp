// Validation of plans: one unsound plan per rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "program/random_plan.h"
#include "pypto/program/plan.h"

namespace pypto::program {
namespace {

struct Case {
  const char* error;
  std::function<void(Plan&)> change;
};

Leaf& Vector(Plan& plan) { return plan.roots[0].leaves[0]; }
Leaf& Cube(Plan& plan) { return plan.roots[0].leaves[1]; }

void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    Plan plan = SamplePlan();
    one.change(plan);
    const base::Status status = ValidatePlan(plan);
    EXPECT_EQ(status.code(), base::StatusCode::kProgramFormat) << one.error;
    EXPECT_THAT(status.ToString(), testing::HasSubstr(one.error));
    // What is refused in memory is refused in a file.
    EXPECT_FALSE(ParsePlan(SerializePlan(plan)).ok()) << one.error;
  }
}

TEST(ValidatePlanTest, Signature) {
  ExpectAll({
      {"parameter 2 does not fit its scalar", [](Plan& p) { p.parameters[2].scalar = 9; }},
      {"parameter 3 does not fit its scalar", [](Plan& p) { p.parameters[3].scalar = 0; }},
      {"parameter 2 does not fit its scalar", [](Plan& p) { p.parameters[2].scalar_kind = ScalarKind::kFloat; }},
      {"a scalar belongs to no parameter", [](Plan& p) { p.scalars.push_back({"z", ScalarKind::kInt}); }},
      {"parameter 0 has rank 0", [](Plan& p) { p.parameters[0].dims.clear(); }},
      {"parameter 0 has rank 7", [](Plan& p) { p.parameters[0].dims.resize(7, {1, -1}); }},
      {"a dim of parameter 0", [](Plan& p) { p.parameters[0].dims[1].symbol = 5; }},
      {"a dim of parameter 0", [](Plan& p) { p.parameters[0].dims[1].value = 0; }},
      {"a dim of parameter 0", [](Plan& p) { p.parameters[0].dims[1].symbol = -2; }},
      {"symbol 0 does not stand", [](Plan& p) { p.symbols[0].axis = 1; }},
      {"symbol 0 does not stand", [](Plan& p) { p.symbols[0].parameter = 44; }},
  });
}

TEST(ValidatePlanTest, ExpressionsAndSizes) {
  ExpectAll({
      {"an expression names operand 3", [](Plan& p) { p.exprs.Symbol(3); }},
      {"an expression names operand 1", [](Plan& p) { p.exprs.Scalar(1); }},  // a floating one
      {"an expression names operand 8", [](Plan& p) { p.exprs.LoopIndex(8); }},
      {"loops", [](Plan& p) { p.loop_count = 1u << 30; }},
      {"a size names expression", [](Plan& p) { p.storages[0].bytes = kNoExpr; }},
      {"a size names expression", [](Plan& p) { p.storages[0].dims[0] = 9999; }},
      {"a size names expression", [](Plan& p) { p.workspace.unit_bytes[1] = kNoExpr; }},
      {"a size depends on a loop index", [](Plan& p) { p.workspace.boundary_bytes = p.exprs.LoopIndex(0); }},
      {"a size is negative", [](Plan& p) { p.storages[2].bytes = p.exprs.Const(-512); }},
      {"storage 1 does not fit its parameter", [](Plan& p) { p.storages[1].parameter = 2; }},
      {"storage 1 does not fit its parameter", [](Plan& p) { p.storages[1].dtype = DType::kFp16; }},
      {"storage 1 does not fit its parameter", [](Plan& p) { p.storages[1].parameter = -1; }},
      {"storage 2 is and is not a parameter", [](Plan& p) { p.storages[2].parameter = 0; }},
      {"storage 0 has no fit rank", [](Plan& p) { p.storages[0].dims.clear(); }},
      {"a workspace option", [](Plan& p) { p.options.stitch_function_max_num = 0; }},
      {"a workspace option", [](Plan& p) { p.options.stitch_function_num_per_pool[2] = 1025; }},
      {"a workspace option", [](Plan& p) { p.options.parallelism = 9; }},
  });
}

TEST(ValidatePlanTest, RootFunctions) {
  ExpectAll({
      {"takes storage 3", [](Plan& p) { p.roots[0].root_inner = {3}; }},
      {"takes storage 2", [](Plan& p) { p.roots[0].root_inner = {2, 2}; }},
      {"reads storage 99", [](Plan& p) { p.roots[0].reads.push_back(99); }},
      {"reads storage 2", [](Plan& p) { p.roots[0].reads.push_back(2); }},
      {"writes storage 99", [](Plan& p) { p.roots[0].writes[0].storage = 99; }},
      {"leaves storage 1 alive", [](Plan& p) { p.roots[0].live_after = {1}; }},
      {"are out of order", [](Plan& p) { std::swap(p.roots[0].exprs[0], p.roots[0].exprs[1]); }},
      {"are out of order", [](Plan& p) { p.roots[0].exprs.push_back(100000); }},
      {"lack an operand", [](Plan& p) { p.roots[0].exprs.erase(p.roots[0].exprs.begin()); }},
      {"which its root function does not list", [](Plan& p) { p.roots[0].exprs.pop_back(); }},
      {"root-inner storage 2", [](Plan& p) { p.roots[0].root_inner.clear(); }},
      {"storage 0 is read", [](Plan& p) { p.roots[0].reads = {3}; }},
      {"storage 4 is written", [](Plan& p) { p.roots[0].writes.pop_back(); }},
  });
}

TEST(ValidatePlanTest, LeafSpaces) {
  ExpectAll({
      {"a leaf has rank 0", [](Plan& p) { Vector(p).extents.clear(); }},
      {"a leaf has rank 2 and a tile of rank 1", [](Plan& p) { Vector(p).tile.pop_back(); }},
      {"dim 0 of a leaf has extent 0", [](Plan& p) { Vector(p).extents[0] = 0; }},
      {"dim 1 of a leaf has extent 8 and tile 9", [](Plan& p) { Vector(p).tile[1] = 9; }},
      {"exceeds 63 bits", [](Plan& p) { Vector(p).extents = {int64_t{1} << 40, int64_t{1} << 40}; }},
      {"more than 2^26 elements", [](Plan& p) { Vector(p).extents[0] = Vector(p).tile[0] = 1 << 30; }},
      {"K of a leaf", [](Plan& p) { Vector(p).k_extent = 4; }},
      {"K of a leaf", [](Plan& p) { Cube(p).k_tile = 9; }},
      {"K of a leaf", [](Plan& p) { Cube(p).k_extent = 0; }},
      {"a leaf has no operation", [](Plan& p) { Vector(p).ops.clear(); }},
      {"a leaf uses expression", [](Plan& p) { Vector(p).guard = 77777; }},
      {"an access names storage 50", [](Plan& p) { Vector(p).accesses[0].storage = 50; }},
      {"an access has 1 strides", [](Plan& p) { Vector(p).accesses[0].strides.pop_back(); }},
      {"an operand of rank 3", [](Plan& p) { Vector(p).accesses[0].extents.push_back(1); }},
      {"an operand has extent 4 in a dim of extent 8", [](Plan& p) { Vector(p).accesses[0].extents[1] = 4; }},
      {"checks too many starts", [](Plan& p) { Vector(p).accesses[0].non_negative.resize(100); }},
      {"a local value has 1 valid extents", [](Plan& p) { Vector(p).locals[0].valid.pop_back(); }},
      {"local values of one tile",
       [](Plan& p) {
         Vector(p).extents[0] = Vector(p).tile[0] = 1 << 22;
         for (Access& access : Vector(p).accesses) access.extents[0] = 1 << 22;
         Vector(p).locals[0].extents[0] = 1 << 22;
         Vector(p).locals.resize(3, Vector(p).locals[0]);
       }},
  });
}

TEST(ValidatePlanTest, VectorOperations) {
  ExpectAll({
      {"operation 7 is unknown", [](Plan& p) { Vector(p).ops[0].code = static_cast<OpCode>(7); }},
      {"an operation has 1 inputs", [](Plan& p) { Vector(p).ops[0].inputs.pop_back(); }},
      {"names access 9", [](Plan& p) { Vector(p).ops[0].inputs[0].index = 9; }},
      {"names local value 5", [](Plan& p) { Vector(p).ops[0].output.index = 5; }},
      {"names floating scalar 0", [](Plan& p) { Vector(p).ops[2].inputs[1].index = 0; }},
      {"names floating scalar 7", [](Plan& p) { Vector(p).ops[2].inputs[1].index = 7; }},
      {"an operation on numbers only", [](Plan& p) { Vector(p).ops[0].inputs[0].kind = ValueRef::Kind::kInt; }},
      {"a number where it takes a tensor", [](Plan& p) { Vector(p).ops[1].inputs[0].kind = ValueRef::Kind::kInt; }},
      {"a tensor where it takes a number", [](Plan& p) { Vector(p).ops[1].code = OpCode::kFill; }},
      {"an operation writes a number", [](Plan& p) { Vector(p).ops[0].output.kind = ValueRef::Kind::kInt; }},
      {"read before it is computed", [](Plan& p) { std::swap(Vector(p).ops[0], Vector(p).ops[2]); }},
      {"another dtype than its operation", [](Plan& p) { Vector(p).ops[0].compute_dtype = DType::kFp16; }},
      {"does not accept its dtype",
       [](Plan& p) {
         p.storages[4].dtype = p.storages[0].dtype = p.parameters[0].dtype = DType::kBool;
         Vector(p).ops[0].compute_dtype = DType::kBool;
       }},
      {"does not follow from its inputs", [](Plan& p) { Vector(p).locals[0].dtype = DType::kFp16; }},
      {"that has leaves of its own",
       [](Plan& p) {
         Vector(p).ops[0].code = OpCode::kMatmul;
         Vector(p).ops[0].inputs[1] = Vector(p).ops[0].inputs[0];
       }},
      {"cast mode 9", [](Plan& p) { Vector(p).ops[0].cast_mode = 9; }},
      {"an operand is larger than the result", [](Plan& p) { Vector(p).accesses[2].extents[0] = 1; }},
      {"a reduction along dim 2", [](Plan& p) { Vector(p).ops[1].axis = 2; }},
      {"a reduction along dim -1", [](Plan& p) { Vector(p).ops[1].axis = -1; }},
      {"is split over tiles", [](Plan& p) { Vector(p).tile[1] = 4; }},
      {"another shape than its input", [](Plan& p) { Vector(p).accesses[1].extents[1] = 8; }},
  });
}

TEST(ValidatePlanTest, CubeLeaves) {
  ExpectAll({
      {"is not one matmul", [](Plan& p) { Cube(p).ops.push_back(Cube(p).ops[0]); }},
      {"is not one matmul", [](Plan& p) { Cube(p).ops[0].code = OpCode::kAdd; }},
      {"is not one matmul", [](Plan& p) { Cube(p).locals.push_back(Vector(p).locals[0]); }},
      {"does not fit the M, N and K", [](Plan& p) { Cube(p).accesses[0].extents[0] = 31; }},
      {"does not fit the M, N and K", [](Plan& p) { Cube(p).accesses[1].extents[0] = 9; }},
      {"does not fit the M, N and K", [](Plan& p) { Cube(p).accesses[2].extents[1] = 1; }},
      {"an operand of rank 1", [](Plan& p) { Cube(p).accesses[2].extents.pop_back(); }},
      {"does not follow from its inputs", [](Plan& p) { p.storages[4].dtype = DType::kInt32; }},
      {"a batch dim of a matmul",
       [](Plan& p) {
         Leaf& leaf = Cube(p);
         leaf.extents.insert(leaf.extents.begin(), 4);
         leaf.tile.insert(leaf.tile.begin(), 1);
         for (Access& access : leaf.accesses) {
           access.extents.insert(access.extents.begin(), 1);
           access.strides.insert(access.strides.begin(), access.offset);
           access.valid.insert(access.valid.begin(), access.offset);
         }
       }},
  });
}

TEST(ValidatePlanTest, Slots) {
  const auto with = [](const std::function<void(Plan&, ControlNode&)>& change) {
    return [change](Plan& plan) {
      const ExprId zero = plan.exprs.Const(0);
      plan.storages.push_back({"t", TensorClass::kExclusiveOutcast, DType::kInt32, {zero}, zero, -1, 0});
      plan.slots = {{"s", ScalarKind::kInt}, {"f", ScalarKind::kFloat}};
      plan.reads_tensors = true;
      ControlNode read;
      read.kind = ControlNode::Kind::kRead;
      read.read = {static_cast<uint32_t>(plan.storages.size() - 1), zero, {zero}, {zero}, {zero}, {}};
      plan.control.push_back(read);
      ControlNode set;
      set.kind = ControlNode::Kind::kSet;
      set.sets = {{0, zero}};
      plan.control.push_back(set);
      change(plan, plan.control[plan.control.size() - 2]);
    };
  };
  Plan sound = SamplePlan();
  with([](Plan&, ControlNode&) {})(sound);
  EXPECT_TRUE(ValidatePlan(sound).ok()) << ValidatePlan(sound).ToString();
  ExpectAll({
      {"an expression names operand 2", [](Plan& p) { p.exprs.Slot(2); }},
      {"an expression names operand 0", [](Plan& p) { p.exprs.FloatScalar(0); }},  // an integer one
      {"a size depends on a loop index or a slot",
       with([](Plan& p, ControlNode&) { p.workspace.boundary_bytes = p.exprs.Slot(0); })},
      {"reads storage 99 into slot 0", with([](Plan&, ControlNode& n) { n.read.storage = 99; })},
      {"reads storage 0 into slot 0", with([](Plan&, ControlNode& n) { n.read.storage = 0; })},  // FP32
      {"into slot 7", with([](Plan&, ControlNode& n) { n.slot = 7; })},
      {"into slot 1", with([](Plan&, ControlNode& n) { n.slot = 1; })},  // a floating one
      {"a read of the control tree has rank 0", with([](Plan&, ControlNode& n) { n.read.indices.clear(); })},
      {"a read of the control tree has rank 1", with([](Plan&, ControlNode& n) { n.read.strides.clear(); })},
      {"names expression", with([](Plan&, ControlNode& n) { n.read.offset = kNoExpr; })},
      {"names expression", with([](Plan&, ControlNode& n) { n.read.valid[0] = 99999; })},
      {"names expression", with([](Plan&, ControlNode& n) { n.condition = 99999; })},
      {"sets slot 5", with([](Plan& p, ControlNode&) { p.control.back().sets[0].slot = 5; })},
      {"names expression", with([](Plan& p, ControlNode&) { p.control.back().sets[0].value = kNoExpr; })},
      {"names expression", with([](Plan& p, ControlNode&) { p.control.back().kind = ControlNode::Kind::kCheck; })},
      {"the mark for reads", with([](Plan& p, ControlNode&) { p.reads_tensors = false; })},
  });
}

TEST(ValidatePlanTest, ControlTree) {
  ExpectAll({
      {"names root function 9", [](Plan& p) { p.control[0].body[0].root = 9; }},
      {"uses the index of loop 0 outside of it", [](Plan& p) { p.control[1].body[0].root = 0; }},
      {"loop 4 is unknown", [](Plan& p) { p.control[0].loop = 4; }},
      {"loop 0 is unknown or used twice", [](Plan& p) { p.control.push_back(p.control[0]); }},
      {"the step of loop 0 is zero", [](Plan& p) { p.control[0].step = p.exprs.Const(0); }},
      {"begins storage 2 anew", [](Plan& p) { p.control[0].fresh = {2}; }},
      {"begins storage 99 anew", [](Plan& p) { p.control[0].fresh = {4, 99}; }},
      {"the control tree names expression", [](Plan& p) { p.control[0].stop = kNoExpr; }},
      {"the control tree names expression", [](Plan& p) { p.control[1].condition = 123456; }},
  });
}

}  // namespace
}  // namespace pypto::program
