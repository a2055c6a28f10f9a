// The first values in order along one axis: equal ones keep theirs, NaN is the largest.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/whole/lines.h"

namespace pypto::device {
namespace {

// Up to so many are kept in order while the line is looked through.
constexpr int64_t kMostKept = 64;
// Columns that a line is cut into are a multiple of this.
constexpr int64_t kColumnUnit = 16;

// A key above the places that come later: entries in falling order are the elements in theirs.
uint64_t EntryOf(int32_t key, int64_t place) {
  const uint32_t high = static_cast<uint32_t>(key) ^ 0x80000000U;
  return uint64_t{high} << 32 | static_cast<uint32_t>(~place);
}
int32_t PlaceOf(uint64_t entry) { return static_cast<int32_t>(~static_cast<uint32_t>(entry)); }
int32_t KeyOf(uint64_t entry) { return static_cast<int32_t>(static_cast<uint32_t>(entry >> 32) ^ 0x80000000U); }

// Puts lines in order, one after another. Owned by one call of SortLines.
class Sorter {
 public:
  Sorter(const WholeArgs& args, int64_t n, int64_t k)
      : args_(args), n_(n), k_(k), ascending_(args.numbers[2] == 0), order_(static_cast<size_t>(n)) {
    const bool wide = KindOf(args.in[0].view.format) == simd::kKindI64;
    (wide ? values_.resize(static_cast<size_t>(n)) : keys_.resize(static_cast<size_t>(n)));
  }

  // Places of the first k.
  const int32_t* Order(const std::byte* line, int64_t step) {
    if (keys_.empty()) {
      OrderValues(line, step);
    } else {
      LoadKeys(line, step);
      if (k_ > kMostKept || k_ == n_) {
        SortAll();
      } else if (!SortThoseAboveBound()) {
        KeepBest();
      }
    }
    return order_.data();
  }

 private:
  void LoadKeys(const std::byte* line, int64_t step) {
    const WholeOperand& from = args_.in[0];
    const simd::Format format = from.view.format;
    ChunkBuffer buffer;
    for (int64_t first = 0; first < n_; first += kChunk) {
      const int64_t part = std::min(kChunk, n_ - first);
      args_.kernels.load[format](buffer.bytes, line + first * step * from.view.element_bytes, step, part);
      int32_t* keys = keys_.data() + first;
      if (KindOf(format) == simd::kKindF32) {
        args_.kernels.order_keys(keys, buffer.floats(), part, ascending_);
      } else {
        for (int64_t i = 0; i < part; ++i) keys[i] = ascending_ ? ~buffer.integers()[i] : buffer.integers()[i];
      }
    }
  }

  // Cut into rows, the line has a largest key in each column; at least k keys are not below the k-th of those. False
  // when there are many.
  bool SortThoseAboveBound() {
    const int64_t columns = (2 * k_ + kColumnUnit - 1) / kColumnUnit * kColumnUnit;
    if (n_ < 2 * columns) return false;
    std::array<int32_t, 2 * kMostKept> largest;
    args_.kernels.reduce_columns_i32[simd::kReduceAmax](largest.data(), keys_.data(), columns, n_ / columns, columns);
    std::array<int32_t, 2 * kMostKept> places;
    const int32_t bound = KthOf(largest.data(), columns);
    const int64_t count = args_.kernels.places_from(places.data(), keys_.data(), n_, bound, 2 * kMostKept);
    if (count > 2 * kMostKept) return false;
    if (count > simd::kOrderedKeys) {
      SortHeld(places.data(), count);
      return true;
    }
    std::array<int32_t, simd::kOrderedKeys> held{};
    std::array<int32_t, simd::kOrderedKeys> before;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) held[i] = keys_[static_cast<size_t>(places[i])];
    args_.kernels.count_before(before.data(), held.data(), count);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      if (before[i] < k_) order_[static_cast<size_t>(before[i])] = places[i];
    }
    return true;
  }

  // The k-th largest of `count` keys, a multiple of kColumnUnit.
  int32_t KthOf(int32_t* keys, int64_t count) {
    if (count > simd::kOrderedKeys) {
      std::nth_element(keys, keys + (k_ - 1), keys + count, std::greater<>());
      return keys[k_ - 1];
    }
    std::array<int32_t, simd::kOrderedKeys> before;
    args_.kernels.count_before(before.data(), keys, count);
    return keys[std::find(before.begin(), before.begin() + count, static_cast<int32_t>(k_ - 1)) - before.begin()];
  }

  void SortHeld(const int32_t* places, int64_t count) {
    std::array<uint64_t, 2 * kMostKept> held;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      held[i] = EntryOf(keys_[static_cast<size_t>(places[i])], places[i]);
    }
    std::sort(held.begin(), held.begin() + count, std::greater<>());
    std::transform(held.begin(), held.begin() + k_, order_.begin(), PlaceOf);
  }

  // `kept` holds the best so far; only what is above the last of them matters.
  void KeepBest() {
    std::array<uint64_t, kMostKept> kept;
    for (int64_t i = 0; i < k_; ++i) kept[static_cast<size_t>(i)] = EntryOf(keys_[static_cast<size_t>(i)], i);
    const auto last = kept.begin() + k_;
    std::sort(kept.begin(), last, std::greater<>());
    for (int64_t i = k_;; ++i) {
      i = args_.kernels.first_above(keys_.data(), i, n_, KeyOf(last[-1]));
      if (i == n_) break;
      const uint64_t entry = EntryOf(keys_[static_cast<size_t>(i)], i);
      auto at = last - 1;
      for (; at != kept.begin() && at[-1] < entry; --at) *at = at[-1];
      *at = entry;
    }
    std::transform(kept.begin(), last, order_.begin(), PlaceOf);
  }

  // By the bytes of the keys, from the lowest on; each pass keeps the order of equals.
  void SortAll() {
    constexpr size_t kDigits = 256;
    std::array<std::array<uint32_t, kDigits>, 4> counts{};
    entries_.resize(static_cast<size_t>(n_));
    moved_.resize(static_cast<size_t>(n_));
    for (size_t i = 0; i < entries_.size(); ++i) {
      entries_[i] = ~EntryOf(keys_[i], static_cast<int64_t>(i));
      for (size_t byte = 0; byte < 4; ++byte) ++counts[byte][DigitOf(entries_[i], byte)];
    }
    for (size_t byte = 0; byte < 4; ++byte) {
      auto& count = counts[byte];
      if (count[DigitOf(entries_[0], byte)] == entries_.size()) continue;
      uint32_t before = 0;
      for (uint32_t& each : count) before += std::exchange(each, before);
      for (const uint64_t entry : entries_) moved_[count[DigitOf(entry, byte)]++] = entry;
      entries_.swap(moved_);
    }
    for (int64_t i = 0; i < k_; ++i) order_[static_cast<size_t>(i)] = PlaceOf(~entries_[static_cast<size_t>(i)]);
  }
  static size_t DigitOf(uint64_t entry, size_t byte) { return entry >> (32 + 8 * byte) & 0xff; }

  // Of elements wider than a key.
  void OrderValues(const std::byte* line, int64_t step) {
    LoadReals(args_, args_.in[0], line, step, n_, values_.data());
    std::iota(order_.begin(), order_.end(), 0);
    std::partial_sort(order_.begin(), order_.begin() + k_, order_.end(), [&](int32_t a, int32_t b) {
      const double x = values_[static_cast<size_t>(a)];
      const double y = values_[static_cast<size_t>(b)];
      return x == y ? a < b : (ascending_ ? x < y : x > y);
    });
  }

  const WholeArgs& args_;
  const int64_t n_;
  const int64_t k_;
  const bool ascending_;
  std::vector<int32_t> keys_;
  std::vector<double> values_;
  std::vector<uint64_t> entries_;
  std::vector<uint64_t> moved_;
  std::vector<int32_t> order_;
};

template <bool kIndices>
void SortLines(const WholeArgs& args) {
  const int axis = args.op.axis;
  const int64_t n = args.in[0].cells[axis];
  const int64_t k = std::min({static_cast<int64_t>(args.numbers[1]), n, args.out.cells[axis]});
  if (k <= 0) return;
  const int64_t bytes = args.out.view.element_bytes;
  const int64_t to_step = StrideOf(args, args.out);
  const int64_t from_step = StrideOf(args, args.in[0]);
  Sorter sorter(args, n, k);
  ForEachLine(args, [&](std::byte* to, const std::byte* from) {
    const int32_t* order = sorter.Order(from, from_step);
    for (int64_t i = 0; i < k; ++i) {
      std::byte* at = to + i * to_step * bytes;
      if (kIndices) {
        *reinterpret_cast<int32_t*>(at) = order[i];
      } else {
        CopyCells(at, 1, from + order[i] * from_step * bytes, 1, 1, bytes);
      }
    }
  });
}

}  // namespace

void RunSorted(const WholeArgs& args) { SortLines<false>(args); }
void RunSortedIndex(const WholeArgs& args) { SortLines<true>(args); }

}  // namespace pypto::device
