// Blocks that stay in cache, packed panels of A and B, and the register-tiled kernel; few rows with B where it lies.
#include "pypto/device/matrix.h"

#include <algorithm>
#include <cstring>

#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

using Pointers = std::array<std::byte*, Nest::kMostOperands>;

// Rows this far apart are in the same sets of the first-level cache: those of one register tile push each other out.
constexpr int64_t kCrowdedBytes = 4096;

// One product; lives for one call of RunMatmul.
class Product {
 public:
  Product(const LeafProgram& leaf, const simd::KernelTable& kernels, const OperandView* views, const int64_t* bounds,
          const int64_t* cells, std::byte* scratch, const std::atomic<bool>* abort)
      : matmul_(leaf.matmul),
        kernels_(kernels),
        gemm_(kernels.gemm[leaf.matmul.kind]),
        abort_(abort),
        rows_(cells[leaf.rank - 2]),
        columns_(cells[leaf.rank - 1]),
        k_(bounds[leaf.rank]),
        c_(LayoutOf(views[0], leaf.rank, rows_, columns_)),
        a_(LayoutOf(views[1], leaf.rank, rows_, k_)),
        b_(LayoutOf(views[2], leaf.rank, k_, columns_)),
        way_(Choose(leaf, views[2], bounds)),
        terms_(gemm_.group * (way_ == Way::kDot ? simd::kGemmDotUnits : simd::kGemmMaxUnits)),
        a_panels_(scratch + leaf.matmul.a_offset),
        heads_(reinterpret_cast<int32_t*>(scratch + leaf.matmul.heads_offset)),
        b_panels_(scratch + leaf.matmul.b_offset),
        c_block_(scratch + leaf.matmul.c_offset) {
    const bool half = c_.format == simd::kF16 || c_.format == simd::kBf16;
    const bool plain = c_.format == simd::kF32 || c_.format == simd::kI32;
    in_place_ = c_.step == 1 && (plain || (half && k_ <= terms_));
    a_lies_well_ = a_.format == gemm_.lying && a_.step == 1 && a_.row * a_.bytes % kCrowdedBytes != 0;
  }

  void Run(const Pointers& at) {
    if (k_ == 0) return StoreZeros(at[0]);
    // With few rows, panels of neighbouring terms are multiplied one by one, in the first-level cache.
    const bool one_by_one = rows_ <= kernels_.gemm_rows * 2 && b_.row == 1 && b_.step != 1;
    const int64_t packed = one_by_one ? kernels_.gemm_columns : matmul_.block_columns;
    const int64_t block = way_ == Way::kPanels ? packed : columns_;
    const int64_t step = in_place_ ? block : std::min(block, matmul_.block_columns);
    const int64_t height = in_place_ ? rows_ : matmul_.held_rows;
    for (int64_t column = 0; column < columns_; column += step) {
      for (int64_t row = 0; row < rows_; row += height) {
        const Part part = {row, std::min(height, rows_ - row), column, std::min(step, columns_ - column)};
        if (!Block(at, part, {height, step})) return;
      }
    }
  }

 private:
  // B packed, or read where it lies: row by row, or line by line; with few terms, each line with four rows at once.
  enum class Way : uint8_t { kPanels, kStream, kDot, kFours };

  // kDot and kFours add in orders of their own, so that what all tiles share decides on them.
  Way Choose(const LeafProgram& leaf, const OperandView& b, const int64_t* bounds) const {
    const bool readable = b_.format == simd::kF32 || b_.format == simd::kF16 || b_.format == simd::kBf16 ||
                          matmul_.kind == simd::kGemmInt8;
    if (!readable) return Way::kPanels;
    const int64_t across = b.strides[leaf.rank - 2];
    const int64_t step = b.strides[leaf.rank - 1];
    const bool lines = across == 1 && (step != 1 || bounds[leaf.rank - 1] == 1);
    const int64_t rows = bounds[leaf.rank - 2];
    if (lines && rows <= gemm_.most_dot_rows && k_ > rows * gemm_.dot_terms) return Way::kDot;
    if (lines && rows <= gemm_.most_fours_rows) return Way::kFours;
    return rows_ <= kernels_.most_stream_rows && b_.step == 1 ? Way::kStream : Way::kPanels;
  }

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

  // Of the product.
  struct Part {
    int64_t row;
    int64_t height;
    int64_t column;
    int64_t width;
  };
  struct Steps {
    int64_t rows;
    int64_t columns;
  };

  const std::byte* A(const Pointers& at, int64_t row, int64_t term) const {
    return at[1] + (row * a_.row + term * a_.step) * a_.bytes;
  }
  const std::byte* B(const Pointers& at, int64_t term, int64_t column) const {
    return at[2] + (term * b_.row + column * b_.step) * b_.bytes;
  }

  // All terms of a part of the product. False when the launch was aborted.
  bool Block(const Pointers& at, const Part& part, const Steps& steps) {
    std::byte* c = at[0] + (part.row * c_.row + part.column * c_.step) * c_.bytes;
    for (int64_t first = 0; first < k_; first += terms_) {
      if (abort_ != nullptr && abort_->load(std::memory_order_relaxed)) return false;
      const int64_t terms = std::min(terms_, k_ - first);
      const std::byte* right = B(at, first, part.column);
      if (way_ != Way::kPanels) {
        Few(Output(c, 0, first), A(at, part.row, first), right, part.height, part.width, terms);
        continue;
      }
      gemm_.pack_b(b_panels_, right, b_.format, b_.step, b_.row, part.width, terms);
      const simd::GemmAsk next = NextOfB(at, part, steps, first);
      for (int64_t done = 0; done < part.height; done += matmul_.block_rows) {
        const int64_t lines = std::min(matmul_.block_rows, part.height - done);
        const bool last = done + lines == part.height;
        const int64_t row = part.row + (last ? 0 : done + lines);
        const simd::GemmAsk asks[simd::kGemmAsks] = {
            NextOfA(at, row, std::min(matmul_.block_rows, part.row + part.height - row), last ? first + terms : first),
            Share(next, done, lines, part.height)};
        Multiply(Output(c, done, first), A(at, part.row + done, first), lines, part.width, terms, asks);
      }
    }
    if (!in_place_) StoreBlock(c, part.height, part.width);
    return true;
  }

  void Multiply(const simd::GemmOutput& out, const std::byte* a, int64_t lines, int64_t width, int64_t terms,
                const simd::GemmAsk* asks) {
    if (a_.step != 1) {
      gemm_.pack_a(a_panels_, a, a_.format, a_.row, a_.step, lines, terms);
      return gemm_.multiply(&out, a_panels_, b_panels_, lines, width, terms, asks);
    }
    simd::GemmRows rows = {a, a_.row * a_.bytes, heads_};
    if (!a_lies_well_ || terms % gemm_.group != 0) {
      gemm_.copy_rows(a_panels_, a, a_.format, a_.row, a_.step, lines, terms);
      rows.data = a_panels_;
      rows.row_bytes = simd::kGemmRowUnits * 4;
    }
    if (gemm_.row_heads != nullptr) gemm_.row_heads(heads_, a, a_.row * a_.bytes, lines, terms);
    gemm_.multiply_rows(&out, &rows, b_panels_, lines, width, terms, asks);
  }

  // Of the next block of rows, or of terms.
  simd::GemmAsk NextOfA(const Pointers& at, int64_t row, int64_t lines, int64_t term) const {
    if (term >= k_ || a_.step != 1) return {};
    return {A(at, row, term), a_.row * a_.bytes, lines, std::min(terms_, k_ - term) * a_.bytes};
  }

  // What is packed next: further terms, or those of other columns.
  simd::GemmAsk NextOfB(const Pointers& at, const Part& part, const Steps& steps, int64_t first) const {
    int64_t term = first + terms_;
    int64_t column = part.column;
    if (term >= k_) {
      term = 0;
      if (part.row + steps.rows >= rows_) column += steps.columns;
    }
    if (column >= columns_) return {};
    const int64_t terms = std::min(terms_, k_ - term);
    const int64_t width = std::min(steps.columns, columns_ - column);
    if (b_.step == 1) return {B(at, term, column), b_.row * b_.bytes, terms, width * b_.bytes};
    return {B(at, term, column), b_.step * b_.bytes, width, terms * b_.bytes};
  }

  // The part of it that is asked for while `lines` rows of `height` are computed.
  static simd::GemmAsk Share(const simd::GemmAsk& all, int64_t done, int64_t lines, int64_t height) {
    const int64_t first = all.rows * done / height;
    const int64_t end = all.rows * (done + lines) / height;
    return {static_cast<const std::byte*>(all.data) + first * all.row_bytes, all.row_bytes, end - first, all.bytes};
  }

  void Few(const simd::GemmOutput& out, const std::byte* a, const std::byte* b, int64_t rows, int64_t columns,
           int64_t terms) const {
    if (way_ == Way::kStream) {
      gemm_.pack_few(a_panels_, a, a_.format, a_.row, a_.step, rows, terms);
      return gemm_.stream(&out, a_panels_, b, b_.format, b_.row, rows, columns, terms);
    }
    if (way_ == Way::kFours) {
      gemm_.pack_fours(a_panels_, a, a_.format, a_.row, a_.step, rows, terms);
      return gemm_.fours(&out, a_panels_, b, b_.format, b_.step, rows, columns, terms);
    }
    gemm_.pack_lines(a_panels_, a, a_.format, a_.row, a_.step, rows, terms);
    gemm_.dot(&out, a_panels_, b, b_.format, b_.step, rows, columns, terms);
  }

  // Of the block of terms that begins with `first`.
  simd::GemmOutput Output(std::byte* c, int64_t row, int64_t first) const {
    const float scale = first + terms_ >= k_ ? matmul_.scale : 1;
    if (in_place_) {
      std::byte* to = c + row * c_.row * c_.bytes;
      return {first == 0 ? nullptr : to, c_.row, to, c_.row, c_.format, scale};
    }
    std::byte* to = c_block_ + row * matmul_.block_columns * 4;
    const simd::Format format = matmul_.kind == simd::kGemmInt8 ? simd::kI32 : simd::kF32;
    return {first == 0 ? nullptr : to, matmul_.block_columns, to, matmul_.block_columns, format, scale};
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
  const Layout c_;
  const Layout a_;
  const Layout b_;
  const Way way_;
  const int64_t terms_;  // of a block
  std::byte* a_panels_;  // or copied rows of A
  int32_t* heads_;       // of rows of A
  std::byte* b_panels_;
  std::byte* c_block_;
  bool in_place_ = false;     // sums go straight to the output
  bool a_lies_well_ = false;  // units of A are read where they lie
};

}  // namespace

void RunMatmul(const LeafProgram& leaf, const simd::KernelTable& kernels, const int64_t* bounds, const int64_t* cells,
               const OperandView* views, std::byte* scratch, const std::atomic<bool>* abort) {
  if (cells[leaf.rank - 2] <= 0 || cells[leaf.rank - 1] <= 0) return;
  Nest batches;
  if (!batches.Make(leaf.rank - 2, cells, -1, views, 3)) return;
  Product product(leaf, kernels, views, bounds, cells, scratch, abort);
  batches.ForEachOuter(0, [&](const Pointers& at) { product.Run(at); });
}

}  // namespace pypto::device
