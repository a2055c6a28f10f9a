// Where the time of one launch went: by leaf, by source line and by run of tiles.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pypto/base/export.h"
#include "pypto/base/status.h"
#include "pypto/program/image.h"
#include "pypto/program/launch_block.h"

namespace pypto::runtime {

// One operation in all tiles of its leaf.
struct ProfileOperation {
  std::string name;
  std::string file;  // base name, of a helper in an image from a file with its own name behind a colon
  std::string path;  // of the file; empty in an image from a file
  int32_t line = 0;  // of the file; in an image from a file from the `def` on. 0: unknown
  double ns = 0;     // with its share of what the leaf spends around its operations
  uint64_t bytes = 0;
};

// All instances of one leaf of the plan.
struct ProfileLeaf {
  uint32_t leaf = 0;  // among all leaves of the plan
  std::string root;   // the root function
  std::string kind;   // vector, cube, whole
  std::string file;
  int32_t line = 0;
  std::vector<ProfileOperation> operations;
  uint64_t instances = 0;
  uint64_t tiles = 0;
  double ns = 0;  // on all cores together
  uint64_t bytes = 0;
};

// Neighbouring tiles of one leaf of one instance, on one core.
struct ProfileRun {
  uint32_t leaf = 0;
  uint32_t task = 0;
  uint32_t number = 0;  // of the leaf in the task
  uint32_t core = 0;
  double begin_ns = 0;  // since the launch began on the device
  double ns = 0;
  uint64_t tiles = 0;
  uint64_t bytes = 0;
};

// All operations of one source line. The lines together take what the leaves take.
struct ProfileLine {
  std::string file;
  std::string path;
  int32_t line = 0;
  std::string text;                     // of the line, without the blanks around it
  std::vector<std::string> operations;  // each name once
  double ns = 0;                        // on all cores together
  uint64_t bytes = 0;
  uint64_t tiles = 0;  // of leaves with an operation of this line
};

// A value. Bytes count what tiles read from memory and write to it, each tile for itself.
struct PYPTO_API LaunchProfile {
  std::string kernel;
  double device_ns = 0;  // start to end on the device's clock
  double busy_ns = 0;    // in leaves, on all cores together
  uint32_t cores = 0;
  uint64_t root_instances = 0;
  uint64_t device_tasks = 0;
  uint64_t leaf_tiles = 0;
  uint64_t dropped_runs = 0;        // that are in no run, but in all sums
  std::vector<ProfileLeaf> leaves;  // that ran, in the order of the plan
  std::vector<ProfileRun> runs;     // by their begin
  std::vector<ProfileLine> lines;   // the longest first

  // A table of the lines.
  std::string ToText() const;
  // A JSON file for chrome://tracing or Perfetto: one track per core.
  std::string ToChromeTrace() const;
};

// Runs that a profile keeps.
inline constexpr uint64_t kMostProfiledRuns = 65536;

// Room for the profile of any launch of the program, without the task block in front of it.
uint64_t ProfileBytesOf(const program::Plan& plan) noexcept;

// From the bytes that the engine wrote. kProgramFormat when they do not fit the program.
base::Result<LaunchProfile> ReadProfile(const program::Image& image, const program::LaunchStatistics& statistics,
                                        std::span<const std::byte> bytes);

}  // namespace pypto::runtime
