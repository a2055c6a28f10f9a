// From a partitioned root function to the leaves of the plan.
#pragma once

#include "pypto/compile/leaves.h"

namespace pypto::compile {

// Adds the root function of a run to the plan, with the storages of what crosses its leaves. kCompile when a tile is
// too large for a core.
base::Status EmitRoot(Context& context, uint32_t run, RootGraph& graph, const LeafPartition& partition);

}  // namespace pypto::compile
