// Compares the two accesses of a copy or multiplication, and looks for other readers and writers.
#include "pypto/device/inner_alias.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pypto::device {
namespace {

bool IsInner(const program::Plan& plan, uint32_t storage) {
  return plan.storages[storage].tensor_class == program::TensorClass::kRootInner;
}

bool SameCells(const AccessProgram& a, const AccessProgram& b) {
  return a.format == b.format && a.offset == b.offset && a.strides == b.strides && a.extents == b.extents &&
         a.valid == b.valid;
}

// Of the only operation of a leaf: the same cells of two root-inner tensors, from `input` to its output.
InnerAlias AliasOf(const program::Plan& plan, const LeafProgram& leaf, const OperandProgram& input) {
  InnerAlias alias;
  const OpProgram& op = leaf.ops[0];
  if (op.output.source != Source::kAccess || input.source != Source::kAccess) return alias;
  const AccessProgram& to = leaf.accesses[op.output.index];
  const AccessProgram& from = leaf.accesses[input.index];
  if (to.storage == from.storage || !SameCells(to, from)) return alias;
  if (!IsInner(plan, to.storage) || !IsInner(plan, from.storage)) return alias;
  if (plan.storages[to.storage].bytes != plan.storages[from.storage].bytes) return alias;
  alias.target = to.storage;
  alias.source = from.storage;
  return alias;
}

bool HasOneOperation(const LeafProgram& leaf) {
  return leaf.kind == program::LeafKind::kVector && leaf.ops.size() == 1 && leaf.accesses.size() == 2;
}

InnerAlias CopyOf(const program::Plan& plan, const LeafProgram& leaf) {
  if (!HasOneOperation(leaf)) return {};
  const OpProgram& op = leaf.ops[0];
  const bool copies = op.action == Action::kCopy && op.code == program::OpCode::kCopy && op.input == op.result;
  return copies ? AliasOf(plan, leaf, op.inputs[0]) : InnerAlias{};
}

bool Touches(const LeafProgram& leaf, uint32_t storage) {
  return std::any_of(leaf.accesses.begin(), leaf.accesses.end(),
                     [storage](const AccessProgram& access) { return access.storage == storage; });
}

bool Writes(const LeafProgram& leaf, uint32_t storage) {
  return std::any_of(leaf.accesses.begin(), leaf.accesses.end(),
                     [storage](const AccessProgram& access) { return access.writes && access.storage == storage; });
}

// What the leaf multiplies by: a number above 0, so that a sum of no terms stays 0. Otherwise 1.
float FactorOf(const LeafProgram& leaf, int* value) {
  const OpProgram& op = leaf.ops[0];
  const bool multiplies = op.action == Action::kCompute && op.code == program::OpCode::kMul &&
                          op.kind == simd::kKindF32 && op.result == simd::kF32 && op.input == simd::kF32;
  if (!multiplies) return 1;
  *value = op.inputs[0].source == Source::kAccess ? 0 : 1;
  const OperandProgram& other = op.inputs[1 - *value];
  if (other.source != Source::kNumber) return 1;
  const NumberProgram& number = leaf.numbers[other.index];
  if (number.kind != NumberProgram::Kind::kConstant || number.is_double) return 1;
  const auto factor = std::bit_cast<float>(static_cast<uint32_t>(number.bits));
  return std::isfinite(factor) && factor > 0 ? factor : 1;
}

// A multiplication of what one product, and nothing else, makes for it alone.
InnerAlias FoldFactor(const program::Plan& plan, uint32_t index, std::vector<LeafProgram>* leaves) {
  const LeafProgram& leaf = (*leaves)[index];
  if (!HasOneOperation(leaf) || leaf.guard != program::kNoExpr) return {};
  int value = 0;
  const float factor = FactorOf(leaf, &value);
  if (factor == 1) return {};
  InnerAlias alias = AliasOf(plan, leaf, leaf.ops[0].inputs[value]);
  if (alias.target == InnerAlias::kNone) return {};
  LeafProgram* product = nullptr;
  for (uint32_t other = 0; other < leaves->size(); ++other) {
    LeafProgram& candidate = (*leaves)[other];
    if (other == index) continue;
    if (Writes(candidate, alias.target)) return {};
    if (!Touches(candidate, alias.source)) continue;
    if (product != nullptr || other > index || candidate.kind != program::LeafKind::kCube) return {};
    product = &candidate;
  }
  if (product == nullptr || product->guard != program::kNoExpr || !Writes(*product, alias.source)) return {};
  const bool sums = product->accesses[product->ops[0].output.index].format == simd::kF32;
  if (!sums || product->matmul.kind == simd::kGemmInt8) return {};
  product->matmul.scale = factor;
  return alias;
}

}  // namespace

std::vector<InnerAlias> FindAliases(const program::Plan& plan, std::vector<LeafProgram>* leaves) {
  std::vector<InnerAlias> aliases;
  for (uint32_t i = 0; i < leaves->size(); ++i) {
    aliases.push_back(FoldFactor(plan, i, leaves));
    if (aliases.back().target != InnerAlias::kNone) continue;
    aliases.back() = CopyOf(plan, (*leaves)[i]);
    InnerAlias& alias = aliases.back();
    if (alias.target == InnerAlias::kNone) continue;
    for (uint32_t other = 0; other < leaves->size(); ++other) {
      const LeafProgram& leaf = (*leaves)[other];
      const bool conflicts = Writes(leaf, alias.target) || (other > i && Writes(leaf, alias.source));
      if (other != i && conflicts) alias.conflicts.push_back(other);
    }
  }
  return aliases;
}

}  // namespace pypto::device
