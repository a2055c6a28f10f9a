// One launch as read from its block: parameters, sizes, workspace and budget, all checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pypto/device/engine.h"
#include "pypto/device/executable.h"
#include "pypto/device/expr_frame.h"
#include "pypto/device/fault.h"
#include "pypto/device/task.h"
#include "pypto/program/launch_block.h"
#include "pypto/workspace/budget.h"

namespace pypto::device {

struct StorageSize {
  uint64_t bytes = 0;    // what it takes in the workspace
  int64_t elements = 0;  // that may be addressed
};

// What follows from the executable, the symbols and the scalars of a launch, and from nothing else. A value.
struct LaunchShape {
  uint64_t serial = 0;           // of the executable; 0: none
  std::vector<uint64_t> values;  // slots of the scalar parameters, then the symbols
  std::vector<uint64_t> parameter_bytes;
  workspace::Budget budget;
};

// Owned by the engine and kept between launches: what depends only on the executable, the symbols and the scalars is
// not computed again. Thread rule: one thread at a time.
class LaunchState {
 public:
  // Reads the block's header. False with a fault when it does not belong to the executable. statistics() is valid
  // afterwards in either case.
  bool Open(const LoadedExecutable& executable, std::span<const std::byte> block, const AddressMap& memory,
            Fault* fault);
  // Whether the opened block is of that shape.
  bool IsOf(const LoadedExecutable& executable, const LaunchShape& shape) const noexcept;
  // A hash of what IsOf compares.
  uint64_t ShapeHash(const LoadedExecutable& executable) const noexcept;
  // Computes shape() and sizes, and sets the expressions that need no loop index. False with a fault.
  bool Evaluate(const LoadedExecutable& executable, Fault* fault);
  // Checks the budget and finds the memory of the launch. False with a fault.
  bool Bind(const LoadedExecutable& executable, const LaunchShape& shape, const AddressMap& memory, Fault* fault);

  const program::LaunchHeader& header() const noexcept { return header_; }
  const LaunchShape& shape() const noexcept { return shape_; }
  const workspace::Budget& budget() const noexcept { return shape_.budget; }
  ExprFrame& frame() noexcept { return frame_; }
  const std::vector<double>& float_scalars() const noexcept { return float_scalars_; }
  const StorageSize& storage_size(uint32_t storage) const noexcept { return storage_sizes_[storage]; }
  // Where memory begins, by slot (task.h). The slot of a parameter without elements or without use is null.
  std::byte* const* slots() const noexcept { return slots_.data(); }
  size_t slot_count() const noexcept { return slots_.size(); }
  // Names the root-inner memory of what runs next, from the start of the workspace.
  void PlaceInner(uint64_t begin) noexcept { slots_[kInnerSlot] = slots_[kWorkspaceSlot] + begin; }
  std::byte* workspace() const noexcept { return slots_[kWorkspaceSlot]; }
  // Whether a parameter that the kernel writes shares bytes with another one.
  bool ParametersOverlap(const LoadedExecutable& executable, const LaunchShape& shape) const noexcept;
  program::LaunchStatistics* statistics() const noexcept { return statistics_; }
  // Null when the launch records no tasks.
  std::byte* task_block() const noexcept { return task_block_; }
  // Where the profile goes, empty when the launch wants none.
  std::span<std::byte> profile() const noexcept { return profile_; }

 private:
  uint64_t SlotAt(size_t index) const noexcept;
  bool TranslateTaskBlock(const LoadedExecutable& executable, const AddressMap& memory, Fault* fault);
  bool ReadValues(const LoadedExecutable& executable, Fault* fault);
  bool ComputeSizes(const LoadedExecutable& executable, Fault* fault);
  bool ComputeBudget(const LoadedExecutable& executable, Fault* fault);
  bool CompareBudget(const workspace::Budget& budget, Fault* fault) const;
  bool TranslateParameters(const LoadedExecutable& executable, const LaunchShape& shape, const AddressMap& memory,
                           Fault* fault);
  bool TranslateWorkspace(const workspace::Budget& budget, const AddressMap& memory, Fault* fault);

  std::span<const std::byte> block_;  // opened last; the caller's
  program::LaunchHeader header_;
  LaunchShape shape_;
  ExprFrame frame_;  // of shape_, as all below
  std::vector<int64_t> symbols_;
  std::vector<int64_t> scalars_;  // integers; bits of the floating ones
  std::vector<double> float_scalars_;
  std::vector<StorageSize> storage_sizes_;
  std::vector<std::byte*> slots_;
  program::LaunchStatistics* statistics_ = nullptr;
  std::byte* task_block_ = nullptr;
  std::span<std::byte> profile_;
};

}  // namespace pypto::device
