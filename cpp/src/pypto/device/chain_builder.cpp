// Chains of element-wise operations: a value stays in register A for the operation that follows, B keeps the last
// other operand, and what is needed later goes through memory.
#include "pypto/device/chain_builder.h"

#include <algorithm>
#include <utility>

#include "pypto/device/chain_asks.h"
#include "pypto/device/formats.h"
#include "pypto/device/half_results.h"

namespace pypto::device {
namespace {

using simd::Format;
using simd::Kind;

constexpr uint32_t kMostOps = 16;
constexpr uint32_t kMostMemoriesOfOp = 4;  // a choice: two loads, one operand, one store
static_assert(kMostOps * kMostMemoriesOfOp <= ChainProgram::kMostMemories);

bool Same(const OperandProgram& a, const OperandProgram& b) { return a.source == b.source && a.index == b.index; }

class ChainBuilder {
 public:
  ChainBuilder(const simd::KernelTable& kernels, LeafProgram* program) : program_(*program) {
    kernels.list_stages(&stages_);
    reads_.resize(program_.locals.size());
    writes_.resize(program_.locals.size());
    for (const OpProgram& op : program_.ops) {
      for (int i = 0; i < op.input_count; ++i) {
        if (op.inputs[i].source == Source::kLocal) ++reads_[op.inputs[i].index];
      }
      if (op.output.source == Source::kLocal) ++writes_[op.output.index];
    }
  }

  void Build() {
    const auto count = static_cast<uint32_t>(program_.ops.size());
    for (uint32_t at = 0; at < count;) {
      uint32_t end = at;
      reduced_.clear();
      while (end < count && end - at < kMostOps && Chains(program_.ops[end]) &&
             CellsOf(program_.ops[end]) == CellsOf(program_.ops[at]) && !ReadsReduced(program_.ops[end])) {
        const OpProgram& op = program_.ops[end++];
        if (op.action == Action::kReduce) reduced_.push_back(op.output.index);
      }
      if (end > at) Emit(at, end);
      at = std::max(end, at + 1);
    }
    ShareAsks(stages_, &program_);
  }

 private:
  // Something that the chain so far has not got before its rows end.
  bool ReadsReduced(const OpProgram& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count, [this](const OperandProgram& input) {
      return input.source == Source::kLocal &&
             std::find(reduced_.begin(), reduced_.end(), input.index) != reduced_.end();
    });
  }

  Format FormatOfOperand(const OperandProgram& operand) const {
    switch (operand.source) {
      case Source::kAccess: return program_.accesses[operand.index].format;
      case Source::kLocal: return program_.locals[operand.index].format;
      case Source::kNumber: break;
    }
    return ComputeFormat(program_.numbers[operand.index].format);
  }

  bool Loads(const OperandProgram& operand, Kind kind) const {
    const Format format = FormatOfOperand(operand);
    return KindOf(format) == kind && stages_.load[0][format] != nullptr;
  }

  bool Stores(const OpProgram& op) const {
    const Format format = FormatOfOperand(op.output);
    if (stages_.store[format] == nullptr || KindOf(format) != KindOf(op.result)) return false;
    if (op.result != ComputeFormat(op.result) && stages_.fit[op.result] == nullptr) return false;
    if (op.output.source == Source::kLocal) return true;
    // A cell that several tiles share is stored by one of them.
    for (int dim = 0; dim < program_.rank; ++dim) {
      if (!op.varies[dim] && program_.extents[dim] > 1) return false;
    }
    return format == op.result;
  }

  bool Chains(const OpProgram& op) const {
    if (op.action == Action::kReduce) return Reduces(op);
    if (op.kind == simd::kKindI64 || !Stores(op)) return false;
    switch (op.action) {
      case Action::kCompute: return Computes(op);
      case Action::kCast: return Casts(op);
      case Action::kCopy: return Copies(op);
      default: return false;
    }
  }

  // Along rows: no other dim lies inside of the axis.
  bool Reduces(const OpProgram& op) const {
    if (op.kind > simd::kKindI32 || op.output.source != Source::kLocal || !Loads(op.inputs[0], op.kind)) return false;
    if (KindOf(FormatOfOperand(op.output)) != op.kind || program_.extents[op.axis] == 1) return false;
    for (int dim = op.axis + 1; dim < program_.rank; ++dim) {
      if (program_.extents[dim] > 1) return false;
    }
    const OperandProgram& input = op.inputs[0];
    const Extents& extents =
        input.source == Source::kAccess ? program_.accesses[input.index].extents : program_.locals[input.index].extents;
    const auto dims = CellsOf(op);
    for (int dim = 0; dim < program_.rank; ++dim) {
      if (dims[static_cast<size_t>(dim)] != (extents[dim] > 1)) return false;
    }
    return true;
  }

  bool Computes(const OpProgram& op) const {
    if (op.kind > simd::kKindI32) return false;
    if (op.selects)
      return Loads(op.inputs[0], simd::kKindI32) && Chooses(op.inputs[1], op) && Chooses(op.inputs[2], op);
    const simd::StageCode code =
        op.input_count == 1 ? stages_.unary[op.kind][op.kernel] : stages_.binary[op.kind][0][op.kernel];
    if (code == nullptr || op.input_count > 2) return false;
    return Loads(op.inputs[0], op.kind) && (op.input_count == 1 || Loads(op.inputs[1], op.kind));
  }

  bool Casts(const OpProgram& op) const {
    const Kind from = KindOf(op.input);
    const Kind to = KindOf(op.result);
    if (from == simd::kKindI64 || to == simd::kKindI64 || !Loads(op.inputs[0], from)) return false;
    const bool from_float = from == simd::kKindF32;
    const bool to_float = to == simd::kKindF32;
    if (op.saturate && (!from_float || to_float)) return false;
    constexpr uint8_t kRint = 1;  // modes above it are directed
    return !(from_float && to_float && op.input != op.result && op.result != simd::kF32 && op.cast_mode > kRint);
  }

  // What a choice takes may come from memory.
  bool Chooses(const OperandProgram& operand, const OpProgram& op) const {
    return Loads(operand, op.kind) && stages_.choose[0][FormatOfOperand(operand)] != nullptr;
  }

  // Cells that only change their place are copied as they are.
  bool Copies(const OpProgram& op) const {
    if (op.code != program::OpCode::kCopy && op.code != program::OpCode::kFill && op.code != program::OpCode::kExpand) {
      return false;
    }
    const bool moves = op.inputs[0].source == Source::kAccess && op.output.source == Source::kAccess;
    return !moves && Loads(op.inputs[0], KindOf(op.result));
  }

  void Emit(uint32_t first, uint32_t last) {
    chain_ = {};
    chain_.first = first;
    chain_.last = last;
    chain_.varies = CellsOf(program_.ops[first]);
    holds_a_ = holds_b_ = pinned_ = false;
    loaded_.clear();
    for (at_ = first; at_ < last; ++at_) {
      const OpProgram& op = program_.ops[at_];
      if (pinned_ && at_ > pinned_until_) pinned_ = false;
      if (OnlyLoads(op)) {
        loaded_.emplace_back(op.output.index, op.inputs[0]);
        continue;
      }
      if (op.action == Action::kReduce) {
        Reduce(op);
        continue;
      }
      if (op.selects) {
        Choose(op);
      } else if (op.action == Action::kCompute && op.input_count == 2) {
        Binary(op);
      } else {
        Load(Resolved(op.inputs[0]), 0);
        if (op.action == Action::kCompute) Step(stages_.unary[op.kind][op.kernel]);
        if (op.action == Action::kCast) Cast(op);
      }
      Finish(op);
    }
    Step(stages_.end);
    if (!IsBetterAlone()) program_.chains.push_back(std::move(chain_));
  }

  // One operation on small tensors that hold what it computes with.
  bool IsBetterAlone() const {
    const OpProgram& op = program_.ops[chain_.first];
    if (chain_.last - chain_.first > 1 || chain_.streams) return false;
    if (op.action != Action::kCompute) return op.action == Action::kReduce;
    const auto as_it_is = [this](const OperandProgram& operand) {
      const Format format = FormatOfOperand(operand);
      return format == ComputeFormat(format);
    };
    if (stages_.fit[op.result] != nullptr || !as_it_is(op.output)) return false;
    return std::none_of(chain_.steps.begin(), chain_.steps.end(), [&](const ChainStep& step) {
      if (step.memory != ChainStep::Memory::kLoad) return false;
      const bool asks = step.operand.source == Source::kAccess && program_.accesses[step.operand.index].asked_for;
      return asks || !as_it_is(step.operand);
    });
  }

  void Step(simd::StageCode code, uint64_t told = 0) {
    if (code == nullptr) return;
    ChainStep step;
    step.code = code;
    step.told = told;
    chain_.steps.push_back(step);
  }

  // Uses of a local by operations [from, until) of the program.
  uint32_t Reads(const OperandProgram& local, uint32_t from, uint32_t until) const {
    uint32_t count = 0;
    for (uint32_t i = from; i < until; ++i) {
      const OpProgram& op = program_.ops[i];
      for (int input = 0; input < op.input_count; ++input) count += Same(op.inputs[input], local) ? 1U : 0U;
    }
    return count;
  }
  bool StaysInside(const OperandProgram& local) const {
    return writes_[local.index] == 1 && Reads(local, at_ + 1, chain_.last) == reads_[local.index];
  }

  // A floating operand of memory that is widened and nothing else: its readers load it themselves, as often as they
  // need it. Not where something is stored in between.
  bool OnlyLoads(const OpProgram& op) const {
    if (op.output.source != Source::kLocal || op.inputs[0].source != Source::kAccess || op.result != simd::kF32) {
      return false;
    }
    const bool cast = op.action == Action::kCast && IsFloat(op.input) && !op.rounds;
    const bool copy = op.action == Action::kCopy && op.code == program::OpCode::kCopy;
    if (!(cast || copy) || !StaysInside(op.output)) return false;
    uint32_t last_reader = at_;
    for (uint32_t i = at_ + 1; i < chain_.last; ++i) {
      if (Reads(op.output, i, i + 1) > 0) last_reader = i;
    }
    for (uint32_t i = at_ + 1; i < last_reader; ++i) {
      if (program_.ops[i].output.source == Source::kAccess) return false;
    }
    return true;
  }

  OperandProgram Resolved(const OperandProgram& operand) const {
    for (const auto& [local, memory] : loaded_) {
      if (operand.source == Source::kLocal && operand.index == local) return memory;
    }
    return operand;
  }

  bool InA(const OperandProgram& operand) const { return holds_a_ && Same(a_, operand); }
  bool InB(const OperandProgram& operand) const { return holds_b_ && Same(b_, operand); }

  ChainStep LoadStep(const OperandProgram& operand) {
    ChainStep step;
    step.memory = ChainStep::Memory::kLoad;
    step.operand = operand;
    NoteUse(operand);
    ++chain_.memories;
    return step;
  }

  // To register A (0) or B (1), unless it is there.
  void Load(const OperandProgram& operand, int place) {
    if (place == 0 ? InA(operand) : InB(operand)) return;
    if (place == 0 && InB(operand)) {
      Step(stages_.back);
    } else {
      const Format format = FormatOfOperand(operand);
      ChainStep step = LoadStep(operand);
      step.code = stages_.load[place][format];
      step.spread = stages_.spread[place][format];
      chain_.steps.push_back(step);
    }
    (place == 0 ? holds_a_ : holds_b_) = true;
    (place == 0 ? a_ : b_) = operand;
  }

  // Values pass between chains and other operations, so that blocks are small and memory is asked for a block ahead.
  bool InBlocks() const { return chain_.last - chain_.first != program_.ops.size(); }

  // Memory of large tensors is asked for a block ahead. A leaf that is one chain runs through memory in order, which
  // processors foresee.
  void NoteUse(const OperandProgram& operand) {
    if (operand.source != Source::kAccess || !InBlocks()) return;
    AccessProgram& access = program_.accesses[operand.index];
    access.asked_for = access.asked_for || access.storage_bytes >= kLeastAskedBytes;
  }

  // The operation can take the operand from memory.
  bool Takes(const OpProgram& op, const OperandProgram& operand) const {
    const Format format = FormatOfOperand(operand);
    return op.kind == simd::kKindF32 && format <= simd::kBf16 && stages_.with[0][format][op.kernel] != nullptr;
  }

  void Binary(const OpProgram& op) {
    const OperandProgram x = Resolved(op.inputs[0]);
    const OperandProgram y = Resolved(op.inputs[1]);
    if (Same(x, y)) {
      Load(x, 0);
      if (!InB(x)) Step(stages_.same);
      holds_b_ = true;
      b_ = x;
      return Step(stages_.binary[op.kind][0][op.kernel]);
    }
    const bool reversed = InA(y) || (!InA(x) && InB(x));
    Load(reversed ? y : x, 0);
    const OperandProgram& other = reversed ? x : y;
    const int order = reversed ? 1 : 0;
    if (!InB(other) && Takes(op, other)) {
      const Format format = FormatOfOperand(other);
      ChainStep step = LoadStep(other);
      step.code = stages_.with[order][format][op.kernel];
      step.spread = stages_.with_one[order][format][op.kernel];
      chain_.steps.push_back(step);
      return;
    }
    Load(other, 1);
    Step(stages_.binary[op.kind][order][op.kernel]);
  }

  // The condition goes to A, one of the others to B, the last one comes from memory.
  void Choose(const OpProgram& op) {
    const OperandProgram condition = Resolved(op.inputs[0]);
    const OperandProgram yes = Resolved(op.inputs[1]);
    const OperandProgram no = Resolved(op.inputs[2]);
    const bool reversed = InA(no) || (!InA(yes) && InB(no));
    const OperandProgram& kept = reversed ? no : yes;
    const OperandProgram& other = reversed ? yes : no;
    if (InA(kept) && !InB(kept)) {
      Step(stages_.same);
      holds_b_ = true;
      b_ = kept;
    }
    Load(condition, 0);
    Load(kept, 1);
    const Format format = FormatOfOperand(other);
    ChainStep step = LoadStep(other);
    step.code = stages_.choose[reversed ? 1 : 0][format];
    step.spread = stages_.choose_one[reversed ? 1 : 0][format];
    chain_.steps.push_back(step);
  }

  void Reduce(const OpProgram& op) {
    Load(Resolved(op.inputs[0]), 0);
    ChainStep step;
    step.memory = ChainStep::Memory::kReduce;
    step.operand = op.output;
    step.reduce = op.reduce;
    step.result = op.result;
    step.code = stages_.reduce[op.kind][op.reduce];
    chain_.steps.push_back(step);
    ++chain_.memories;
    ++chain_.reductions;
  }

  // Nothing up to the last reader of `local` needs B for something else.
  bool Pins(const OperandProgram& local) {
    if (pinned_ || !StaysInside(local)) return false;
    uint32_t left = reads_[local.index];
    for (uint32_t i = at_ + 1; i < chain_.last; ++i) {
      const OpProgram& op = program_.ops[i];
      if (op.selects) return false;
      if (op.action == Action::kCompute && op.input_count == 2) {
        const OperandProgram x = Resolved(op.inputs[0]);
        const OperandProgram y = Resolved(op.inputs[1]);
        const auto fits = [&](const OperandProgram& each) { return Same(each, local) || Takes(op, each); };
        if (Same(x, y) ? !Same(x, local) : !(fits(x) && fits(y))) return false;
      }
      left -= Reads(local, i, i + 1);
      pinned_until_ = i;
      if (left == 0) return true;
    }
    return false;
  }

  void Cast(const OpProgram& op) {
    const bool from_float = KindOf(op.input) == simd::kKindF32;
    const bool to_float = KindOf(op.result) == simd::kKindF32;
    if (from_float && op.to_bool) return Step(stages_.flag);
    if (from_float && op.rounds) Step(stages_.round[op.round]);
    if (!from_float && to_float) Step(stages_.widen);
    if (!from_float || to_float) return;
    if (!op.saturate) return Step(stages_.truncate);
    const IntegerRange range = RangeOf(op.result);
    Step(stages_.saturate, static_cast<uint32_t>(range.low) | static_cast<uint64_t>(static_cast<uint32_t>(range.high))
                                                                  << 32);
  }

  // A holds the result of `op`.
  void Finish(const OpProgram& op) {
    const Format format = FormatOfOperand(op.output);
    if (format == ComputeFormat(format) && !GivesHalves(program_, op)) Step(stages_.fit[op.result]);
    const bool local = op.output.source == Source::kLocal;
    holds_a_ = local || format == ComputeFormat(format);
    a_ = op.output;
    if (holds_b_ && (Same(b_, op.output) || (!local && b_.source == Source::kAccess))) holds_b_ = false;
    if (local) {
      const uint32_t next = at_ + 1 < chain_.last ? Reads(op.output, at_ + 1, at_ + 2) : 0;
      const bool twice = next > 1 && program_.ops[at_ + 1].selects;
      if (reads_[op.output.index] == next && writes_[op.output.index] == 1 && !twice) return;
      if (Pins(op.output)) {
        Step(stages_.same);
        holds_b_ = pinned_ = true;
        b_ = op.output;
        return;
      }
    }
    Store(op.output, format);
  }

  void Store(const OperandProgram& to, Format format) {
    ChainStep step;
    step.memory = ChainStep::Memory::kStore;
    step.operand = to;
    step.code = stages_.store[format];
    if (to.source == Source::kAccess && stages_.stream[format] != nullptr) {
      const AccessProgram& access = program_.accesses[to.index];
      if (access.is_parameter && access.storage_bytes >= kLeastStreamedBytes) {
        step.code = stages_.stream[format];
        chain_.streams = true;
      }
    }
    if (step.code == stages_.store[format]) NoteUse(to);
    chain_.steps.push_back(step);
    ++chain_.memories;
  }

  LeafProgram& program_;
  simd::ChainKernels stages_;
  std::vector<uint32_t> reads_;  // per local: operands
  std::vector<uint32_t> writes_;
  ChainProgram chain_;
  uint32_t at_ = 0;  // the operation that is worked on
  bool holds_a_ = false;
  bool holds_b_ = false;
  bool pinned_ = false;  // B holds a local that is nowhere else
  uint32_t pinned_until_ = 0;
  std::vector<uint32_t> reduced_;                            // locals that the chain's reductions make
  std::vector<std::pair<uint32_t, OperandProgram>> loaded_;  // locals that stand for memory
  OperandProgram a_;
  OperandProgram b_;
};

}  // namespace

void BuildChains(const simd::KernelTable& kernels, LeafProgram* program) {
  if (program->kind == program::LeafKind::kVector) ChainBuilder(kernels, program).Build();
}

}  // namespace pypto::device
