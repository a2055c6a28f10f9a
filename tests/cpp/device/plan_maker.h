// Builds plans by hand: parameters, storages, leaves, root functions and the control tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pypto/program/image.h"
#include "pypto/program/plan.h"

namespace pypto::device::testing {

using program::DType;
using program::ExprId;
using program::OpCode;
using program::ValueRef;

// Extents of a parameter; a negative one is the symbol -extent - 1.
using Dims = std::vector<int64_t>;
constexpr int64_t Sym(int64_t index) { return -index - 1; }

// A leaf under construction. Accesses are those of whole storages unless said otherwise.
class LeafMaker {
 public:
  LeafMaker(program::Plan* plan, std::vector<int64_t> extents, std::vector<int64_t> tile);

  // Access over the leaf's dims. The storage's dims stand for the leaf's last ones; a dim of 1 does not vary.
  ValueRef Access(uint32_t storage) { return Window(storage, {}); }
  // The same at `starts` (expressions, in elements per dim of the storage), of the leaf's extents.
  ValueRef Window(uint32_t storage, std::vector<ExprId> starts);
  // Everything given.
  ValueRef Strided(uint32_t storage, ExprId offset, std::vector<int64_t> strides, std::vector<int64_t> extents,
                   std::vector<ExprId> valid);
  ValueRef Local(DType dtype, std::vector<int64_t> extents = {});
  static ValueRef Float(double value);
  static ValueRef Int(int64_t value);
  static ValueRef Expr(ExprId id);
  static ValueRef Scalar(uint32_t index);

  // Appends an operation and gives its output back.
  ValueRef Op(OpCode code, std::vector<ValueRef> inputs, ValueRef output);
  ValueRef Reduce(OpCode code, ValueRef input, int axis, ValueRef output);
  ValueRef Cast(ValueRef input, ValueRef output, int mode = 0, bool saturate = false);
  // Limits what is valid of an access or a local.
  void SetValid(ValueRef value, int dim, ExprId valid);

  program::Leaf& leaf() { return leaf_; }
  DType DTypeOf(const ValueRef& value) const;

 private:
  ExprId Const(int64_t value) { return plan_->exprs.Const(value); }
  program::Plan* plan_;
  program::Leaf leaf_;
};

class PlanMaker {
 public:
  explicit PlanMaker(std::string name = "kernel") { plan_.name = std::move(name); }

  // A tensor parameter and its storage. Direction is found from the uses.
  uint32_t Parameter(DType dtype, Dims dims);
  uint32_t IntScalar();  // index of the scalar
  uint32_t FloatScalar();
  uint32_t Storage(program::TensorClass tensor_class, DType dtype, Dims dims);
  ExprId Const(int64_t value) { return plan_.exprs.Const(value); }
  ExprId Symbol(uint32_t index) { return plan_.exprs.Symbol(index); }
  uint32_t NewLoop() { return plan_.loop_count++; }
  ExprId LoopIndex(uint32_t loop) { return plan_.exprs.LoopIndex(loop); }
  program::ExprPool& exprs() { return plan_.exprs; }

  LeafMaker Leaf(std::vector<int64_t> extents, std::vector<int64_t> tile) { return {&plan_, extents, tile}; }
  // C = A × B over batch…, M, N; accesses of A and B as made by Strided.
  LeafMaker Cube(std::vector<int64_t> extents, std::vector<int64_t> tile, int64_t k);

  // A root function; `whole` and `live` are storages. Gives its index.
  uint32_t Root(std::vector<LeafMaker> leaves, std::vector<uint32_t> whole = {}, std::vector<uint32_t> live = {});
  static program::ControlNode Run(uint32_t root);
  static program::ControlNode Loop(uint32_t loop, ExprId start, ExprId stop, ExprId step,
                                   std::vector<program::ControlNode> body);
  static program::ControlNode If(ExprId condition, std::vector<program::ControlNode> yes,
                                 std::vector<program::ControlNode> no);
  void SetControl(std::vector<program::ControlNode> control) { plan_.control = std::move(control); }
  void SetWorkspace(std::vector<int64_t> units, int64_t boundary);

  program::Plan& plan() { return plan_; }
  // Fills in what follows from the rest. The maker is done.
  std::shared_ptr<const program::Image> Finish();

 private:
  program::Plan plan_;
};

// One leaf that runs once, over parameters only.
std::shared_ptr<const program::Image> SingleLeaf(PlanMaker* maker, LeafMaker leaf);

}  // namespace pypto::device::testing
