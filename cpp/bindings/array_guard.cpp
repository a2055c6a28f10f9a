// Tensors of torch are read by the DLPack exchange function, arrays of numpy by the buffer protocol.
#include "array_guard.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "fingerprint.h"
#include "host_tensor.h"

namespace pypto::bindings {
namespace {

constexpr size_t kMostCopied = 8 << 20;

// A function behind an attribute of torch.Tensor, which costs a third of reading the attribute.
struct Getter {
  const char* name;
  getter get = nullptr;
  void* closure = nullptr;

  bool Find(PyTypeObject* type) noexcept {
    if (get != nullptr) return true;
    PyObject* interned = PyUnicode_InternFromString(name);
    PyObject* found = interned != nullptr ? _PyType_Lookup(type, interned) : nullptr;
    Py_XDECREF(interned);
    if (found == nullptr || !Py_IS_TYPE(found, &PyGetSetDescr_Type)) return false;
    const PyGetSetDef* definition = reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
    closure = definition->closure;
    get = definition->get;
    return true;
  }
  // By identity: these are True, False and None, or a tensor that is kept.
  bool Gives(PyObject* object, PyObject* expected) const noexcept {
    PyObject* found = get(object, closure);
    if (found == nullptr) PyErr_Clear();
    Py_XDECREF(found);
    return found == expected;
  }
};
Getter requires_grad{"requires_grad"};
Getter is_leaf{"is_leaf"};
Getter grad{"grad"};
Getter retains_grad{"retains_grad"};

bool SameAutograd(PyObject* tensor, PyObject* expected) noexcept {
  PyTypeObject* type = Py_TYPE(tensor);
  if (!requires_grad.Find(type) || !is_leaf.Find(type) || !grad.Find(type) || !retains_grad.Find(type)) return false;
  const Getter& third = PyTuple_GET_ITEM(expected, 1) == Py_True ? grad : retains_grad;
  return requires_grad.Gives(tensor, PyTuple_GET_ITEM(expected, 0)) &&
         is_leaf.Gives(tensor, PyTuple_GET_ITEM(expected, 1)) && third.Gives(tensor, PyTuple_GET_ITEM(expected, 2));
}

bool HasDType(PyObject* array, PyObject* expected) noexcept {
  static PyObject* name = PyUnicode_InternFromString("dtype");
  PyObject* found = PyObject_GetAttr(array, name);
  if (found == nullptr) PyErr_Clear();
  Py_XDECREF(found);  // the array holds it
  return found == expected;
}

uint32_t ElementOf(dlpack::DataType type) noexcept {
  return static_cast<uint32_t>(type.code) << 24 | static_cast<uint32_t>(type.bits) << 16 | type.lanes;
}

// Row-major without gaps, or nothing at all; strides in elements.
bool IsContiguous(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) noexcept {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;
  int64_t expected = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] != 1 && i < strides.size() && strides[i] != expected) return false;
    expected *= extents[i];
  }
  return true;
}

using Copy = std::shared_ptr<const std::vector<unsigned char>>;

// That of the same contents, if a guard holds one: the calls of a kernel that captured an array share it.
Copy CopyOf(const void* data, size_t bytes, PyObject* fingerprint) {
  static auto& copies = *new std::unordered_map<std::string, Copy::weak_type>;
  std::erase_if(copies, [](const auto& each) { return each.second.expired(); });
  Copy::weak_type& known = copies[{PyBytes_AS_STRING(fingerprint), static_cast<size_t>(PyBytes_GET_SIZE(fingerprint))}];
  Copy copy = known.lock();
  if (copy == nullptr) {
    const auto* begin = static_cast<const unsigned char*>(data);
    copy = std::make_shared<const std::vector<unsigned char>>(begin, begin + bytes);
    known = copy;
  }
  return copy;
}

}  // namespace

void ArrayGuard::ReadTensor(const dlpack::Tensor& tensor) {
  of_torch_ = true;
  device_ = tensor.device.type;
  element_ = ElementOf(tensor.dtype);
  extents_.assign(tensor.shape, tensor.shape + tensor.ndim);
  no_strides_ = tensor.strides == nullptr;
  if (!no_strides_) strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
  contiguous_ = device_ == dlpack::kDeviceCpu && IsContiguous(extents_, strides_);
  bytes_ = static_cast<size_t>(tensor.dtype.bits) * tensor.dtype.lanes / 8;
  for (const int64_t extent : extents_) bytes_ *= static_cast<size_t>(extent);
}

void ArrayGuard::ReadBuffer(const Py_buffer& buffer) {
  element_ = static_cast<uint32_t>(buffer.itemsize);
  extents_.assign(buffer.shape, buffer.shape + buffer.ndim);
  if (buffer.strides != nullptr) strides_.assign(buffer.strides, buffer.strides + buffer.ndim);
  contiguous_ = PyBuffer_IsContiguous(&buffer, 'C') == 1;
  bytes_ = static_cast<size_t>(buffer.len);
}

void ArrayGuard::Keep(const void* data, PyObject* fingerprint) {
  if (fingerprint == Py_None || !contiguous_ || bytes_ <= kMostInFingerprint || bytes_ > kMostCopied) return;
  if (!HasFingerprint(data, bytes_, fingerprint)) return;
  kept_ = CopyOf(data, bytes_, fingerprint);
}

bool ArrayGuard::Contains(const void* data, PyObject* fingerprint) const noexcept {
  if (kept_ == nullptr) return HasFingerprint(data, bytes_, fingerprint);
  return std::memcmp(data, kept_->data(), bytes_) == 0;
}

void ArrayGuard::Read(PyObject* array, PyObject* fingerprint) noexcept {
  HostTensor seen;
  ReadTorchFast(array, seen);  // looks torch up, if this is the first tensor of it
  dlpack::Tensor tensor;
  if (DescribeTorch(array, &tensor)) {
    ReadTensor(tensor);
    Keep(static_cast<char*>(tensor.data) + tensor.byte_offset, fingerprint);
    read_ = true;
    return;
  }
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDED_RO) != 0) {
    PyErr_Clear();
    return;
  }
  ReadBuffer(buffer);
  Keep(buffer.buf, fingerprint);
  PyBuffer_Release(&buffer);
  read_ = true;
}

bool ArrayGuard::IsTensor(const dlpack::Tensor& tensor) const noexcept {
  const auto rank = static_cast<size_t>(tensor.ndim);
  return rank == extents_.size() && ElementOf(tensor.dtype) == element_ && tensor.device.type == device_ &&
         std::equal(extents_.begin(), extents_.end(), tensor.shape) && (tensor.strides == nullptr) == no_strides_ &&
         (no_strides_ || std::equal(strides_.begin(), strides_.end(), tensor.strides));
}

bool ArrayGuard::IsBuffer(const Py_buffer& buffer) const noexcept {
  return static_cast<size_t>(buffer.ndim) == extents_.size() && static_cast<uint32_t>(buffer.itemsize) == element_ &&
         std::equal(extents_.begin(), extents_.end(), buffer.shape) &&
         std::equal(strides_.begin(), strides_.end(), buffer.strides);
}

bool ArrayGuard::Holds(PyObject* array, PyObject* more, PyObject* fingerprint) const noexcept {
  const bool counts = fingerprint != Py_None;
  if (!read_ || (counts && !contiguous_)) return false;
  if (of_torch_) {
    dlpack::Tensor tensor;
    if (!DescribeTorch(array, &tensor) || !IsTensor(tensor)) return false;
    if (more != Py_None && !SameAutograd(array, more)) return false;
    return !counts || Contains(static_cast<char*>(tensor.data) + tensor.byte_offset, fingerprint);
  }
  if (!HasDType(array, more)) return false;
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDED_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool holds = IsBuffer(buffer) && (!counts || Contains(buffer.buf, fingerprint));
  PyBuffer_Release(&buffer);
  return holds;
}

}  // namespace pypto::bindings
