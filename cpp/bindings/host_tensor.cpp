// Reading tensors: the DLPack exchange function of torch on the fast way, Python code on the other.
#include "host_tensor.h"

namespace pypto::bindings {
namespace {

// What is known about torch once its first tensor has been seen. Written under the GIL.
struct TorchTypes {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  getter requires_grad = nullptr;  // the function behind Tensor.requires_grad
  void* requires_grad_closure = nullptr;
  const dlpack::ExchangeApi* api = nullptr;
  PyObject* is_grad_enabled = nullptr;    // torch's function of that name
  PyObject* increment_version = nullptr;  // torch.autograd.graph's
};
TorchTypes torch_types;

const dlpack::ExchangeApi* ExchangeApiOf(PyObject* type) {
  PyObject* capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (capsule == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule);  // the table is static in torch
  if (api == nullptr) PyErr_Clear();
  return api != nullptr && api->version.major == 1 ? api : nullptr;
}

PyTypeObject* TypeNamed(PyObject* module, const char* name) {
  PyObject* type = PyObject_GetAttrString(module, name);
  if (type == nullptr) PyErr_Clear();
  // The reference is kept for the life of the process.
  return reinterpret_cast<PyTypeObject*>(type);
}

// Calling the function behind the attribute costs a third of reading the attribute.
void FindRequiresGrad() {
  PyObject* descriptor = _PyType_Lookup(torch_types.tensor, PyUnicode_InternFromString("requires_grad"));
  if (descriptor == nullptr || Py_TYPE(descriptor) != &PyGetSetDescr_Type) return;
  const PyGetSetDef* definition = reinterpret_cast<PyGetSetDescrObject*>(descriptor)->d_getset;
  torch_types.requires_grad = definition->get;
  torch_types.requires_grad_closure = definition->closure;
}

// A function of a module that is imported already, or null.
PyObject* FunctionNamed(const char* module_name, const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
  PyObject* function = module != nullptr ? PyObject_GetAttrString(module, name) : nullptr;
  if (function == nullptr) PyErr_Clear();
  return function;  // kept for the life of the process
}

// Looks torch up once it has been imported by somebody; never imports it.
void FindTorch() {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* torch = PyDict_GetItemString(modules, "torch");
  PyObject* nn_parameter = PyDict_GetItemString(modules, "torch.nn.parameter");
  if (torch == nullptr || nn_parameter == nullptr) return;
  PyTypeObject* tensor = TypeNamed(torch, "Tensor");
  if (tensor == nullptr) return;
  torch_types.parameter = TypeNamed(nn_parameter, "Parameter");
  torch_types.api = ExchangeApiOf(reinterpret_cast<PyObject*>(tensor));
  torch_types.tensor = tensor;
  torch_types.is_grad_enabled = FunctionNamed("torch", "is_grad_enabled");
  torch_types.increment_version = FunctionNamed("torch.autograd.graph", "increment_version");
  FindRequiresGrad();
}

bool DTypeOf(dlpack::DataType type, program::DType& out) noexcept {
  using program::DType;
  if (type.code == dlpack::kFloat && type.bits == 32 && type.lanes == 1) [[likely]] {
    out = DType::kFp32;
    return true;
  }
  if (type.lanes != 1) return false;
  switch (type.code << 8 | type.bits) {
    case dlpack::kFloat << 8 | 32: out = DType::kFp32; return true;
    case dlpack::kFloat << 8 | 16: out = DType::kFp16; return true;
    case dlpack::kBfloat << 8 | 16: out = DType::kBf16; return true;
    case dlpack::kInt << 8 | 8: out = DType::kInt8; return true;
    case dlpack::kInt << 8 | 16: out = DType::kInt16; return true;
    case dlpack::kInt << 8 | 32: out = DType::kInt32; return true;
    case dlpack::kInt << 8 | 64: out = DType::kInt64; return true;
    case dlpack::kUInt << 8 | 8: out = DType::kUint8; return true;
    case dlpack::kUInt << 8 | 16: out = DType::kUint16; return true;
    case dlpack::kUInt << 8 | 32: out = DType::kUint32; return true;
    case dlpack::kUInt << 8 | 64: out = DType::kUint64; return true;
    case dlpack::kBool << 8 | 8: out = DType::kBool; return true;
    case dlpack::kFloat8E4m3fn << 8 | 8: out = DType::kFp8E4M3; return true;
    case dlpack::kFloat8E5m2 << 8 | 8: out = DType::kFp8E5M2; return true;
    case dlpack::kFloat8E8m0fnu << 8 | 8: out = DType::kFp8E8M0; return true;
    default: return false;
  }
}

// Strides exactly those of row-major order, in dims of extent 1 too.
bool IsExactlyContiguous(const dlpack::Tensor& tensor) noexcept {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

bool HasElements(const dlpack::Tensor& tensor) noexcept {
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return false;
  }
  return true;
}

// Fills `out` from an object whose type carries the exchange function.
bool ReadWithApi(PyObject* object, HostTensor& out) noexcept {
  if (torch_types.api->tensor_from_object(object, &out.tensor) != 0) [[unlikely]] {
    PyErr_Clear();
    return false;
  }
  const dlpack::Tensor& tensor = out.tensor;
  return tensor.device.type == dlpack::kDeviceCpu && tensor.ndim <= runtime::kMaxTensorRank &&
         DTypeOf(tensor.dtype, out.dtype) && IsExactlyContiguous(tensor) &&
         (tensor.data != nullptr || !HasElements(tensor));
}

// For producers without the exchange function: a DLPack capsule made by torch's own exporter, read and kept.
bool ReadCapsule(PyObject* tensor, HostTensor& out) {
  PyObject* capsule = PyObject_CallMethod(tensor, "__dlpack__", nullptr);
  if (capsule == nullptr) return false;
  const auto* read = static_cast<const dlpack::Tensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (read == nullptr) {
    Py_DECREF(capsule);
    return false;
  }
  out.tensor = *read;
  PyObject* pair = PyTuple_Pack(2, tensor, capsule);  // dims live in the capsule's record
  Py_DECREF(capsule);
  if (pair == nullptr) return false;
  Py_XSETREF(out.keep, pair);
  return true;
}

}  // namespace

int64_t HostTensor::bytes() const noexcept {
  int64_t count = program::BytesOf(dtype);
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= tensor.shape[i];
  return count;
}

bool ReadTorchFast(PyObject* object, HostTensor& out) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (torch_types.tensor == nullptr) [[unlikely]]
    FindTorch();
  if (torch_types.api == nullptr || (type != torch_types.tensor && type != torch_types.parameter)) return false;
  out.source = object;
  return ReadWithApi(object, out);
}

bool DescribeTorch(PyObject* object, dlpack::Tensor* out) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (type != torch_types.tensor && type != torch_types.parameter) return false;
  if (torch_types.api == nullptr) [[unlikely]]
    return false;
  if (torch_types.api->tensor_from_object(object, out) == 0) [[likely]]
    return true;
  PyErr_Clear();
  return false;
}

bool TorchRequiresGrad(PyObject* object) noexcept {
  if (torch_types.requires_grad == nullptr) [[unlikely]]
    return true;  // not known: asked out of line
  PyObject* value = torch_types.requires_grad(object, torch_types.requires_grad_closure);
  if (value == nullptr) [[unlikely]]
    PyErr_Clear();
  const bool required = value != Py_False;
  Py_XDECREF(value);
  return required;
}

namespace {

bool GradModeIsOff() noexcept {
  if (torch_types.is_grad_enabled == nullptr) return false;
  PyObject* enabled = PyObject_CallNoArgs(torch_types.is_grad_enabled);
  if (enabled == nullptr) PyErr_Clear();
  Py_XDECREF(enabled);
  return enabled == Py_False;
}

// Whether it is a tensor of torch itself whose version may be counted. -1 with a Python error.
int CountsVersions(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type != torch_types.tensor && type != torch_types.parameter) return 0;
  static PyObject* name = PyUnicode_InternFromString("is_inference");
  PyObject* inference = PyObject_CallMethodNoArgs(object, name);
  if (inference == nullptr) return -1;
  const bool counts = inference == Py_False;
  Py_DECREF(inference);
  return counts ? 1 : 0;
}

}  // namespace

bool NoteWrittenTensors(PyObject* tensors) {
  bool plain = torch_types.increment_version != nullptr;
  for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(tensors); ++i) {
    const int counts = CountsVersions(PyTuple_GET_ITEM(tensors, i));
    if (counts < 0) return false;
    plain = counts == 1;
  }
  if (plain) {
    PyObject* noted = PyObject_CallOneArg(torch_types.increment_version, tensors);
    Py_XDECREF(noted);
    return noted != nullptr;
  }
  PyObject* module = PyImport_ImportModule("pypto.runtime._torch");
  PyObject* noted = module != nullptr ? PyObject_CallMethod(module, "note_written", "(O)", tensors) : nullptr;
  Py_XDECREF(module);
  Py_XDECREF(noted);
  return noted != nullptr;
}

bool CheckWritable(PyObject* object, const char* name) {
  if (GradModeIsOff()) return true;
  PyObject* module = PyImport_ImportModule("pypto.runtime._torch");
  if (module == nullptr) return false;
  PyObject* checked = PyObject_CallMethod(module, "check_writable", "Os", object, name);
  Py_DECREF(module);
  Py_XDECREF(checked);
  return checked != nullptr;
}

bool ReadHostTensor(PyObject* object, TensorUse use, const char* name, HostTensor& out) {
  // Gives an exact, contiguous torch CPU tensor over the same memory, or a copy for inputs; raises otherwise.
  PyObject* module = PyImport_ImportModule("pypto.runtime._torch");
  if (module == nullptr) return false;
  PyObject* plain =
      PyObject_CallMethod(module, "as_contiguous", "OsO", object, name, use == TensorUse::kOutput ? Py_True : Py_False);
  Py_DECREF(module);
  if (plain == nullptr) return false;
  Py_XSETREF(out.keep, plain);
  if (torch_types.tensor == nullptr) FindTorch();
  if (torch_types.api != nullptr && ReadWithApi(plain, out)) return true;
  if (!ReadCapsule(plain, out)) return false;
  if (!DTypeOf(out.tensor.dtype, out.dtype)) {
    PyErr_Format(PyExc_TypeError, "argument '%s' has a dtype that pypto does not know", name);
    return false;
  }
  return true;
}

bool LooksLikeTensor(PyObject* object) {
  return PyObject_HasAttrString(object, "__dlpack__") || PyObject_HasAttrString(object, "__array_interface__") ||
         PyObject_HasAttrString(object, "__array__");
}

}  // namespace pypto::bindings
