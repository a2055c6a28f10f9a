// What a root function lists besides its leaves: storages, expressions, bytes.
#pragma once

#include <unordered_map>
#include <vector>

#include "pypto/compile/context.h"

namespace pypto::compile {

// A tile of the leaf and its local values have to fit a core; kCompile with the place.
base::Status CheckTile(const Context& context, const program::Leaf& leaf, const program::SourcePlace& place);

// The innermost branch that holds both.
uint32_t CommonScope(const Context& context, uint32_t a, uint32_t b);

// RootFunction::reads and writes; `kinds` says how each storage is written.
void ListStorages(const program::Plan& plan, const std::unordered_map<uint32_t, program::WriteKind>& kinds,
                  program::RootFunction& root);

// RootFunction::exprs.
void ListExprs(const program::ExprPool& exprs, program::RootFunction& root);

// Most RootInner bytes of one instance: storages add up; of the two sides of a branch the larger counts.
// `leaf_scopes`: the branch of each leaf.
ExprId InnerBytes(Context& context, const program::RootFunction& root, const std::vector<uint32_t>& leaf_scopes);

}  // namespace pypto::compile
