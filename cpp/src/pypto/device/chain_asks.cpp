// Halves and quarters of each row are dealt out, the longest chains first.
#include "pypto/device/chain_asks.h"

#include <algorithm>

namespace pypto::device {
namespace {

constexpr size_t kMostChains = 4;  // that share what one access asks for

bool GoesThrough(const ChainProgram& chain, const AccessProgram& access) {
  for (size_t dim = 0; dim < program::kMaxRank; ++dim) {
    if (chain.varies[dim] != (access.extents[dim] > 1)) return false;
  }
  return true;
}

void Share(const simd::ChainKernels& stages, uint32_t index, LeafProgram* program) {
  AccessProgram& access = program->accesses[index];
  std::vector<ChainProgram*> chains;
  for (ChainProgram& chain : program->chains) {
    if (chain.memories < ChainProgram::kMostMemories && GoesThrough(chain, access)) chains.push_back(&chain);
  }
  access.asked_for = !chains.empty();
  std::stable_sort(chains.begin(), chains.end(),
                   [](const ChainProgram* a, const ChainProgram* b) { return a->steps.size() > b->steps.size(); });
  const size_t count = std::min(chains.size(), kMostChains);
  uint8_t part = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t halved = count == 1 ? 0 : (count == 2 || (count == 3 && i == 0)) ? 1 : 2;
    ChainStep step;
    step.memory = ChainStep::Memory::kAsk;
    step.part = part;
    step.operand = {Source::kAccess, index};
    step.code = stages.ask[halved][access.element_bytes == 4 ? 2 : access.element_bytes - 1];
    chains[i]->steps.insert(chains[i]->steps.begin(), step);
    ++chains[i]->memories;
    part = static_cast<uint8_t>(part + (4U >> halved));
  }
}

}  // namespace

void ShareAsks(const simd::ChainKernels& stages, LeafProgram* program) {
  for (uint32_t i = 0; i < program->accesses.size(); ++i) {
    if (program->accesses[i].asked_for) Share(stages, i, program);
  }
}

}  // namespace pypto::device
