// Peer of the dispatch benchmark: a tvm-ffi function that checks rank, dims, dtype and strides of three tensors.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

namespace {

void Check(const tvm::ffi::TensorView& tensor, int64_t rows, int64_t columns) {
  const bool fits = tensor.ndim() == 2 && tensor.size(0) == rows && tensor.size(1) == columns &&
                    tensor.dtype().code == kDLFloat && tensor.dtype().bits == 32 && tensor.dtype().lanes == 1 &&
                    tensor.stride(0) == columns && tensor.stride(1) == 1;
  if (!fits) TVM_FFI_THROW(ValueError) << "expected a contiguous float32 tensor of " << rows << " x " << columns;
}

void Touch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out) {
  Check(x, 16, 16);
  Check(y, 16, 16);
  Check(out, 16, 16);
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(touch, Touch);
