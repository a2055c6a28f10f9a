// Counts the valid cells of each access, tile by tile.
#include "pypto/device/leaf_traffic.h"

#include <algorithm>
#include <vector>

namespace pypto::device {
namespace {

using program::OpCode;

// The tiles of one call of AddTraffic.
class Traffic {
 public:
  explicit Traffic(const LeafRecord& record) : record_(record), leaf_(*record.program) {
    std::vector<uint8_t> read(leaf_.accesses.size());
    std::vector<uint8_t> written(leaf_.accesses.size());
    for (uint32_t i = 0; i < leaf_.ops.size(); ++i) {
      for (uint32_t operand = 0; operand <= leaf_.ops[i].input_count; ++operand) {
        const OperandProgram& of = OperandOf(i, operand);
        if (of.source != Source::kAccess || record.accesses[of.index].slot == kZeroSlot) continue;
        uint8_t& seen = (operand == 0 ? written : read)[of.index];
        if (seen == 0) counted_.push_back({i, operand});
        seen = 1;
      }
    }
  }

  // Adds what the tile at the place moves; gives the sum.
  uint64_t Add(uint64_t* bytes) const {
    uint64_t sum = 0;
    for (const Counted& counted : counted_) {
      const uint64_t moved = OperandBytes(counted.operation, counted.operand);
      bytes[counted.operation] += moved;
      sum += moved;
    }
    return sum;
  }

  void Place(int64_t tile) { PlaceTile(record_, tile, begin_.data()); }

 private:
  // Operand 0 is the output.
  struct Counted {
    uint32_t operation;
    uint32_t operand;
  };

  const OperandProgram& OperandOf(size_t operation, size_t operand) const {
    const OpProgram& op = leaf_.ops[operation];
    return operand == 0 ? op.output : op.inputs[operand - 1];
  }

  uint64_t OperandBytes(size_t operation, size_t operand) const {
    if (leaf_.ops[operation].code == OpCode::kBytes) operand = 0;  // a tile reads as many bytes as it writes
    const AccessProgram& access = leaf_.accesses[OperandOf(operation, operand).index];
    int64_t cells = 1;
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      cells *= std::max<int64_t>(Cells(operation, operand, access, dim), 0);
    }
    return static_cast<uint64_t>(cells) * access.element_bytes;
  }

  int64_t InTile(int64_t bound, int dim) const { return std::min(bound - begin_[dim], leaf_.tile[dim]); }

  int64_t Cells(size_t operation, size_t operand, const AccessProgram& access, int dim) const {
    switch (leaf_.kind) {
      case program::LeafKind::kCube: return ProductCells(operand, access, dim);
      case program::LeafKind::kWhole: return WholeCells(leaf_.ops[operation], operand, dim);
      case program::LeafKind::kVector: break;
    }
    if (access.extents[dim] <= 1) return operand == 0 && begin_[dim] != 0 ? 0 : 1;
    const int64_t bound = record_.bounds[operation * static_cast<size_t>(leaf_.rank) + static_cast<size_t>(dim)];
    return InTile(bound, dim);
  }

  // The pieces of a tile read B together.
  bool FirstPiece() const {
    const int row = leaf_.rank - 2;
    return begin_[row] / leaf_.tile[row] % leaf_.matmul.pieces == 0;
  }

  // A is batch…, M, K; B is batch…, K, N.
  int64_t ProductCells(size_t operand, const AccessProgram& access, int dim) const {
    const int k_dim = operand == 1 ? leaf_.rank - 1 : operand == 2 ? leaf_.rank - 2 : -1;
    if (dim == k_dim) return FirstPiece() || operand != 2 ? record_.bounds[leaf_.rank] : 0;
    return access.extents[dim] <= 1 && dim < leaf_.rank - 2 ? 1 : InTile(record_.bounds[dim], dim);
  }

  // Of what an operation picks rows or cells from, or writes some into, those count.
  int64_t WholeCells(const OpProgram& op, size_t operand, int dim) const {
    const bool picks = op.code == OpCode::kGather || program::ChoosesSlices(op.code);
    const bool writes_some =
        op.code == OpCode::kScatter || op.code == OpCode::kIndexPut || op.code == OpCode::kIndexAdd;
    size_t like = operand;
    if (picks && operand == 1) like = 0;
    if (writes_some && operand <= 1) like = op.code == OpCode::kIndexAdd ? 3 : 2;
    if (like > op.input_count) like = operand;
    const int64_t bound = record_.bounds[like * static_cast<size_t>(leaf_.rank) + static_cast<size_t>(dim)];
    const bool split = leaf_.tile[dim] < leaf_.extents[dim] && bound > 1;
    return split && !(writes_some && IsIndexOfSlices(op, operand)) ? InTile(bound, dim) : bound;
  }

  const LeafRecord& record_;
  const LeafProgram& leaf_;
  Extents begin_{};               // of the tile
  std::vector<Counted> counted_;  // operands that touch memory first
};

}  // namespace

uint64_t AddTraffic(const LeafRecord& record, int64_t first, int64_t last, uint64_t* bytes) {
  Traffic traffic(record);
  uint64_t sum = 0;
  for (int64_t tile = first; tile < last; ++tile) {
    traffic.Place(tile);
    sum += traffic.Add(bytes);
  }
  return sum;
}

}  // namespace pypto::device
