// Looks for the one leaf that writes an outcast, and for who reads it.
#include "pypto/device/in_place.h"

#include <algorithm>
#include <optional>

namespace pypto::device {
namespace {

bool IsOutcast(const program::Plan& plan, uint32_t storage) {
  const program::TensorClass kind = plan.storages[storage].tensor_class;
  return kind == program::TensorClass::kExclusiveOutcast || kind == program::TensorClass::kAssembleOutcast;
}

bool ReadsOld(const AccessProgram& access, uint32_t storage) {
  return access.storage == storage && access.reads && !access.fresh;
}

bool SameCells(const AccessProgram& a, const AccessProgram& b) {
  return a.format == b.format && a.offset == b.offset && a.strides == b.strides && a.extents == b.extents;
}

// Each cell belongs to one block of one tile.
bool LiesInOneBlock(const LeafProgram& leaf, const AccessProgram& access) {
  for (int dim = 0; dim < leaf.rank; ++dim) {
    if (access.extents[dim] == leaf.extents[dim]) continue;
    if (leaf.tile[dim] != leaf.extents[dim]) return false;
    if (leaf.has_blocks && leaf.block[dim] != leaf.tile[dim]) return false;
  }
  return true;
}

bool CellByCell(const OpProgram& op) {
  return op.action == Action::kCompute || op.action == Action::kCast || op.action == Action::kCopy;
}

// The old cells are read by operations up to the one that writes the new ones, and are the same.
bool UpdatesCells(const LeafProgram& leaf, uint32_t storage) {
  std::optional<size_t> writer;
  for (size_t i = 0; i < leaf.ops.size(); ++i) {
    const OperandProgram& output = leaf.ops[i].output;
    if (output.source != Source::kAccess || leaf.accesses[output.index].storage != storage) continue;
    if (writer) return false;
    writer = i;
  }
  if (!writer) return false;
  const AccessProgram& written = leaf.accesses[leaf.ops[*writer].output.index];
  bool reads = false;
  for (size_t i = 0; i < leaf.ops.size(); ++i) {
    const OpProgram& op = leaf.ops[i];
    for (int input = 0; input < op.input_count; ++input) {
      if (op.inputs[input].source != Source::kAccess) continue;
      const AccessProgram& access = leaf.accesses[op.inputs[input].index];
      if (!ReadsOld(access, storage)) continue;
      if (i > *writer || (i == *writer && !CellByCell(op)) || !SameCells(access, written)) return false;
      reads = true;
    }
  }
  return reads && LiesInOneBlock(leaf, written);
}

bool Writes(const LeafProgram& leaf, uint32_t storage) {
  return std::find(leaf.written.begin(), leaf.written.end(), storage) != leaf.written.end();
}

bool Updates(const std::vector<LeafProgram>& leaves, uint32_t storage) {
  const auto writes = [storage](const LeafProgram& leaf) { return Writes(leaf, storage); };
  if (std::count_if(leaves.begin(), leaves.end(), writes) != 1) return false;
  const auto writer = std::find_if(leaves.begin(), leaves.end(), writes);
  return writer->kind == program::LeafKind::kVector && UpdatesCells(*writer, storage);
}

}  // namespace

OutcastUse FindUses(const program::Plan& plan, const std::vector<LeafProgram>& leaves,
                    const std::vector<bool>& begins_new) {
  OutcastUse use;
  use.updates.resize(plan.storages.size());
  for (const LeafProgram& leaf : leaves) {
    for (const AccessProgram& access : leaf.accesses) {
      if (!IsOutcast(plan, access.storage) || !ReadsOld(access, access.storage)) continue;
      use.read.push_back(access.storage);
    }
  }
  std::sort(use.read.begin(), use.read.end());
  use.read.erase(std::unique(use.read.begin(), use.read.end()), use.read.end());
  for (const uint32_t storage : use.read) use.updates[storage] = begins_new[storage] && Updates(leaves, storage);
  return use;
}

}  // namespace pypto::device
