// Selecting, zeroing and reading statistics blocks.
#include "pypto/runtime/statistics_blocks.h"

#include <algorithm>
#include <array>

#include "pypto/acl/errors.h"

namespace pypto::runtime {

using base::Result;
using base::Status;
using program::LaunchStatistics;

StatisticsBlocks::StatisticsBlocks(const acl::Table& table, DeviceAllocator* allocator, Counters* counters,
                                   std::string label)
    : table_(table), allocator_(allocator), counters_(counters), label_(std::move(label)) {}

StatisticsBlocks::Block* StatisticsBlocks::Find(const workspace::Budget& budget) noexcept {
  for (Block& block : blocks_) {
    if (block.budget == budget) return &block;
  }
  return nullptr;
}

bool StatisticsBlocks::MustEvict(const workspace::Budget& budget) const noexcept {
  if (blocks_.size() < kMostBlocks) return false;
  return std::none_of(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.budget == budget; });
}

Result<uint64_t> StatisticsBlocks::Select(const workspace::Budget& budget) {
  Block* block = Find(budget);
  if (block == nullptr && blocks_.size() < kMostBlocks) {
    PYPTO_ASSIGN_OR_RETURN(const uint64_t address,
                           allocator_->Allocate(program::kStatisticsBytes, MemoryKind::kPrograms, label_));
    Status zeroed = ZeroStatistics(table_, address);
    if (!zeroed.ok()) {
      zeroed.Attach(allocator_->Free(address));
      return zeroed;
    }
    if (blocks_.empty()) blocks_.reserve(kMostBlocks);
    blocks_.push_back(Block{budget, address});
    block = &blocks_.back();
  } else if (block == nullptr) {
    block = &*std::min_element(blocks_.begin(), blocks_.end(),
                               [](const Block& a, const Block& b) { return a.last_use < b.last_use; });
    PYPTO_ASSIGN_OR_RETURN(const LaunchStatistics old, Read(block->address));
    PYPTO_RETURN_IF_ERROR(ZeroStatistics(table_, block->address));
    Add(*block, old, &evicted_);
    *block = Block{budget, block->address};
  }
  block->last_use = ++uses_;
  selected_ = block;
  return block->address;
}

Status ZeroStatistics(const acl::Table& table, uint64_t address) {
  auto* target = reinterpret_cast<void*>(address);
  if (table.Has(acl::CallId::aclrtMemset)) {
    return PYPTO_ACL_CALL(table, aclrtMemset, target, program::kStatisticsBytes, 0, program::kStatisticsBytes);
  }
  static constexpr std::array<uint8_t, program::kStatisticsBytes> kZeros{};
  return PYPTO_ACL_CALL(table, aclrtMemcpy, target, program::kStatisticsBytes, kZeros.data(), kZeros.size(),
                        acl_abi::kMemcpyHostToDevice);
}

Result<LaunchStatistics> StatisticsBlocks::Read(uint64_t address) {
  LaunchStatistics statistics;
  PYPTO_RETURN_IF_ERROR(PYPTO_ACL_CALL(table_, aclrtMemcpy, &statistics, sizeof(statistics),
                                       reinterpret_cast<const void*>(address), sizeof(statistics),
                                       acl_abi::kMemcpyDeviceToHost));
  counters_->statistics_reads += 1;
  return statistics;
}

Result<LaunchStatistics> StatisticsBlocks::ReadLast() {
  if (selected_->address == 0) return LaunchStatistics{};
  PYPTO_ASSIGN_OR_RETURN(const LaunchStatistics statistics, Read(selected_->address));
  selected_->launches = statistics.launches;
  selected_->counted = true;
  return statistics;
}

void StatisticsBlocks::FindCount() {
  if (selected_->counted) [[likely]]
    return;
  const Status ignored = ReadLast().status();  // still not known then
  static_cast<void>(ignored);
}

void StatisticsBlocks::LoseCount() noexcept {
  for (Block& block : blocks_) block.counted = false;
}

void StatisticsBlocks::Add(const Block& block, const LaunchStatistics& statistics, Totals* totals) {
  totals->launches += statistics.launches;
  if (statistics.launches == 0) return;
  const workspace::PoolPeaks peaks{statistics.largest_peak_bytes};
  totals->max_recommended =
      workspace::MaxDepths(totals->max_recommended, workspace::RecommendDepths(block.budget, peaks));
}

Result<StatisticsBlocks::Totals> StatisticsBlocks::ReadTotals() {
  Totals totals = evicted_;
  for (const Block& block : blocks_) {
    PYPTO_ASSIGN_OR_RETURN(const LaunchStatistics statistics, Read(block.address));
    Add(block, statistics, &totals);
  }
  return totals;
}

Status StatisticsBlocks::Release() {
  Status first;
  for (const Block& block : blocks_) first.Attach(allocator_->Free(block.address));
  blocks_.clear();
  selected_ = &none_;
  return first;
}

}  // namespace pypto::runtime
