// Reductions: rows at a time where the axis or a single column is what memory holds densely, else columns at a time.
#include "pypto/device/reduction.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

using simd::Format;
using simd::KernelTable;

constexpr int64_t kBlockRows = 32;
constexpr int64_t kColumns = 128;  // that a block of converted rows holds

template <typename T>
struct Functions;
template <>
struct Functions<float> {
  static float Row(const KernelTable& kernels, simd::ReduceKernel op, const float* data, int64_t n) {
    return kernels.reduce_f32[op](data, n);
  }
  static void Columns(const KernelTable& kernels, simd::ReduceKernel op, float* out, const float* data, int64_t stride,
                      int64_t rows, int64_t n) {
    kernels.reduce_columns_f32[op](out, data, stride, rows, n);
  }
};
template <>
struct Functions<int32_t> {
  static int32_t Row(const KernelTable& kernels, simd::ReduceKernel op, const int32_t* data, int64_t n) {
    return kernels.reduce_i32[op](data, n);
  }
  static void Columns(const KernelTable& kernels, simd::ReduceKernel op, int32_t* out, const int32_t* data,
                      int64_t stride, int64_t rows, int64_t n) {
    kernels.reduce_columns_i32[op](out, data, stride, rows, n);
  }
};

// Works on one reduction of one tile; T is float or int32_t.
template <typename T>
class Reducer {
 public:
  Reducer(const OpProgram& op, const KernelTable& kernels, const OperandView* views, int64_t length)
      : op_(op), kernels_(kernels), output_(views[0]), input_(views[1]), length_(length) {
    axis_step_ = length == 1 ? 1 : views[1].strides[op.axis];
  }

  void Run(const Nest& nest) {
    const int64_t n = nest.counts[nest.rank - 1];
    const int64_t out_step = n == 1 ? 1 : nest.strides[0][nest.rank - 1];
    const int64_t in_step = n == 1 ? 1 : nest.strides[1][nest.rank - 1];
    const bool by_row = length_ == 0 || n == 1 || axis_step_ == 1 || in_step != 1;
    nest.ForEachOuter(1, [&](const std::array<std::byte*, Nest::kMostOperands>& at) {
      by_row ? Rows(at[0], out_step, at[1], in_step, n) : Columns(at[0], out_step, at[1], n);
    });
  }

 private:
  // As the kernels do: integers wrap, NaN wins.
  T Combine(T a, T b) const {
    using Wide = std::conditional_t<std::is_same_v<T, float>, float, uint32_t>;
    switch (op_.reduce) {
      case simd::kReduceSum: return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
      case simd::kReduceProd: return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      case simd::kReduceAmax: return a != a || a > b ? a : b;
      default: return a != a || a < b ? a : b;
    }
  }

  T Empty() const {
    if (op_.reduce == simd::kReduceSum) return T{};
    if (op_.reduce == simd::kReduceProd) return T{1};
    const bool lowest = op_.reduce == simd::kReduceAmax;
    if constexpr (std::is_same_v<T, float>) {
      return lowest ? -LargestFinite(op_.result) : LargestFinite(op_.result);
    } else {
      return static_cast<T>(lowest ? RangeOf(op_.result).low : RangeOf(op_.result).high);
    }
  }

  // One value per cell of a dim; each reduces over a run of `length_` elements.
  void Rows(std::byte* to, int64_t out_step, const std::byte* from, int64_t in_step, int64_t n) {
    alignas(64) T results[kChunk];
    for (int64_t first = 0; first < n; first += kChunk) {
      const int64_t part = std::min(kChunk, n - first);
      for (int64_t i = 0; i < part; ++i) {
        results[i] = length_ == 0 ? Empty() : ReduceRun(from + (first + i) * in_step * input_.element_bytes);
      }
      Finish(to + first * out_step * output_.element_bytes, out_step, results, part);
    }
  }

  const T* LoadRun(const std::byte* from, int64_t n, T* buffer) const {
    const bool wide = input_.format == simd::kF32 || input_.format == simd::kI32;
    if (wide && axis_step_ == 1) return reinterpret_cast<const T*>(from);
    kernels_.load[input_.format](buffer, from, axis_step_, n);
    return buffer;
  }

  T ReduceBlock(const std::byte* from, int64_t n, T* buffer) const {
    if constexpr (std::is_same_v<T, float>) {
      const bool half = input_.format == simd::kF16 || input_.format == simd::kBf16;
      if (half && axis_step_ == 1) {
        const int which = input_.format == simd::kF16 ? 0 : 1;
        return kernels_.reduce_half[which][op_.reduce](reinterpret_cast<const uint16_t*>(from), n);
      }
    }
    return Functions<T>::Row(kernels_, op_.reduce, LoadRun(from, n, buffer), n);
  }

  T ReduceRun(const std::byte* from) const {
    alignas(64) T buffer[simd::kReduceBlock];
    if (length_ <= simd::kReduceBlock) return ReduceBlock(from, length_, buffer);
    // A binary counter: level i holds the value of 2^i blocks.
    T levels[64];
    uint64_t blocks = 0;
    for (int64_t first = 0; first < length_; first += simd::kReduceBlock) {
      const int64_t part = std::min(simd::kReduceBlock, length_ - first);
      T value = ReduceBlock(from + first * axis_step_ * input_.element_bytes, part, buffer);
      int level = 0;
      for (; (blocks >> level & 1) != 0; ++level) value = Combine(levels[level], value);
      levels[level] = value;
      ++blocks;
    }
    T total{};
    bool first = true;
    for (int level = 0; blocks >> level != 0; ++level) {
      if ((blocks >> level & 1) == 0) continue;
      total = first ? levels[level] : Combine(levels[level], total);
      first = false;
    }
    return total;
  }

  // Neighbouring columns together; the axis is an outer dim.
  void Columns(std::byte* to, int64_t out_step, const std::byte* from, int64_t n) {
    for (int64_t first = 0; first < n; first += kColumns) {
      const int64_t part = std::min(kColumns, n - first);
      alignas(64) T total[kColumns];
      ReduceColumns(from + first * input_.element_bytes, part, total);
      Finish(to + first * out_step * output_.element_bytes, out_step, total, part);
    }
  }

  void ReduceColumns(const std::byte* from, int64_t n, T* total) const {
    alignas(64) T block[kColumns];
    alignas(64) T group[kColumns];
    int64_t blocks_in_group = 0;
    bool total_is_set = false;
    const auto add = [&](T* to, const T* other) {
      T both[2 * kColumns];
      std::memcpy(both, to, static_cast<size_t>(n) * sizeof(T));
      std::memcpy(both + n, other, static_cast<size_t>(n) * sizeof(T));
      Functions<T>::Columns(kernels_, op_.reduce, to, both, n, 2, n);
    };
    const auto close_group = [&] {
      if (total_is_set) {
        add(total, group);
      } else {
        std::memcpy(total, group, static_cast<size_t>(n) * sizeof(T));
        total_is_set = true;
      }
      blocks_in_group = 0;
    };
    for (int64_t row = 0; row < length_; row += kBlockRows) {
      T* out = blocks_in_group == 0 ? group : block;
      ReduceRowsOfColumns(from + row * axis_step_ * input_.element_bytes, std::min(kBlockRows, length_ - row), n, out);
      if (out == block) add(group, block);
      if (++blocks_in_group == kBlockRows) close_group();
    }
    if (blocks_in_group > 0) close_group();
  }

  void ReduceRowsOfColumns(const std::byte* from, int64_t rows, int64_t n, T* out) const {
    const bool wide = input_.format == simd::kF32 || input_.format == simd::kI32;
    if (wide) {
      Functions<T>::Columns(kernels_, op_.reduce, out, reinterpret_cast<const T*>(from), axis_step_, rows, n);
      return;
    }
    alignas(64) T converted[kBlockRows * kColumns];
    for (int64_t row = 0; row < rows; ++row) {
      kernels_.load[input_.format](converted + row * n, from + row * axis_step_ * input_.element_bytes, 1, n);
    }
    Functions<T>::Columns(kernels_, op_.reduce, out, converted, n, rows, n);
  }

  void Finish(std::byte* to, int64_t step, T* values, int64_t n) const {
    const bool wide = output_.format == simd::kF32 || output_.format == simd::kI32;
    if (wide && kernels_.fit[op_.result] != nullptr) kernels_.fit[op_.result](values, n);
    kernels_.store[output_.format](to, step, values, n);
  }

  const OpProgram& op_;
  const KernelTable& kernels_;
  const OperandView& output_;
  const OperandView& input_;
  const int64_t length_;
  int64_t axis_step_ = 1;
};

}  // namespace

void RunReduce(const OpProgram& op, const KernelTable& kernels, int rank, const int64_t* cells,
               const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, op.axis, views, 2)) return;
  const int64_t length = cells[op.axis];
  if (op.kind == simd::kKindF32) {
    Reducer<float>(op, kernels, views, length).Run(nest);
  } else {
    Reducer<int32_t>(op, kernels, views, length).Run(nest);
  }
}

}  // namespace pypto::device
