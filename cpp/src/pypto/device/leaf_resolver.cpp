// Addresses, strides, bounds and numbers of a leaf.
#include "pypto/device/leaf_resolver.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "pypto/base/checked.h"
#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

using program::EvalOutcome;
using program::FaultKind;

constexpr int64_t kNoStrides[program::kMaxRank] = {};

// Works on one leaf; lives for one call of ResolveLeaf.
class Resolver {
 public:
  Resolver(const LeafProgram& leaf, const ResolveTarget& target)
      : leaf_(leaf),
        target_(target),
        launch_(*target.launch),
        frame_(target.launch->frame()),
        arena_(*target.arena),
        fault_(*target.fault) {}

  bool Resolve(LeafRecord* record) {
    record->program = &leaf_;
    if (!frame_.sound() && !CheckExpressions()) return false;
    auto* accesses = arena_.Take<AccessRecord>(leaf_.accesses.size());
    for (size_t i = 0; i < leaf_.accesses.size(); ++i) {
      if (!ResolveAccess(leaf_.accesses[i], &accesses[i])) return false;
    }
    record->accesses = accesses;
    record->bounds = ResolveBounds();
    record->numbers = ResolveNumbers();
    CountTiles(record);
    record->uncut = IsUncut(*record);
    return true;
  }

  // Tells the graph what the leaf touches.
  void Touch(uint32_t number, const LeafRecord& record) const {
    for (size_t i = 0; i < leaf_.accesses.size(); ++i) {
      const AccessProgram& access = leaf_.accesses[i];
      if (access.read_only && !target_.aliased) continue;
      const Place& place = PlaceOf(access);
      Region region;
      if (place.slot == kZeroSlot || !RegionOf(access, place, record.accesses[i], &region)) continue;
      target_.graph->Touch(number, place.space, access.reads, access.writes, region, place.slot == kInnerSlot);
    }
  }

 private:
  bool CheckExpressions() {
    for (const ExprId id : leaf_.uses) {
      const EvalOutcome outcome = frame_.outcome(id);
      if (outcome == EvalOutcome::kDivisionByZero) {
        return fault_.Set(FaultKind::kDivisionByZero, leaf_.place, 0, "division by zero in a symbolic expression");
      }
      if (outcome == EvalOutcome::kOverflow) {
        return fault_.Set(FaultKind::kOverflow, leaf_.place, 0, "a symbolic expression exceeds 64 bits");
      }
    }
    return true;
  }

  // Cells of `valid` inside the extent.
  int64_t Clipped(ExprId valid, int64_t extent) const { return std::clamp<int64_t>(frame_[valid], 0, extent); }

  bool ResolveAccess(const AccessProgram& access, AccessRecord* record) {
    for (const ExprId start : access.non_negative) {
      if (frame_[start] < 0) [[unlikely]] {
        return Refuse(FaultKind::kNegativeOffset, access, frame_[start],
                      "starts at offset " + std::to_string(frame_[start]) + ", before its base");
      }
    }
    const Place& place = PlaceOf(access);
    const int64_t* strides = access.constant_strides.data();
    if (!access.has_constant_strides) {
      auto* values = arena_.Take<int64_t>(static_cast<size_t>(leaf_.rank));
      for (int dim = 0; dim < leaf_.rank; ++dim) values[dim] = frame_[access.strides[dim]];
      strides = values;
    }
    const int64_t offset = frame_[access.offset];
    if (place.slot == kZeroSlot) {
      *record = {0, kNoStrides, kZeroSlot};
      return !access.is_parameter || Inside(access, strides, offset);
    }
    if (!Inside(access, strides, offset)) return false;
    // Outside of the storage only when nothing is accessed.
    *record = {static_cast<int64_t>(place.offset) + offset * access.element_bytes, strides, place.slot};
    return true;
  }

  const Place& PlaceOf(const AccessProgram& access) const {
    const Binding& binding = (*target_.bindings)[access.storage];
    return access.fresh ? binding.after : binding.before;
  }

  // The cells of the valid region. False when there are none.
  bool RegionOf(const AccessProgram& access, const Place& place, const AccessRecord& record, Region* region) const {
    Region::Dim dims[program::kMaxRank];
    int count = 0;
    int64_t low = place.space_base + record.offset - static_cast<int64_t>(place.offset);
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      const int64_t cells = Clipped(access.valid[dim], access.extents[dim]);
      if (cells == 0) return false;
      int64_t stride = record.strides[dim] * access.element_bytes;
      if (cells == 1 || stride == 0) continue;
      if (stride < 0) low += stride * (cells - 1);
      dims[count++] = {std::abs(stride), cells};
    }
    *region = MakeRegion(low, access.element_bytes, dims, count);
    return true;
  }

  // Whether every cell of the valid region lies inside the storage. An empty region does.
  bool Inside(const AccessProgram& access, const int64_t* strides, int64_t offset) {
    int64_t low = offset;
    int64_t high = offset;
    bool overflow = false;
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      const int64_t cells = Clipped(access.valid[dim], access.extents[dim]);
      if (cells == 0) return true;
      int64_t reach = 0;
      overflow = __builtin_mul_overflow(cells - 1, strides[dim], &reach) || overflow;
      int64_t& end = reach < 0 ? low : high;
      overflow = __builtin_add_overflow(end, reach, &end) || overflow;
    }
    const int64_t elements = launch_.storage_size(access.storage).elements;
    if (!overflow && low >= 0 && high < elements) [[likely]]
      return true;
    return Refuse(FaultKind::kBadAddress, access, overflow || low < 0 ? low : high,
                  "leaves a tensor of " + std::to_string(elements) + " elements: it is elements " +
                      std::to_string(low) + " to " + std::to_string(high));
  }

  // A fault that names the operation, at its line, and the tensor.
  bool Refuse(FaultKind kind, const AccessProgram& access, int64_t value, const std::string& why) {
    const auto uses = [&](const OperandProgram& operand) {
      return operand.source == Source::kAccess && &leaf_.accesses[operand.index] == &access;
    };
    for (const OpProgram& op : leaf_.ops) {
      const bool writes = uses(op.output);
      const bool reads = std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count, uses);
      if (!writes && !reads) continue;
      return fault_.Set(kind, op.place != 0 ? op.place : leaf_.place, value,
                        std::string(op.name) + (writes ? ": what it writes of '" : ": what it reads of '") +
                            std::string(access.name) + "' " + why);
    }
    return fault_.Set(kind, leaf_.place, value, "'" + std::string(access.name) + "' " + why);
  }

  // Valid extent of an operand in a dim, or -1 where it does not vary.
  int64_t Valid(const OperandProgram& operand, int dim) const {
    if (operand.source == Source::kNumber) return -1;
    const bool access = operand.source == Source::kAccess;
    const Extents& extents = access ? leaf_.accesses[operand.index].extents : leaf_.locals[operand.index].extents;
    const auto& valid = access ? leaf_.accesses[operand.index].valid : leaf_.locals[operand.index].valid;
    const int64_t cells = Clipped(valid[dim], extents[dim]);
    return extents[dim] > 1 || cells == 0 ? cells : -1;
  }

  const int64_t* ResolveBounds() {
    const auto rank = static_cast<size_t>(leaf_.rank);
    const bool cube = leaf_.kind == program::LeafKind::kCube;
    if (leaf_.kind == program::LeafKind::kWhole) return WholeBounds(leaf_.ops[0]);
    auto* bounds = arena_.Take<int64_t>(leaf_.ops.size() * rank + (cube ? 1 : 0));
    for (size_t i = 0; i < leaf_.ops.size(); ++i) {
      int64_t* to = bounds + i * rank;
      cube ? ProductBounds(leaf_.ops[i], to) : OperationBounds(leaf_.ops[i], to);
    }
    return bounds;
  }

  // Valid extents of the output, then of each input.
  const int64_t* WholeBounds(const OpProgram& op) {
    const auto rank = static_cast<size_t>(leaf_.rank);
    auto* bounds = arena_.Take<int64_t>((1 + op.input_count) * rank);
    for (size_t operand = 0; operand <= op.input_count; ++operand) {
      const OperandProgram& which = operand == 0 ? op.output : op.inputs[operand - 1];
      for (size_t dim = 0; dim < rank; ++dim) {
        int64_t& bound = bounds[operand * rank + dim];
        bound = 1;
        if (which.source != Source::kAccess) continue;
        const AccessProgram& access = leaf_.accesses[which.index];
        bound = Clipped(access.valid[dim], access.extents[dim]);
      }
    }
    return bounds;
  }

  // The valid region of the output where all inputs have a value; along the axis of a reduction that of the input.
  void OperationBounds(const OpProgram& op, int64_t* bounds) const {
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      const int64_t own = Valid(op.output, dim);
      if (op.action == Action::kReduce && dim == op.axis) {
        const int64_t length = Valid(op.inputs[0], dim);
        // Where the output holds nothing along the axis, there is nothing to store.
        bounds[dim] = own == 0 ? -1 : (length < 0 ? 1 : length);
        continue;
      }
      int64_t bound = own < 0 ? 1 : own;
      for (int input = 0; input < op.input_count; ++input) {
        const int64_t other = Valid(op.inputs[input], dim);
        if (other >= 0) bound = std::min(bound, other);
      }
      bounds[dim] = bound;
    }
  }

  void ProductBounds(const OpProgram& op, int64_t* bounds) const {
    const int rank = leaf_.rank;
    const AccessProgram& a = leaf_.accesses[op.inputs[0].index];
    const AccessProgram& b = leaf_.accesses[op.inputs[1].index];
    const AccessProgram& c = leaf_.accesses[op.output.index];
    for (int dim = 0; dim < rank; ++dim) {
      int64_t bound = Clipped(c.valid[dim], c.extents[dim]);
      if (dim != rank - 1) bound = std::min(bound, BatchOrRow(a, dim));
      if (dim != rank - 2) bound = std::min(bound, BatchOrRow(b, dim));
      bounds[dim] = bound;
    }
    bounds[rank] =
        std::min(Clipped(a.valid[rank - 1], a.extents[rank - 1]), Clipped(b.valid[rank - 2], b.extents[rank - 2]));
  }

  // An operand with one matrix serves every batch.
  int64_t BatchOrRow(const AccessProgram& access, int dim) const {
    const int64_t cells = Clipped(access.valid[dim], access.extents[dim]);
    return access.extents[dim] == 1 && cells == 1 ? leaf_.extents[dim] : cells;
  }

  const uint64_t* ResolveNumbers() {
    if (leaf_.constant_numbers) return leaf_.number_bits.data();
    auto* numbers = arena_.Take<uint64_t>(leaf_.numbers.size());
    for (size_t i = 0; i < leaf_.numbers.size(); ++i) numbers[i] = NumberBits(leaf_.numbers[i]);
    return numbers;
  }

  uint64_t NumberBits(const NumberProgram& number) const {
    switch (number.kind) {
      case NumberProgram::Kind::kConstant: return number.bits;
      case NumberProgram::Kind::kExpr: return number.BitsOf(frame_[number.expr]);
      case NumberProgram::Kind::kFloatExpr: return number.BitsOf(std::bit_cast<double>(frame_[number.expr]));
      case NumberProgram::Kind::kScalar: break;
    }
    return number.BitsOf(launch_.float_scalars()[number.scalar]);
  }

  bool IsUncut(const LeafRecord& record) const {
    if (leaf_.kind != program::LeafKind::kVector) return false;
    for (size_t i = 0; i < leaf_.accesses.size(); ++i) {
      if (record.accesses[i].slot == kZeroSlot) return false;
    }
    const int64_t* bound = record.bounds;
    for (const OpProgram& op : leaf_.ops) {
      for (int dim = 0; dim < leaf_.rank; ++dim, ++bound) {
        if (*bound < (op.varies[dim] ? leaf_.extents[dim] : 1)) return false;
      }
    }
    return true;
  }

  void CountTiles(LeafRecord* record) const {
    record->tiles = 1;
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      int64_t reach = 0;
      for (size_t i = 0; i < leaf_.ops.size(); ++i) {
        const OpProgram& op = leaf_.ops[i];
        int64_t bound = record->bounds[i * static_cast<size_t>(leaf_.rank) + static_cast<size_t>(dim)];
        if (op.action == Action::kReduce && dim == op.axis) bound = bound < 0 ? 0 : std::max<int64_t>(bound, 1);
        reach = std::max(reach, bound);
      }
      record->grid[dim] = (reach + leaf_.tile[dim] - 1) / leaf_.tile[dim];
      record->tiles *= record->grid[dim];
    }
  }

  const LeafProgram& leaf_;
  const ResolveTarget& target_;
  LaunchState& launch_;
  ExprFrame& frame_;
  RecordArena& arena_;
  Fault& fault_;
};

}  // namespace

bool ResolveLeaf(const LeafProgram& leaf, uint32_t number, const ResolveTarget& target, LeafRecord* record) {
  Resolver resolver(leaf, target);
  if (!resolver.Resolve(record)) return false;
  if (target.graph != nullptr && record->tiles > 0) resolver.Touch(number, *record);
  return true;
}

}  // namespace pypto::device
