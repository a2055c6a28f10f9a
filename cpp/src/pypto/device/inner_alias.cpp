// Compares the two accesses of a copy, and looks for other writers.
#include "pypto/device/inner_alias.h"

#include <algorithm>

namespace pypto::device {
namespace {

bool IsInner(const program::Plan& plan, uint32_t storage) {
  return plan.storages[storage].tensor_class == program::TensorClass::kRootInner;
}

bool SameCells(const AccessProgram& a, const AccessProgram& b) {
  return a.format == b.format && a.offset == b.offset && a.strides == b.strides && a.extents == b.extents &&
         a.valid == b.valid;
}

InnerAlias AliasOf(const program::Plan& plan, const LeafProgram& leaf) {
  InnerAlias alias;
  if (leaf.kind != program::LeafKind::kVector || leaf.ops.size() != 1 || leaf.accesses.size() != 2) return alias;
  const OpProgram& op = leaf.ops[0];
  const bool copies = op.action == Action::kCopy && op.code == program::OpCode::kCopy && op.input == op.result;
  if (!copies || op.output.source != Source::kAccess || op.inputs[0].source != Source::kAccess) return alias;
  const AccessProgram& to = leaf.accesses[op.output.index];
  const AccessProgram& from = leaf.accesses[op.inputs[0].index];
  if (to.storage == from.storage || !SameCells(to, from)) return alias;
  if (!IsInner(plan, to.storage) || !IsInner(plan, from.storage)) return alias;
  if (plan.storages[to.storage].bytes != plan.storages[from.storage].bytes) return alias;
  alias.target = to.storage;
  alias.source = from.storage;
  return alias;
}

bool Writes(const LeafProgram& leaf, uint32_t storage) {
  return std::any_of(leaf.accesses.begin(), leaf.accesses.end(),
                     [storage](const AccessProgram& access) { return access.writes && access.storage == storage; });
}

}  // namespace

std::vector<InnerAlias> FindAliases(const program::Plan& plan, const std::vector<LeafProgram>& leaves) {
  std::vector<InnerAlias> aliases;
  for (uint32_t i = 0; i < leaves.size(); ++i) {
    aliases.push_back(AliasOf(plan, leaves[i]));
    InnerAlias& alias = aliases.back();
    if (alias.target == InnerAlias::kNone) continue;
    for (uint32_t other = 0; other < leaves.size(); ++other) {
      const bool conflicts = Writes(leaves[other], alias.target) || (other > i && Writes(leaves[other], alias.source));
      if (other != i && conflicts) alias.conflicts.push_back(other);
    }
  }
  return aliases;
}

}  // namespace pypto::device
