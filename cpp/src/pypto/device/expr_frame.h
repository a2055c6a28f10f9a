// Values of a plan's expressions during one launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pypto/device/executable.h"
#include "pypto/program/expr.h"

namespace pypto::device {

// Constants and launch-wide values are filled in once; what depends on a loop index or a slot is updated as control
// flow proceeds. A division by zero or an overflow counts only where its value is used: a branch that is not taken may
// hold one. Owned by the engine. Thread rule: one thread at a time.
class ExprFrame {
 public:
  // Sets everything that needs no loop index and no slot. Allocates only when the executable is larger than any before.
  void Reset(const LoadedExecutable& executable, std::span<const int64_t> symbols, std::span<const int64_t> scalars);
  // Evaluates the expressions `ids` (ascending, all with a loop index or a slot) for the present ones.
  void Update(std::span<const ExprId> ids) {
    if (ids.empty()) return;
    if (sound_ && program::EvaluateNodes(nodes_, ids, environment_, values_) == program::EvalOutcome::kOk) return;
    UpdateSlowly(ids);
  }

  int64_t operator[](ExprId id) const { return values_[id]; }
  // No expression evaluated so far has failed.
  bool sound() const { return sound_; }
  program::EvalOutcome outcome(ExprId id) const {
    return sound_ ? program::EvalOutcome::kOk : static_cast<program::EvalOutcome>(outcomes_[id]);
  }
  int64_t& loop_index(uint32_t loop) { return loop_indices_[loop]; }
  int64_t& slot(uint32_t slot) { return slots_[slot]; }

 private:
  void UpdateSlowly(std::span<const ExprId> ids);
  program::EvalOutcome EvaluateOne(ExprId id);

  std::span<const program::ExprNode> nodes_;
  program::ExprEnvironment environment_;
  std::vector<int64_t> values_;
  std::vector<uint8_t> outcomes_;  // EvalOutcome per expression; all kOk while sound_
  std::vector<int64_t> loop_indices_;
  std::vector<int64_t> slots_;
  bool sound_ = true;
};

}  // namespace pypto::device
