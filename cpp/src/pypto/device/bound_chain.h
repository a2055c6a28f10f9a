// A chain bound to the strides and the cells of one block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pypto/device/leaf_program.h"
#include "pypto/device/tile.h"

namespace pypto::device {

// Lies in a core's scratch arena, its arrays behind it; made by the runner of the tiles and lives as long as that.
struct alignas(alignof(simd::ChainReduction)) BoundChain {
  // Memory of one step.
  struct Place {
    void** cursor = nullptr;  // where its stage, or its reduction, finds the address
    bool moves = false;       // with the block: an access
    uint32_t access = 0;
    std::byte* data = nullptr;                         // where it does not move
    std::array<int64_t, program::kMaxRank> strides{};  // bytes, of the loops below
  };
  struct Reduction {
    simd::ChainReduction state;  // of the row that passes
    void* to = nullptr;
    uint32_t (*finish)(simd::ChainReduction* state, int64_t n) = nullptr;
    simd::FitFunction fit = nullptr;  // null for results that hold every value
  };
  enum class State : uint8_t { kUnbound, kFits, kRefused };

  State state = State::kUnbound;
  Extents cells{};     // that it is bound for
  Extents room{};      // of the block with these cells
  Extents end{};       // in varying dims: where the first of its operations ends
  bool whole = false;  // the cells fill the block
  int rank = 0;
  std::array<int64_t, program::kMaxRank> counts{};

  static int64_t Bytes(const ChainProgram& chain) {
    return static_cast<int64_t>(sizeof(BoundChain) + chain.reductions * sizeof(Reduction) +
                                chain.memories * sizeof(Place) + chain.steps.size() * sizeof(simd::Stage));
  }
  Reduction* reductions() { return reinterpret_cast<Reduction*>(this + 1); }
  Place* places(const ChainProgram& chain) { return reinterpret_cast<Place*>(reductions() + chain.reductions); }
  simd::Stage* stages(const ChainProgram& chain) {
    return reinterpret_cast<simd::Stage*>(places(chain) + chain.memories);
  }

  // `views`: of the steps that work on memory, in their order. Refused where neighbouring cells do not lie side by
  // side, or rows are short.
  void Bind(const ChainProgram& chain, const LeafProgram& leaf, const simd::KernelTable& kernels, const Extents& block,
            const OperandView* views);
  // `pointers`: of the accesses, at the first cell of the block.
  void Run(const ChainProgram& chain, const simd::KernelTable& kernels, std::byte* const* pointers);

 private:
  void JoinDims(const ChainProgram& chain, const LeafProgram& leaf, const Extents& block, const OperandView* views);
  void RunRow(const ChainProgram& chain, const simd::KernelTable& kernels);
};

}  // namespace pypto::device
