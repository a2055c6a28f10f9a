// Philox4x32-10: element i takes word i % 4 of the block at counter + i / 4.
#include <array>
#include <bit>
#include <cmath>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/whole/whole.h"

namespace pypto::device {
namespace {

using Words = std::array<uint32_t, 4>;

Words Philox(Words counter, uint32_t key_low, uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53U} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key_low, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key_high, static_cast<uint32_t>(a)};
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return counter;
}

Words Advanced(const Words& counter, uint64_t by) {
  Words result{};
  uint64_t carry = by;
  for (size_t i = 0; i < counter.size(); ++i) {
    const uint64_t sum = uint64_t{counter[i]} + (carry & 0xffffffffU);
    result[i] = static_cast<uint32_t>(sum);
    carry = (carry >> 32) + (sum >> 32);
  }
  return result;
}

// The upper `digits` of 23 bits behind a 1, minus that 1: in [0, 1) whatever the dtype.
float UnitOf(uint32_t word, int digits) {
  const uint32_t fraction = (word & 0x007fffffU) >> (23 - digits) << (23 - digits);
  return std::bit_cast<float>(fraction | 0x3f800000U) - 1.0F;
}

float NormalOf(const Words& words, size_t lane) {
  const size_t pair = lane & ~size_t{1};
  const float u = std::max(UnitOf(words[pair], 23), 1e-7F);
  const float angle = 6.2831853F * UnitOf(words[pair + 1], 23);
  const float radius = std::sqrt(-2.0F * std::log(u));
  return radius * (lane == pair ? std::sin(angle) : std::cos(angle));
}

template <bool kNormal>
void Generate(const WholeArgs& args) {
  const int last = args.rank - 1;
  const simd::Format format = args.out.view.format;
  const int digits = format == simd::kF32 ? 23 : (format == simd::kF16 ? 10 : 7);
  const auto word = [&](size_t i) { return static_cast<uint32_t>(static_cast<int64_t>(args.numbers[i])); };
  const Words start = {word(2), word(3), word(4), word(5)};
  const int64_t step = args.out.view.strides[last];
  ForEachRow(args.rank, args.out.cells, [&](const Extents& at) {
    int64_t cell = 0;
    for (int dim = 0; dim < args.rank; ++dim) cell = cell * args.leaf.extents[dim] + args.begin[dim] + at[dim];
    ChunkBuffer buffer;
    std::byte* to = args.out.At(at, args.rank);
    for (int64_t first = 0; first < args.out.cells[last]; first += kChunk) {
      const int64_t part = std::min(kChunk, args.out.cells[last] - first);
      for (int64_t i = 0; i < part; ++i) {
        const auto place = static_cast<uint64_t>(cell + first + i);
        const Words words = Philox(Advanced(start, place / 4), word(0), word(1));
        buffer.floats()[i] = kNormal ? NormalOf(words, place % 4) : UnitOf(words[place % 4], digits);
      }
      args.kernels.store[format](to + first * step * args.out.view.element_bytes, step, buffer.bytes, part);
    }
    return true;
  });
}

}  // namespace

void RunUniform(const WholeArgs& args) { Generate<false>(args); }
void RunNormal(const WholeArgs& args) { Generate<true>(args); }

}  // namespace pypto::device
