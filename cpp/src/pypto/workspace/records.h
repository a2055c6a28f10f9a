// Texts of the [Workspace Runtime …] records, without the log prefix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pypto/base/export.h"
#include "pypto/workspace/recommendation.h"

namespace pypto::workspace {

// One per device task and copy: the state when the task is closed.
PYPTO_API std::string PoolRecord(std::string_view kernel, uint32_t parallel_id, const PoolUsage& usage);
// One per device task.
PYPTO_API std::string TuningRecord(std::string_view kernel, uint64_t task_id, uint64_t stitch_count,
                                   const PerPoolDepths& configured, const PerPoolDepths& recommended);
// One per copy at the end of a launch; `current` is not printed.
PYPTO_API std::string SummaryRecord(std::string_view kernel, uint32_t parallel_id, const PoolUsage& usage);
// One at the end of a launch.
PYPTO_API std::string RecommendationRecord(std::string_view kernel, const Recommendation& recommendation);
// One for each task that a full pool closed.
PYPTO_API std::string AllocFailureRecord(std::string_view kernel, uint64_t task_id, Pool pool, uint64_t requested,
                                         uint64_t available, uint64_t capacity);

}  // namespace pypto::workspace
