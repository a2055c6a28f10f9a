// What an array of numpy or a tensor of torch was when a kernel was compiled: what describes it, and what it held.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dlpack_abi.h"

namespace pypto::bindings {

// Owned by KernelGuards. Thread rule: with the GIL.
class ArrayGuard {
 public:
  // Reads what the object is now. One that shows no memory here never holds: a tensor of torch of another class or
  // layout. Of contents that have the fingerprint a copy is kept if they are not large, one for all guards: comparing
  // is faster than hashing.
  void Read(PyObject* array, PyObject* fingerprint) noexcept;

  // Whether the object still has this dtype, shape and strides. `more`: the dtype of an array of numpy, which is
  // compared by identity; of a tensor (requires_grad, is_leaf, grad or retains_grad), or None where these do not count.
  // `fingerprint`: of the contents, or None where they do not count.
  bool Holds(PyObject* array, PyObject* more, PyObject* fingerprint) const noexcept;

 private:
  void ReadTensor(const dlpack::Tensor& tensor);
  void ReadBuffer(const Py_buffer& buffer);
  void Keep(const void* data, PyObject* fingerprint);
  bool Contains(const void* data, PyObject* fingerprint) const noexcept;
  bool IsTensor(const dlpack::Tensor& tensor) const noexcept;
  bool IsBuffer(const Py_buffer& buffer) const noexcept;

  bool read_ = false;
  bool of_torch_ = false;
  bool contiguous_ = false;
  bool no_strides_ = false;  // torch tells none
  int32_t device_ = 0;
  uint32_t element_ = 0;  // torch: code, bits and lanes; numpy: bytes
  size_t bytes_ = 0;
  std::vector<int64_t> extents_;
  std::vector<int64_t> strides_;
  std::shared_ptr<const std::vector<unsigned char>> kept_;  // null: the fingerprint tells
};

}  // namespace pypto::bindings
