// Blocks of C that stay in cache, packed panels of A and B, and the register-tiled kernel.
#include "pypto/device/matrix.h"

#include <algorithm>
#include <cstring>

#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

// One product of one tile; lives for one call of RunMatmul.
class Product {
 public:
  Product(const LeafProgram& leaf, const simd::KernelTable& kernels, const OperandView* views, int64_t k,
          std::byte* scratch, const std::atomic<bool>* abort)
      : matmul_(leaf.matmul), kernels_(kernels), views_(views), abort_(abort), k_(k), rank_(leaf.rank) {
    a_panel_ = reinterpret_cast<float*>(scratch + matmul_.a_offset);
    b_panel_ = reinterpret_cast<float*>(scratch + matmul_.b_offset);
    c_block_ = reinterpret_cast<float*>(scratch + matmul_.c_offset);
    total_ = reinterpret_cast<int32_t*>(scratch + matmul_.total_offset);
  }

  void Run(const std::array<std::byte*, Nest::kMostOperands>& at, int64_t rows, int64_t columns) {
    for (int64_t column = 0; column < columns; column += matmul_.block_columns) {
      const int64_t width = std::min(matmul_.block_columns, columns - column);
      for (int64_t row = 0; row < rows; row += matmul_.block_rows) {
        const int64_t height = std::min(matmul_.block_rows, rows - row);
        Block(at, row, height, column, width);
      }
    }
  }

 private:
  const OperandView& C() const { return views_[0]; }
  const OperandView& A() const { return views_[1]; }
  const OperandView& B() const { return views_[2]; }

  void Block(const std::array<std::byte*, Nest::kMostOperands>& at, int64_t row, int64_t height, int64_t column,
             int64_t width) {
    const int64_t padded = (width + kernels_.gemm_columns - 1) / kernels_.gemm_columns * kernels_.gemm_columns;
    if (k_ == 0) {
      std::memset(c_block_, 0, static_cast<size_t>(height * padded) * sizeof(float));
      if (matmul_.integers) kernels_.add_integers(total_, c_block_, height * padded, true);
    }
    const std::byte* a = at[1] + row * A().strides[rank_ - 2] * A().element_bytes;
    const std::byte* b = at[2] + column * B().strides[rank_ - 1] * B().element_bytes;
    for (int64_t first = 0; first < k_; first += simd::kGemmMaxK) {
      if (abort_ != nullptr && abort_->load(std::memory_order_relaxed)) return;
      const int64_t terms = std::min(simd::kGemmMaxK, k_ - first);
      const int64_t a_step = A().strides[rank_ - 1];
      const int64_t b_step = B().strides[rank_ - 2];
      kernels_.pack_a(a_panel_, a + first * a_step * A().element_bytes, A().format, A().strides[rank_ - 2], a_step,
                      height, terms);
      kernels_.pack_b(b_panel_, b + first * b_step * B().element_bytes, B().format, b_step, B().strides[rank_ - 1],
                      terms, width);
      kernels_.gemm(c_block_, padded, a_panel_, b_panel_, height, width, terms, first > 0 && !matmul_.integers);
      if (matmul_.integers) kernels_.add_integers(total_, c_block_, height * padded, first == 0);
    }
    StoreBlock(at[0], row, height, column, width, padded);
  }

  void StoreBlock(std::byte* c, int64_t row, int64_t height, int64_t column, int64_t width, int64_t padded) {
    const int64_t row_stride = C().strides[rank_ - 2];
    const int64_t step = C().strides[rank_ - 1];
    for (int64_t i = 0; i < height; ++i) {
      const void* values = matmul_.integers ? static_cast<const void*>(total_ + i * padded) : c_block_ + i * padded;
      kernels_.store[C().format](c + ((row + i) * row_stride + column * step) * C().element_bytes, step, values, width);
    }
  }

  const MatmulProgram& matmul_;
  const simd::KernelTable& kernels_;
  const OperandView* views_;
  const std::atomic<bool>* abort_;
  const int64_t k_;
  const int rank_;
  float* a_panel_;
  float* b_panel_;
  float* c_block_;
  int32_t* total_;
};

}  // namespace

void RunMatmul(const LeafProgram& leaf, const simd::KernelTable& kernels, const int64_t* cells, int64_t k,
               const OperandView* views, std::byte* scratch, const std::atomic<bool>* abort) {
  const int64_t rows = cells[leaf.rank - 2];
  const int64_t columns = cells[leaf.rank - 1];
  if (rows <= 0 || columns <= 0) return;
  Nest batches;
  if (!batches.Make(leaf.rank - 2, cells, -1, views, 3)) return;
  Product product(leaf, kernels, views, k, scratch, abort);
  batches.ForEachOuter(0,
                       [&](const std::array<std::byte*, Nest::kMostOperands>& at) { product.Run(at, rows, columns); });
}

}  // namespace pypto::device
