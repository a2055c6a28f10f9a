// Timing marks: [STRACE] records of where a dispatch spends its time. A switch of its own, no log level.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "pypto/base/sha256.h"
#include "pypto/base/status.h"

namespace pypto::runtime {

namespace detail {
PYPTO_API extern std::atomic<bool> trace_on;
}  // namespace detail

// One relaxed load. Thread-safe.
inline bool TraceOn() noexcept { return detail::trace_on.load(std::memory_order_relaxed); }

// "" or "off"; "stderr"; "plog"; anything else is the path of a file that records are appended to (kIo when it cannot
// be opened, and the old target stays). The call wins over PYPTO_STRACE. Thread-safe.
PYPTO_API base::Status SetTrace(std::string_view target);
// Every record goes to the function, from the dispatching thread; empty: off. Thread-safe.
PYPTO_API void SetTraceCallback(std::function<void(std::string_view record)> callback);
// Follows PYPTO_STRACE unless a call was made before; the first time only. Thread-safe.
void ApplyTraceEnvironment();

struct TraceSpan {
  std::string_view name;  // dotted
  int depth = 0;
  int64_t begin_ns = 0;  // monotonic clock
  int64_t duration_ns = 0;
  std::string_view extra;  // "clk=dev", may be empty
};
// One record per span, of one dispatch of one program.
void WriteTrace(const base::Digest& program, std::span<const TraceSpan> spans);

}  // namespace pypto::runtime
