// A short launch with every address put in: what is run when the same block comes again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "pypto/base/clock.h"
#include "pypto/device/launch_state.h"
#include "pypto/device/leaf_runner.h"
#include "pypto/device/task.h"
#include "pypto/program/launch_block.h"

namespace pypto::device {

// Keeps the words of the last block that its recording ran for and, once the same words have come twice, the work as
// calls of kernels. Part of a recording. Thread rule: one thread at a time.
class BoundLaunch {
 public:
  // Launches of more calls gain nothing that shows.
  static constexpr size_t kMostCalls = 8;

  // A recording is kept for launches like this one: takes the memory for it.
  void Begin(const program::LaunchHeader& header);
  // Whether the calls do what `block` asks for: the same words at the same place, every block of memory that was alive
  // is so still, and the core's arena has not moved. All checks of the block have passed then.
  bool Fits(std::span<const std::byte> block, MemoryState state, const std::byte* scratch) noexcept {
    if (!bound_ || scratch != scratch_ || state.epoch != epoch_ || !IsAt(block)) return false;
    if (state.block_version == block_version_ && block_version_ != 0) [[likely]]
      return true;
    if (!HasNotedWords(block)) return false;
    NoteVersion(state);
    return true;
  }
  void Run() const {
    for (const RowsCall& call : calls_) call.rows(&call.args);
  }
  // After Run: the launch's own ticks and number, and the figures that a run without a fault always has.
  void WriteStatistics(uint64_t begin, uint32_t serial) const noexcept;

  // `block` has been run, as `launch` read it and `tasks` did it, without a fault. `state`: as it was found, of
  // a known epoch. Its statistics are written by then.
  void Update(std::span<const std::byte> block, MemoryState state, LaunchState& launch,
              const std::vector<std::unique_ptr<Task>>& tasks, const simd::KernelTable& kernels, std::byte* scratch);

 private:
  static constexpr size_t kSerialAt = offsetof(program::LaunchHeader, serial);

  // The words have been compared, or noted, in this state.
  void NoteVersion(const MemoryState& state) noexcept {
    block_version_ = words_.size() <= kVersionedBytes ? state.block_version : 0;
  }
  bool IsAt(std::span<const std::byte> block) const noexcept {
    return block.data() == block_.data() && block.size() == block_.size();
  }
  // Header without the launch's serial number, slots and symbols.
  bool HasNotedWords(std::span<const std::byte> block) const noexcept {
    constexpr size_t kSlotsAt = sizeof(program::LaunchHeader);
    return std::memcmp(words_.data(), block.data(), kSerialAt) == 0 &&
           std::memcmp(words_.data() + kSlotsAt, block.data() + kSlotsAt, words_.size() - kSlotsAt) == 0;
  }
  bool Bind(LaunchState& launch, const std::vector<std::unique_ptr<Task>>& tasks, const simd::KernelTable& kernels);

  std::vector<std::byte> words_;
  std::span<const std::byte> block_;  // where they were read; not looked into
  uint64_t epoch_ = 0;
  uint64_t block_version_ = 0;  // at which the words were compared; 0: not known
  bool bound_ = false;
  bool too_much_ = false;  // its work is no short list of calls
  std::vector<RowsCall> calls_;
  std::byte* scratch_ = nullptr;
  program::LaunchStatistics* statistics_ = nullptr;
  program::LaunchStatistics figures_;  // as the bound run left them
  uint32_t copies_ = 0;                // of the workspace
  bool uses_pools_ = false;            // some peak is above 0
};

inline void BoundLaunch::WriteStatistics(uint64_t begin, uint32_t serial) const noexcept {
  constexpr size_t kFigures = offsetof(program::LaunchStatistics, ticks_per_second);
  constexpr size_t kFigureBytes = offsetof(program::LaunchStatistics, largest_peak_bytes) - kFigures;
  program::LaunchStatistics* to = statistics_;
  to->launches += 1;
  to->begin_ticks = begin;
  std::memcpy(&to->ticks_per_second, &figures_.ticks_per_second, kFigureBytes);
  for (size_t pool = 0; uses_pools_ && pool < figures_.peak_bytes.size(); ++pool) {
    if (to->largest_peak_bytes[pool] < figures_.peak_bytes[pool])
      to->largest_peak_bytes[pool] = figures_.peak_bytes[pool];
  }
  for (uint32_t copy = 0; copy < copies_; ++copy) to->copy_peak_bytes[copy] = figures_.copy_peak_bytes[copy];
  to->serial = serial;
  to->end_ticks = base::Ticks();
}

}  // namespace pypto::device
