// From a traced program to a program image.
#pragma once

#include <memory>
#include <string>

#include "pypto/program/image.h"
#include "pypto/program/program.h"

namespace pypto::compile {

struct CompileOptions {
  std::string platform = "a2a3sim";  // a2a3, a5, a2a3sim, a5sim
  program::PlanOptions plan;
};

// Verifies and plans: root functions, leaves, tensor classes, tile grids, directions, workspace sizes. Errors are
// kCompile or kWorkspace with the source place. Pure; any thread.
PYPTO_API base::Result<std::shared_ptr<const program::Image>> Compile(const program::Program& program,
                                                                      const CompileOptions& options);

}  // namespace pypto::compile
