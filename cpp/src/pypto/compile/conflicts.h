// Order between the nodes of one root function that touch the same memory.
#pragma once

#include "pypto/compile/nodes.h"

namespace pypto::compile {

// Fills Node::order: reads after writes, writes after reads and writes after writes, unless the cells are disjoint.
void OrderNodes(Context& context, RootGraph& graph);

}  // namespace pypto::compile
