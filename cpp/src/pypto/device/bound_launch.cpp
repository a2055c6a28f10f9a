// Binds launches that come again.
#include "pypto/device/bound_launch.h"

namespace pypto::device {

namespace {

size_t WordBytes(const program::LaunchHeader& header) {
  return sizeof(header) + 8 * (size_t{header.parameter_count} + header.symbol_count);
}

}  // namespace

void BoundLaunch::Begin(const program::LaunchHeader& header) {
  words_.clear();
  calls_.clear();
  bound_ = too_much_ = false;
  words_.reserve(WordBytes(header));
  calls_.reserve(kMostCalls);
}

void BoundLaunch::Update(std::span<const std::byte> block, MemoryState state, LaunchState& launch,
                         const std::vector<std::unique_ptr<Task>>& tasks, const simd::KernelTable& kernels,
                         std::byte* scratch) {
  if (too_much_) return;
  const bool again = !words_.empty() && state.epoch == epoch_ && IsAt(block) && HasNotedWords(block);
  bound_ = false;
  scratch_ = scratch;
  statistics_ = launch.statistics();
  if (again && statistics_ != nullptr && launch.task_block() == nullptr) {
    bound_ = Bind(launch, tasks, kernels);
    too_much_ = !bound_;
    figures_ = *statistics_;
    uses_pools_ = figures_.peak_bytes != decltype(figures_.peak_bytes){};
    copies_ = launch.header().parallelism;
    NoteVersion(state);
    return;
  }
  words_.assign(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(WordBytes(launch.header())));
  block_ = block;
  epoch_ = state.epoch;
  NoteVersion(state);
}

bool BoundLaunch::Bind(LaunchState& launch, const std::vector<std::unique_ptr<Task>>& tasks,
                       const simd::KernelTable& kernels) {
  calls_.clear();
  for (const auto& task : tasks) {
    if (task->shared || !task->moves.empty()) return false;
    launch.PlaceInner(task->inner_begin);
    for (const LeafRecord& leaf : task->leaves) {
      if (!BindTiles(leaf, launch.slots(), kernels, scratch_, kMostCalls, &calls_)) return false;
    }
  }
  return true;
}

}  // namespace pypto::device
