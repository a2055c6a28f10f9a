// Places in the source of kernels, in words.
#pragma once

#include <cstdint>
#include <string>

#include "pypto/program/plan.h"

namespace pypto::program {

// A place as a user finds it: path and line of the file where this process has it, else name and line from the `def`.
struct Location {
  std::string file;
  int32_t line = 0;  // 0: unknown
  bool in_file = false;
};
PYPTO_API Location LocationOf(const DebugInfo& debug, const SourcePlace& place);

// Line `line` of a function, its `def` being line 1, as it stands there; empty when unknown.
PYPTO_API std::string LineOf(const SourceFile& file, int32_t line);

// The lines under an error's message: file, line, column and function; what the line says; a mark under the column.
// Each begins with a line break. Empty for an unknown place.
PYPTO_API std::string PointAt(const DebugInfo& debug, const SourcePlace& place);

}  // namespace pypto::program
