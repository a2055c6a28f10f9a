// What a worker counts, and where its memory is.
#pragma once

#include <cstdint>
#include <string>

namespace pypto::runtime {

// Exact, since the worker was opened. Copies and bytes are those of user data (arguments, resident tensors, raw
// copies); inline bytes travel with the launch and are no copy.
struct Counters {
  uint64_t h2d_copies = 0;
  uint64_t h2d_bytes = 0;
  uint64_t d2h_copies = 0;
  uint64_t d2h_bytes = 0;
  uint64_t inline_bytes = 0;
  uint64_t launches = 0;
  uint64_t program_loads = 0;
  uint64_t program_unloads = 0;
  uint64_t device_mallocs = 0;  // calls of the library's allocator, not of ours
  uint64_t device_frees = 0;
  uint64_t statistics_reads = 0;
};

// Bytes. The kinds are what callers asked for; cached is what the pool holds and nobody uses.
struct MemoryInfo {
  uint64_t free = 0;   // of the device
  uint64_t total = 0;  // of the device
  uint64_t resident = 0;
  uint64_t staging = 0;
  uint64_t workspace = 0;
  uint64_t programs = 0;  // statistics blocks; code is counted by the library
  uint64_t cached = 0;
};

// Where the time of one dispatch went, in nanoseconds. Clocks are read only when a caller asks for it.
struct RoundTimes {
  int64_t host_ns = 0;    // whole dispatch inside the core
  int64_t copy_ns = 0;    // copies to the device and back
  int64_t launch_ns = 0;  // launch and wait
  int64_t device_ns = 0;  // start to end on the device's clock
};

}  // namespace pypto::runtime
