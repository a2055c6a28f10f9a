// Which tensors need memory, and of which class.
#pragma once

#include "pypto/compile/context.h"

namespace pypto::compile {

// Marks the steps whose results somebody reads; stores to parameters are where that begins.
void MarkLive(Context& context);

// The class of every live variable, first match: parameter, seen by one root instance only, written by regions
// (assemble outcast), exclusive outcast. Adds the storages of parameters and outcasts to the plan.
void Classify(Context& context);

// A storage for `tensor`; the caller says of which class.
uint32_t AddStorage(Context& context, TensorId tensor, TensorClass tensor_class);

}  // namespace pypto::compile
