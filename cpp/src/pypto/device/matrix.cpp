// Blocks that stay in cache, packed panels of A and B, and the register-tiled kernel; few rows by rows of B as they
// lie.
#include "pypto/device/matrix.h"

#include <algorithm>
#include <cstring>

#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

using Pointers = std::array<std::byte*, Nest::kMostOperands>;

// One product; lives for one call of RunMatmul.
class Product {
 public:
  Product(const LeafProgram& leaf, const simd::KernelTable& kernels, const OperandView* views, int64_t rows,
          int64_t columns, int64_t k, std::byte* scratch, const std::atomic<bool>* abort)
      : matmul_(leaf.matmul),
        kernels_(kernels),
        gemm_(kernels.gemm[leaf.matmul.kind]),
        abort_(abort),
        rows_(rows),
        columns_(columns),
        k_(k),
        terms_(gemm_.group * simd::kGemmMaxUnits),
        c_(LayoutOf(views[0], leaf.rank, rows, columns)),
        a_(LayoutOf(views[1], leaf.rank, rows, k)),
        b_(LayoutOf(views[2], leaf.rank, k, columns)),
        a_panels_(scratch + leaf.matmul.a_offset),
        b_panels_(scratch + leaf.matmul.b_offset),
        c_block_(scratch + leaf.matmul.c_offset) {
    const bool half = c_.format == simd::kF16 || c_.format == simd::kBf16;
    const bool plain = c_.format == simd::kF32 || c_.format == simd::kI32;
    in_place_ = c_.step == 1 && (plain || (half && k <= terms_));
    const bool streamable = b_.format == simd::kF32 || b_.format == simd::kF16 || b_.format == simd::kBf16 ||
                            matmul_.kind == simd::kGemmInt8;
    streams_ = rows <= kernels.most_stream_rows && b_.step == 1 && streamable;
  }

  void Run(const Pointers& at) {
    if (k_ == 0) return StoreZeros(at[0]);
    // With few rows, panels of neighbouring terms are multiplied one by one, in the first-level cache.
    const bool one_by_one = rows_ <= kernels_.gemm_rows * 2 && b_.row == 1 && b_.step != 1;
    const int64_t packed = one_by_one ? kernels_.gemm_columns : matmul_.block_columns;
    const int64_t block = streams_ ? columns_ : packed;
    const int64_t step = in_place_ && !streams_ ? block : std::min(block, matmul_.block_columns);
    const int64_t height = in_place_ ? rows_ : matmul_.held_rows;
    for (int64_t column = 0; column < columns_; column += step) {
      for (int64_t row = 0; row < rows_; row += height) {
        if (!Block(at, row, std::min(height, rows_ - row), column, std::min(step, columns_ - column))) return;
      }
    }
  }

 private:
  // Strides in elements: of rows, and of neighbours in a row. A dim of one element has any stride.
  struct Layout {
    int64_t row = 0;
    int64_t step = 0;
    simd::Format format = simd::kF32;
    int64_t bytes = 4;
  };
  static Layout LayoutOf(const OperandView& view, int rank, int64_t rows, int64_t columns) {
    const int64_t row = rows == 1 ? 1 : view.strides[rank - 2];
    return {row, columns == 1 ? 1 : view.strides[rank - 1], view.format, view.element_bytes};
  }

  // All terms of a part of the product. False when the launch was aborted.
  bool Block(const Pointers& at, int64_t row, int64_t height, int64_t column, int64_t width) {
    const std::byte* a = at[1] + row * a_.row * a_.bytes;
    const std::byte* b = at[2] + column * b_.step * b_.bytes;
    std::byte* c = at[0] + (row * c_.row + column * c_.step) * c_.bytes;
    for (int64_t first = 0; first < k_; first += terms_) {
      if (abort_ != nullptr && abort_->load(std::memory_order_relaxed)) return false;
      const int64_t terms = std::min(terms_, k_ - first);
      const std::byte* left = a + first * a_.step * a_.bytes;
      const std::byte* right = b + first * b_.row * b_.bytes;
      if (!streams_) gemm_.pack_b(b_panels_, right, b_.format, b_.step, b_.row, width, terms);
      for (int64_t done = 0; done < height; done += matmul_.block_rows) {
        const int64_t lines = std::min(matmul_.block_rows, height - done);
        gemm_.pack_a(a_panels_, left + done * a_.row * a_.bytes, a_.format, a_.row, a_.step, lines, terms);
        const simd::GemmOutput out = Output(c, done, first == 0);
        if (streams_) {
          gemm_.stream(&out, a_panels_, right, b_.format, b_.row, lines, width, terms);
        } else {
          gemm_.multiply(&out, a_panels_, b_panels_, lines, width, terms);
        }
      }
    }
    if (!in_place_) StoreBlock(c, height, width);
    return true;
  }

  simd::GemmOutput Output(std::byte* c, int64_t row, bool first) const {
    if (in_place_) {
      std::byte* to = c + row * c_.row * c_.bytes;
      return {first ? nullptr : to, c_.row, to, c_.row, c_.format};
    }
    std::byte* to = c_block_ + row * matmul_.block_columns * 4;
    const simd::Format format = matmul_.kind == simd::kGemmInt8 ? simd::kI32 : simd::kF32;
    return {first ? nullptr : to, matmul_.block_columns, to, matmul_.block_columns, format};
  }

  void StoreBlock(std::byte* c, int64_t height, int64_t width) const {
    for (int64_t row = 0; row < height; ++row) {
      kernels_.store[c_.format](c + row * c_.row * c_.bytes, c_.step, c_block_ + row * matmul_.block_columns * 4,
                                width);
    }
  }

  // Zero is all bits clear in every format that products have.
  void StoreZeros(std::byte* c) const {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t column = 0; column < columns_; ++column) {
        std::memset(c + (row * c_.row + column * c_.step) * c_.bytes, 0, static_cast<size_t>(c_.bytes));
      }
    }
  }

  const MatmulProgram& matmul_;
  const simd::KernelTable& kernels_;
  const simd::GemmKernels& gemm_;
  const std::atomic<bool>* abort_;
  const int64_t rows_;
  const int64_t columns_;
  const int64_t k_;
  const int64_t terms_;  // of a block
  const Layout c_;
  const Layout a_;
  const Layout b_;
  std::byte* a_panels_;
  std::byte* b_panels_;
  std::byte* c_block_;
  bool in_place_ = false;  // sums go straight to the output
  bool streams_ = false;   // B is not packed
};

}  // namespace

void RunMatmul(const LeafProgram& leaf, const simd::KernelTable& kernels, const int64_t* cells, int64_t k,
               const OperandView* views, std::byte* scratch, const std::atomic<bool>* abort) {
  const int64_t rows = cells[leaf.rank - 2];
  const int64_t columns = cells[leaf.rank - 1];
  if (rows <= 0 || columns <= 0) return;
  Nest batches;
  if (!batches.Make(leaf.rank - 2, cells, -1, views, 3)) return;
  Product product(leaf, kernels, views, rows, columns, k, scratch, abort);
  batches.ForEachOuter(0, [&](const Pointers& at) { product.Run(at); });
}

}  // namespace pypto::device
