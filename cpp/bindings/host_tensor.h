// Reads a Python tensor as contiguous host memory.
#pragma once

#include <Python.h>

#include <cstdint>

#include "dlpack_abi.h"
#include "pypto/program/dtype.h"
#include "pypto/runtime/argument_view.h"

namespace pypto::bindings {

// One tensor as read; borrows from the Python object (or from `keep`, a normalised stand-in that it owns).
struct HostTensor {
  dlpack::Tensor tensor;  // not set before it is read
  program::DType dtype = program::DType::kFp32;
  PyObject* keep = nullptr;
  PyObject* source = nullptr;  // borrowed: the object of torch that was read on the fast way

  HostTensor() noexcept {}
  HostTensor(const HostTensor&) = delete;
  HostTensor& operator=(const HostTensor&) = delete;
  ~HostTensor() { Py_XDECREF(keep); }

  void* data() const noexcept { return static_cast<char*>(tensor.data) + tensor.byte_offset; }
  int64_t bytes() const noexcept;
  // A tensor without dims has the shape [1].
  runtime::ArgumentView AsArgument() const noexcept {
    static constexpr int64_t one[] = {1};
    if (tensor.ndim == 0) [[unlikely]]
      return runtime::ArgumentView::Host(data(), one, 1, dtype);
    return runtime::ArgumentView::Host(data(), tensor.shape, static_cast<uint8_t>(tensor.ndim), dtype);
  }
};

// How an argument will be used: what is wrong with it depends on that.
enum class TensorUse : uint8_t { kInput, kOutput };

// Fast: exactly torch.Tensor or torch.nn.Parameter, on the CPU, strides exactly contiguous, a known dtype. False
// without a Python error: take the other way.
bool ReadTorchFast(PyObject* object, HostTensor& out) noexcept;

// The same object as torch describes it, without a look at what it says. False without a Python error: it is of
// another type, or torch refuses.
bool DescribeTorch(PyObject* object, dlpack::Tensor* out) noexcept;

// Anything else: torch subclasses, numpy arrays, DLPack producers, strided inputs (copied). False with a Python error.
// `name` is the parameter's, for the message.
bool ReadHostTensor(PyObject* object, TensorUse use, const char* name, HostTensor& out);

// Of an object that ReadTorchFast has read.
bool TorchRequiresGrad(PyObject* object) noexcept;

// Whether a kernel may write a tensor of torch that requires grad: as for torch's own writes in place, only with grad
// mode off. False with a Python error. `name` is the parameter's.
bool CheckWritable(PyObject* object, const char* name);

// Tells torch that the tensors of a tuple were written, so that a backward pass that needs their old values refuses.
// False with a Python error.
bool NoteWrittenTensors(PyObject* tensors);

// Whether the object looks like a tensor at all (has __dlpack__ or an array interface).
bool LooksLikeTensor(PyObject* object);

}  // namespace pypto::bindings
