// Binds and runs chains.
#include "pypto/device/bound_chain.h"

#include <algorithm>
#include <bit>

namespace pypto::device {
namespace {

// Elements in one of several rows below which an operation at a time is faster.
constexpr int64_t kLeastRow = 16;

}  // namespace

void BoundChain::Bind(const ChainProgram& chain, const LeafProgram& leaf, const Extents& block,
                      const OperandView* views) {
  state = State::kRefused;
  cells = block;
  rank = 0;
  Place* const place = places();
  simd::Stage* const stage = stages(chain);
  const uint32_t count = chain.memories;
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
  if (rank == 0) {
    counts[rank++] = 1;
    for (uint32_t i = 0; i < count; ++i) place[i].strides[0] = views[i].element_bytes;
  }
  if (rank > 1 && counts[rank - 1] < kLeastRow) return;
  uint32_t next = 0;
  for (uint32_t i = 0; i < chain.steps.size(); ++i) {
    const ChainStep& step = chain.steps[i];
    stage[i] = {step.code, std::bit_cast<void*>(step.told), 0};
    if (step.memory == ChainStep::Memory::kNone) continue;
    Place& to = place[next];
    const OperandView& view = views[next++];
    to.stage = i;
    to.moves = step.operand.source == Source::kAccess;
    to.access = step.operand.index;
    to.data = view.data;
    if (step.asks) {
      stage[i].ahead = leaf.block[leaf.block_dim] * view.strides[leaf.block_dim] * view.element_bytes;
    }
    const int64_t inner = to.strides[rank - 1];
    if (inner == 0 && step.memory == ChainStep::Memory::kLoad) {
      stage[i].code = step.spread;
    } else if (inner != view.element_bytes) {
      return;
    }
  }
  state = State::kFits;
}

void BoundChain::Run(const ChainProgram& chain, const simd::KernelTable& kernels, std::byte* const* pointers) {
  Place* const place = places();
  simd::Stage* const stage = stages(chain);
  for (uint32_t i = 0; i < chain.memories; ++i) {
    stage[place[i].stage].data = place[i].moves ? pointers[place[i].access] : place[i].data;
  }
  const int64_t n = counts[rank - 1];
  std::array<int64_t, program::kMaxRank> position{};
  for (;;) {
    kernels.run_chain(stage, n);
    int dim = rank - 2;
    for (; dim >= 0; --dim) {
      const bool wraps = ++position[dim] == counts[dim];
      const int64_t steps = wraps ? 1 - counts[dim] : 1;
      for (uint32_t i = 0; i < chain.memories; ++i) {
        void*& data = stage[place[i].stage].data;
        data = static_cast<std::byte*>(data) + steps * place[i].strides[dim];
      }
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
