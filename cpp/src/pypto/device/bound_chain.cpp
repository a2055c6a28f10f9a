// Binds and runs chains.
#include "pypto/device/bound_chain.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pypto::device {
namespace {

// Elements in one of several rows below which an operation at a time is faster.
constexpr int64_t kLeastRow = 16;
constexpr int64_t kAskParts = 4;  // ChainStep::part counts quarters

}  // namespace

void BoundChain::JoinDims(const ChainProgram& chain, const LeafProgram& leaf, const Extents& block,
                          const OperandView* views) {
  Place* const place = places(chain);
  const uint32_t count = chain.memories;
  rank = 0;
  for (int dim = 0; dim < leaf.rank; ++dim) {
    if (block[dim] == 1) continue;
    bool joins = rank > 0;
    for (uint32_t i = 0; joins && i < count; ++i) {
      joins = place[i].strides[rank - 1] == views[i].strides[dim] * views[i].element_bytes * block[dim];
    }
    if (joins) {
      counts[rank - 1] *= block[dim];
    } else {
      counts[rank++] = block[dim];
    }
    for (uint32_t i = 0; i < count; ++i) place[i].strides[rank - 1] = views[i].strides[dim] * views[i].element_bytes;
  }
  if (rank > 0) return;
  counts[rank++] = 1;
  for (uint32_t i = 0; i < count; ++i) place[i].strides[0] = views[i].element_bytes;
}

void BoundChain::Bind(const ChainProgram& chain, const LeafProgram& leaf, const simd::KernelTable& kernels,
                      const Extents& block, const OperandView* views) {
  state = State::kRefused;
  cells = block;
  JoinDims(chain, leaf, block, views);
  if (rank > 1 && counts[rank - 1] < kLeastRow) return;
  // Nothing to reduce: rows have at least one cell.
  if (std::find(counts.begin(), counts.begin() + rank, 0) != counts.begin() + rank) return;
  Place* const place = places(chain);
  simd::Stage* const stage = stages(chain);
  Reduction* reduction = reductions();
  uint32_t next = 0;
  for (uint32_t i = 0; i < chain.steps.size(); ++i) {
    const ChainStep& step = chain.steps[i];
    stage[i] = {step.code, std::bit_cast<void*>(step.told), 0};
    if (step.memory == ChainStep::Memory::kNone) continue;
    Place& to = place[next];
    const OperandView& view = views[next++];
    to.cursor = &stage[i].data;
    to.moves = step.operand.source == Source::kAccess;
    to.access = step.operand.index;
    to.data = view.data;
    const int64_t inner = to.strides[rank - 1];
    switch (step.memory) {
      case ChainStep::Memory::kAsk:
        stage[i].ahead = leaf.block[leaf.block_dim] * view.strides[leaf.block_dim] * view.element_bytes +
                         counts[rank - 1] * inner * step.part / kAskParts;
        break;
      case ChainStep::Memory::kReduce:
        // One value for each row, and rows are the chain's.
        if (inner != 0) return;
        reduction->finish =
            kernels.finish_reduction[view.format == simd::kI32 ? simd::kKindI32 : simd::kKindF32][step.reduce];
        reduction->fit = kernels.fit[step.result];
        stage[i].data = &reduction->state;
        to.cursor = &reduction++->to;
        break;
      default:
        if (inner == 0 && step.memory == ChainStep::Memory::kLoad) {
          stage[i].code = step.spread;
        } else if (inner != view.element_bytes) {
          return;
        }
    }
  }
  state = State::kFits;
}

void BoundChain::RunRow(const ChainProgram& chain, const simd::KernelTable& kernels) {
  const int64_t n = counts[rank - 1];
  Reduction* const reduction = reductions();
  for (uint32_t i = 0; i < chain.reductions; ++i) reduction[i].state.blocks = 0;
  kernels.run_chain(stages(chain), n);
  for (uint32_t i = 0; i < chain.reductions; ++i) {
    uint32_t value = reduction[i].finish(&reduction[i].state, n);
    if (reduction[i].fit != nullptr) reduction[i].fit(&value, 1);
    std::memcpy(reduction[i].to, &value, sizeof(value));
  }
}

void BoundChain::Run(const ChainProgram& chain, const simd::KernelTable& kernels, std::byte* const* pointers) {
  Place* const place = places(chain);
  for (uint32_t i = 0; i < chain.memories; ++i) {
    *place[i].cursor = place[i].moves ? pointers[place[i].access] : place[i].data;
  }
  const auto advance = [&](int dim, int64_t steps) {
    for (uint32_t i = 0; i < chain.memories; ++i) {
      void*& data = *place[i].cursor;
      data = static_cast<std::byte*>(data) + steps * place[i].strides[dim];
    }
  };
  const int row_dim = rank - 2;
  const int64_t rows = row_dim < 0 ? 1 : counts[row_dim];
  std::array<int64_t, program::kMaxRank> position{};
  for (;;) {
    for (int64_t row = 1; row < rows; ++row) {
      RunRow(chain, kernels);
      advance(row_dim, 1);
    }
    RunRow(chain, kernels);
    if (row_dim < 1) break;
    advance(row_dim, 1 - rows);
    int dim = row_dim - 1;
    for (; dim >= 0; --dim) {
      const bool wraps = ++position[dim] == counts[dim];
      advance(dim, wraps ? 1 - counts[dim] : 1);
      if (!wraps) break;
      position[dim] = 0;
    }
    if (dim < 0) break;
  }
#if defined(__x86_64__)
  if (chain.streams) __builtin_ia32_sfence();
#endif
}

}  // namespace pypto::device
