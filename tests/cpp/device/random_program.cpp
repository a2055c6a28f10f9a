// Draws plans.
#include "device/random_program.h"

#include <algorithm>
#include <random>

namespace pypto::device::testing {
namespace {

using program::ControlNode;
using program::TensorClass;

constexpr int64_t kRows = 16;

class Drawer {
 public:
  Drawer(uint32_t seed, int64_t width) : random_(seed), width_(width) {
    for (uint32_t& parameter : parameters_) parameter = maker_.Parameter(DType::kFp32, {kRows, width});
    for (uint32_t& tensor : assembled_)
      tensor = maker_.Storage(TensorClass::kAssembleOutcast, DType::kFp32, {kRows, width});
    for (uint32_t& tensor : exclusive_)
      tensor = maker_.Storage(TensorClass::kExclusiveOutcast, DType::kFp32, {kRows, width});
    live_ = {assembled_[0], assembled_[1], exclusive_[0], exclusive_[1]};
  }

  RandomProgram Draw(const program::PlanOptions& options) {
    std::vector<ControlNode> control{First()};
    const uint32_t outer = maker_.NewLoop();
    indices_.push_back(maker_.LoopIndex(outer));
    std::vector<ControlNode> body = Roots();
    const uint32_t inner = maker_.NewLoop();
    indices_.push_back(maker_.LoopIndex(inner));
    ControlNode loop = PlanMaker::Loop(inner, maker_.Const(0), maker_.Const(Pick(1, 8)), maker_.Const(1), Roots());
    loop.parallel = Pick(0, 1) == 0;
    loop.submit_before = Pick(0, 5) == 0;
    body.push_back(loop);
    indices_.pop_back();
    const ExprId odd = *maker_.exprs().Make(program::ExprOp::kMod, indices_[0], maker_.Const(2));
    body.push_back(PlanMaker::If(odd, Roots(), Roots()));
    control.push_back(PlanMaker::Loop(outer, maker_.Const(0), maker_.Const(Pick(2, 6)), maker_.Const(1), body));
    control.back().parallel = Pick(0, 2) == 0;
    indices_.clear();
    for (const ControlNode& root : Roots()) control.push_back(root);
    maker_.SetControl(control);
    const int64_t bytes = (kRows * width_ * 4 + 511) / 512 * 512;
    maker_.SetWorkspace({3 * bytes, 2 * bytes, 2 * bytes}, 4 * bytes);
    maker_.plan().options = options;
    RandomProgram program;
    for (int64_t i = 0; i < 3; ++i) {
      const auto count = static_cast<size_t>(kRows * width_);
      program.arguments.push_back({RandomValues(DType::kInt32, count, -50, 50, static_cast<uint64_t>(i) + 1)});
    }
    program.image = maker_.Finish();
    return program;
  }

 private:
  int64_t Pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  // Every outcast holds something from the first instance on, and stays live.
  ControlNode First() {
    std::vector<LeafMaker> leaves;
    for (const uint32_t outcast : live_) {
      LeafMaker leaf = maker_.Leaf({kRows, width_}, {5, width_});
      leaf.Op(OpCode::kAdd, {leaf.Access(parameters_[0]), LeafMaker::Int(Pick(0, 5))}, leaf.Access(outcast));
      leaves.push_back(leaf);
    }
    return PlanMaker::Run(maker_.Root(leaves, {exclusive_[0], exclusive_[1]}, live_));
  }

  std::vector<ControlNode> Roots() {
    std::vector<ControlNode> roots;
    for (int64_t count = Pick(1, 2); count > 0; --count) roots.push_back(PlanMaker::Run(Root()));
    return roots;
  }

  // A row at which a window of `height` rows may begin, from the loop indices.
  ExprId Row(int64_t height) {
    program::ExprPool& exprs = maker_.exprs();
    ExprId row = maker_.Const(Pick(0, 9));
    for (const ExprId index : indices_) row = exprs.Add(row, exprs.Mul(index, maker_.Const(Pick(0, 3) * height)));
    return *exprs.Make(program::ExprOp::kMod, row, maker_.Const(kRows - height + 1));
  }

  uint32_t AnyTensor() {
    const int64_t which = Pick(0, 6);
    return which < 3 ? parameters_[which] : live_[static_cast<size_t>(which) - 3];
  }

  uint32_t Root() {
    std::vector<LeafMaker> leaves;
    std::vector<uint32_t> whole;
    for (int64_t count = Pick(1, 3); count > 0; --count) {
      const int64_t kind = Pick(0, 5);
      const uint32_t fresh = exclusive_[Pick(0, 1)];
      const bool again = std::find(whole.begin(), whole.end(), fresh) != whole.end();
      if (kind == 0 && !again) {
        whole.push_back(fresh);
        leaves.push_back(Write(fresh, kRows));
      } else if (kind == 1) {
        Pair(&leaves);
      } else {
        leaves.push_back(Write(kind <= 3 ? assembled_[Pick(0, 1)] : parameters_[Pick(1, 2)], int64_t{1} << Pick(0, 3)));
      }
    }
    return maker_.Root(leaves, whole, live_);
  }

  // to[rows] = max(a[rows], b[rows]) + a small number, all windows of `height` rows.
  LeafMaker Write(uint32_t to, int64_t height) {
    LeafMaker leaf = maker_.Leaf({height, width_}, {Pick(1, height), width_});
    const ExprId row = Row(height);
    const bool fresh = to == exclusive_[0] || to == exclusive_[1];
    const auto source = [&] {
      const uint32_t from = AnyTensor();
      // In place every tile reads what it writes; a new generation may read any rows of the old one.
      return leaf.Window(from, {from == to && !fresh ? row : Row(height), maker_.Const(0)});
    };
    const ValueRef a = source();
    const ValueRef larger = leaf.Op(OpCode::kMaximum, {a, source()}, leaf.Local(DType::kFp32));
    leaf.Op(OpCode::kAdd, {larger, Number()}, leaf.Window(to, {row, maker_.Const(0)}));
    return leaf;
  }

  ValueRef Number() { return indices_.empty() ? LeafMaker::Int(Pick(0, 4)) : LeafMaker::Expr(indices_.back()); }

  // Two leaves with a root-inner tensor between them.
  void Pair(std::vector<LeafMaker>* leaves) {
    const int64_t height = int64_t{1} << Pick(0, 3);
    const uint32_t inner = maker_.Storage(TensorClass::kRootInner, DType::kFp32, {height, width_});
    LeafMaker first = maker_.Leaf({height, width_}, {height, width_});
    first.Op(OpCode::kAdd, {first.Window(AnyTensor(), {Row(height), maker_.Const(0)}), Number()}, first.Access(inner));
    LeafMaker second = maker_.Leaf({height, width_}, {1, width_});
    second.Op(OpCode::kMinimum, {second.Access(inner), LeafMaker::Int(Pick(0, 60))},
              second.Window(assembled_[Pick(0, 1)], {Row(height), maker_.Const(0)}));
    leaves->push_back(first);
    leaves->push_back(second);
  }

  std::mt19937 random_;
  const int64_t width_;
  PlanMaker maker_;
  uint32_t parameters_[3];
  uint32_t assembled_[2];
  uint32_t exclusive_[2];
  std::vector<uint32_t> live_;
  std::vector<ExprId> indices_;  // of the loops around
};

}  // namespace

RandomProgram MakeRandomProgram(uint32_t seed, int64_t width, const program::PlanOptions& options) {
  return Drawer(seed, width).Draw(options);
}

}  // namespace pypto::device::testing
