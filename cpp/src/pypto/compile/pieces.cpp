// Finds tensors made of pieces, and moves the stores of the pieces.
#include "pypto/compile/pieces.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "pypto/compile/cover.h"

namespace pypto::compile {
namespace {

// Where a tensor is used; indices into the steps.
struct Uses {
  uint32_t declares = 0;
  uint32_t declare = 0;  // the last of them
  std::vector<uint32_t> pieces;
  std::vector<uint32_t> readers;
  std::vector<uint32_t> views;  // of all of it: who reads one reads the tensor
  bool other = false;
};

// Lives for one call of WritePiecesInPlace.
class PieceMover {
 public:
  explicit PieceMover(Context& context) : context_(context) {}

  void Move() {
    for (uint32_t i = 0; i < context_.steps.size(); ++i) Note(i);
    // Later ones first: a piece may be made of pieces itself.
    for (auto each = uses_.rbegin(); each != uses_.rend(); ++each) {
      const Uses& uses = each->second;
      if (!uses.other && uses.declares == 1 && uses.readers.size() == 1 && !uses.pieces.empty()) {
        TryMove(each->first, uses);
      }
    }
  }

 private:
  // A window of everything that there is.
  bool IsWhole(const Step& step) {
    if (step.kind != StepKind::kView || step.reshape) return false;
    const program::Tensor& from = context_.tensors[step.inputs[0].tensor];
    const program::Tensor& to = context_.tensors[step.output];
    return from.shape == to.shape && from.valid == to.valid &&
           std::all_of(step.offsets.begin(), step.offsets.end(),
                       [&](ExprId offset) { return context_.exprs().IsConstant(offset, 0); });
  }

  TensorId WholeOf(TensorId tensor) const {
    const auto whole = wholes_.find(tensor);
    return whole == wholes_.end() ? tensor : whole->second;
  }

  void Note(uint32_t index) {
    const Step& step = context_.steps[index];
    if (IsWhole(step)) {
      const TensorId whole = WholeOf(step.inputs[0].tensor);
      wholes_[step.output] = whole;
      sources_[step.output] = whole;
      uses_[whole].views.push_back(index);
      return;
    }
    for (const program::Operand& input : step.inputs) {
      if (input.kind != program::Operand::Kind::kTensor) continue;
      Uses& uses = uses_[WholeOf(input.tensor)];
      if (step.kind == StepKind::kStore && !step.zero_fill) {
        uses.readers.push_back(index);
      } else {
        uses.other = true;
      }
      if (step.kind == StepKind::kView) sources_[step.output] = input.tensor;
    }
    if (step.output == kNoTensor) return;
    const program::Tensor& output = context_.tensors[step.output];
    if (output.origin == program::TensorOrigin::kAlias) uses_[output.base].other = true;
    Uses& uses = uses_[WholeOf(step.output)];
    if (WholeOf(step.output) != step.output) uses.other = true;
    if (step.kind == StepKind::kDeclare) {
      ++uses.declares;
      uses.declare = index;
    } else if (step.kind == StepKind::kStore && step.region && !step.zero_fill) {
      uses.pieces.push_back(index);
    } else {
      uses.other = true;
    }
  }

  // The tensor whose memory it is.
  TensorId RootOf(TensorId tensor) const {
    for (;;) {
      const auto source = sources_.find(tensor);
      if (source != sources_.end()) {
        tensor = source->second;
      } else if (context_.tensors[tensor].origin == program::TensorOrigin::kAlias) {
        tensor = context_.tensors[tensor].base;
      } else {
        return tensor;
      }
    }
  }

  bool Touches(const Step& step, TensorId root) const {
    if (step.output != kNoTensor && RootOf(step.output) == root) return true;
    return std::any_of(step.inputs.begin(), step.inputs.end(), [&](const program::Operand& input) {
      return input.kind == program::Operand::Kind::kTensor && RootOf(input.tensor) == root;
    });
  }

  static bool SamePath(const Step& a, const Step& b) {
    return a.run == b.run && a.loop == b.loop && a.scope == b.scope;
  }

  // The pieces cover the tensor, and stand on the same path as its declaration and the copy.
  bool Complete(TensorId tensor, const Uses& uses, const Step& copy) {
    program::ExprPool& exprs = context_.exprs();
    if (!SamePath(context_.steps[uses.declare], copy)) return false;
    const program::Tensor& whole = context_.tensors[tensor];
    if (whole.valid != whole.shape || whole.shape.size() != context_.tensors[copy.output].shape.size()) return false;
    Cover cover;
    for (const uint32_t index : uses.pieces) {
      const Step& piece = context_.steps[index];
      const auto box = SamePath(piece, copy) ? BoxOfStore(context_, piece) : std::nullopt;
      if (!box) return false;
      cover.Add(exprs, *box);
    }
    return cover.Covers(exprs, whole.shape);
  }

  void TryMove(TensorId tensor, const Uses& uses) {
    const uint32_t last = uses.readers[0];
    Step& copy = context_.steps[last];
    const TensorId target = copy.output;
    const program::TensorOrigin origin = context_.tensors[target].origin;
    if (origin != program::TensorOrigin::kParameter || copy.guard != kNoExpr) return;
    const uint32_t first = uses.pieces.front();
    if (first >= last || uses.pieces.back() >= last || !Complete(tensor, uses, copy)) return;
    // A view holds what there is when it is taken.
    for (const uint32_t view : uses.views) {
      if (view < uses.pieces.back() || !SamePath(context_.steps[view], copy)) return;
    }
    for (uint32_t i = first; i < last; ++i) {
      if (context_.steps[i].IsControl() || Touches(context_.steps[i], target)) return;
    }
    for (const uint32_t index : uses.pieces) {
      Step& piece = context_.steps[index];
      piece.output = target;
      for (size_t dim = 0; copy.region && dim < piece.offsets.size(); ++dim) {
        piece.offsets[dim] = context_.exprs().Add(piece.offsets[dim], copy.offsets[dim]);
      }
    }
    // Nothing is left to do.
    copy.kind = StepKind::kDeclare;
    copy.output = tensor;
    copy.region = false;
    copy.inputs.clear();
    copy.offsets.clear();
  }

  Context& context_;
  std::map<TensorId, Uses> uses_;
  std::unordered_map<TensorId, TensorId> sources_;  // of views
  std::unordered_map<TensorId, TensorId> wholes_;   // of those that show all of a tensor
};

}  // namespace

void WritePiecesInPlace(Context& context) { PieceMover(context).Move(); }

}  // namespace pypto::compile
