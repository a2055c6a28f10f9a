// Keys by which numbers are put in order, and the places of extremes.
#pragma once

#include "pypto/device/simd/vector.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

// Integers in the order of the numbers, both zeros equal, NaN above all; reversed with `ascending`.
void OrderKeys(int32_t* keys, const float* values, int64_t n, bool ascending) {
  const int32_t reversed = ascending ? -1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    const float value = values[i];
    const int32_t bits = __builtin_bit_cast(int32_t, value + 0.0F);
    const int32_t key = bits ^ ((bits >> 31) & 0x7fffffff);
    keys[i] = (value != value ? 0x7fffffff : key) ^ reversed;
  }
}

// The first place from `first` on whose key is above the threshold; n when there is none.
int64_t FirstAbove(const int32_t* keys, int64_t first, int64_t n, int32_t threshold) {
  const VecI limit = Splat(threshold);
  for (; first + 4 * kLanes <= n; first += 4 * kLanes) {
    VecI above = Load(keys + first) > limit;
    for (int i = 1; i < 4; ++i) above |= Load(keys + first + i * kLanes) > limit;
    if (AnyLane(above)) break;
  }
  for (; first + kLanes <= n; first += kLanes) {
    const VecI above = Load(keys + first) > limit;
    if (AnyLane(above)) return first + __builtin_ctz(LaneBits(above));
  }
  while (first < n && keys[first] <= threshold) ++first;
  return first;
}

// The places of keys that are not below the threshold, in ascending order; more than `most` when there are more.
int64_t PlacesFrom(int32_t* places, const int32_t* keys, int64_t n, int32_t threshold, int64_t most) {
  const VecI limit = Splat(threshold);
  int64_t count = 0;
  int64_t first = 0;
  for (; first + kLanes <= n; first += kLanes) {
    const VecI held = Load(keys + first) >= limit;
    for (uint32_t bits = AnyLane(held) ? LaneBits(held) : 0; bits != 0; bits &= bits - 1) {
      if (count == most) return most + 1;
      places[count++] = static_cast<int32_t>(first + __builtin_ctz(bits));
    }
  }
  for (; first < n; ++first) {
    if (keys[first] < threshold) continue;
    if (count == most) return most + 1;
    places[count++] = static_cast<int32_t>(first);
  }
  return count;
}

alignas(64) constexpr int32_t kLaneNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// As the table says of it.
void CountBefore(int32_t* before, const int32_t* keys, int64_t n) {
  for (int64_t block = 0; block < n; block += kLanes) {
    const VecI here = Load(keys + block);
    const VecI places = Load(kLaneNumbers) + Splat(static_cast<int32_t>(block));
    VecI count{};
    for (int64_t i = 0; i < n; ++i) {
      const VecI other = Splat(keys[i]);
      count -= (other > here) | ((other == here) & (Splat(static_cast<int32_t>(i)) < places));
    }
    Store(before + block, count);
  }
}

// The first place that holds `value`, NaN for NaN; n when there is none.
int64_t FirstSame(const float* values, int64_t n, float value) {
  const bool nan = value != value;
  const auto same = [&](int64_t at) __attribute__((always_inline)) {
    const VecF x = Load(values + at);
    return nan ? x != x : x == value;
  };
  int64_t first = 0;
  for (; first + 4 * kLanes <= n; first += 4 * kLanes) {
    if (AnyLane(same(first) | same(first + kLanes) | same(first + 2 * kLanes) | same(first + 3 * kLanes))) break;
  }
  for (; first + kLanes <= n; first += kLanes) {
    const VecI held = same(first);
    if (AnyLane(held)) return first + __builtin_ctz(LaneBits(held));
  }
  while (first < n && !(nan ? values[first] != values[first] : values[first] == value)) ++first;
  return first;
}

template <bool kSmallest>
void ImproveExtremes(float* held, int32_t* places, const float* row, int32_t place, int64_t n) {
  const VecI here = Splat(place);
  const auto better = [](VecF x, VecF best) __attribute__((always_inline)) {
    return (kSmallest ? x < best : x > best) | ((x != x) & (best == best));
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const VecF x = Load(row + i);
    const VecF best = Load(held + i);
    const VecI improved = better(x, best);
    Store(held + i, improved ? x : best);
    Store(places + i, improved ? here : Load(places + i));
  }
  if (i < n) {
    const VecF x = LoadPart(row + i, n - i);
    const VecF best = LoadPart(held + i, n - i);
    const VecI improved = better(x, best);
    StorePart(held + i, improved ? x : best, n - i);
    StorePart(places + i, improved ? here : LoadPart(places + i, n - i), n - i);
  }
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
