// What a root function lists besides its leaves.
#include "pypto/compile/root_lists.h"

#include <algorithm>
#include <functional>
#include <map>

namespace pypto::compile {
namespace {

using program::ValueRef;

// What the plan format allows for one tile, and for the local values of one tile.
constexpr double kMostTileElements = 1 << 26;

// Sorts, and leaves out repeats and what is inside the instance.
void Tidy(const program::Plan& plan, std::vector<uint32_t>& storages) {
  std::sort(storages.begin(), storages.end());
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
  std::erase_if(storages,
                [&](uint32_t storage) { return plan.storages[storage].tensor_class == TensorClass::kRootInner; });
}

// For each RootInner storage the branch that it is taken in: the one around all leaves that touch it.
std::map<uint32_t, uint32_t> ScopesOfInner(const Context& context, const program::RootFunction& root,
                                           const std::vector<uint32_t>& leaf_scopes) {
  std::map<uint32_t, uint32_t> scopes;
  for (size_t i = 0; i < root.leaves.size(); ++i) {
    for (const program::Access& access : root.leaves[i].accesses) {
      if (context.plan.storages[access.storage].tensor_class != TensorClass::kRootInner) continue;
      const auto [found, added] = scopes.try_emplace(access.storage, leaf_scopes[i]);
      if (!added) found->second = CommonScope(context, found->second, leaf_scopes[i]);
    }
  }
  return scopes;
}

}  // namespace

base::Status CheckTile(const Context& context, const program::Leaf& leaf, const program::SourcePlace& place) {
  if (leaf.kind == program::LeafKind::kWhole) return base::OkStatus();  // works in memory
  double elements = 1;
  for (const int64_t extent : leaf.tile) elements *= static_cast<double>(extent);
  double locals = 0;
  for (const program::Local& local : leaf.locals) {
    double cells = 1;
    for (size_t i = 0; i < leaf.tile.size(); ++i) {
      cells *= static_cast<double>(std::min(local.extents[i], leaf.tile[i]));
    }
    locals += cells;
  }
  if (elements <= kMostTileElements && locals <= kMostTileElements) return base::OkStatus();
  return context.At(place, base::MakeStatus(base::StatusCode::kCompile,
                                            "a tile of %.0f elements with %zu values (%.0f elements) does not fit a "
                                            "core: both must be at most 2^26. Reduce along a shorter axis, or set "
                                            "smaller tile shapes",
                                            elements, leaf.locals.size(), locals));
}

uint32_t CommonScope(const Context& context, uint32_t a, uint32_t b) {
  // A branch has a larger number than the one around it.
  while (a != b) {
    uint32_t& inner = a > b ? a : b;
    inner = context.scopes[inner].parent;
  }
  return a;
}

void ListStorages(const program::Plan& plan, const std::unordered_map<uint32_t, program::WriteKind>& kinds,
                  program::RootFunction& root) {
  std::vector<uint32_t> written;
  for (const program::Leaf& leaf : root.leaves) {
    for (const program::LeafOp& op : leaf.ops) {
      for (const ValueRef& input : op.inputs) {
        if (input.kind == ValueRef::Kind::kAccess) root.reads.push_back(leaf.accesses[input.index].storage);
      }
      if (op.output.kind == ValueRef::Kind::kAccess) written.push_back(leaf.accesses[op.output.index].storage);
    }
  }
  Tidy(plan, root.reads);
  Tidy(plan, written);
  for (const uint32_t storage : written) root.writes.push_back({storage, kinds.at(storage)});
}

void ListExprs(const program::ExprPool& exprs, program::RootFunction& root) {
  std::vector<ExprId> needed;
  const auto add = [&](const std::vector<ExprId>& ids) { needed.insert(needed.end(), ids.begin(), ids.end()); };
  for (const program::Leaf& leaf : root.leaves) {
    if (leaf.guard != kNoExpr) needed.push_back(leaf.guard);
    for (const program::Access& access : leaf.accesses) {
      needed.push_back(access.offset);
      add(access.strides);
      add(access.valid);
      add(access.non_negative);
    }
    for (const program::Local& local : leaf.locals) add(local.valid);
    for (const program::LeafOp& op : leaf.ops) {
      for (const ValueRef& input : op.inputs) {
        const bool symbolic = input.kind == ValueRef::Kind::kExpr || input.kind == ValueRef::Kind::kFloatExpr;
        if (symbolic) needed.push_back(input.index);
      }
    }
  }
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  root.exprs = program::CloseUnderChildren(exprs.nodes(), needed);
}

ExprId InnerBytes(Context& context, const program::RootFunction& root, const std::vector<uint32_t>& leaf_scopes) {
  std::map<uint32_t, std::vector<uint32_t>, std::greater<>> storages;  // per scope, inner ones first
  storages[0];
  for (const auto& [storage, scope] : ScopesOfInner(context, root, leaf_scopes)) storages[scope].push_back(storage);
  std::map<uint32_t, std::map<uint32_t, ExprId>> sides;  // per scope: branches in it, the larger side of each
  program::ExprPool& exprs = context.exprs();
  ExprId bytes = exprs.Const(0);
  for (auto at = storages.begin(); at != storages.end(); ++at) {
    bytes = SumOfBytes(context.plan, at->second);
    for (const auto& [branch, side] : sides[at->first]) bytes = exprs.Add(bytes, side);
    if (at->first == 0) break;
    const Scope& scope = context.scopes[at->first];
    storages[scope.parent];
    ExprId& side = sides[scope.parent].try_emplace(scope.branch, exprs.Const(0)).first->second;
    side = exprs.Max(side, bytes);
  }
  return bytes;
}

}  // namespace pypto::compile
