// DeviceTensor: attributes, host copies, row views. Copies and views go through the worker's Python object.
#include "device_tensor.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bindings.h"
#include "tensor_copies.h"
#include "type_maker.h"

namespace nb = nanobind;

namespace pypto::bindings {

PyTypeObject* device_tensor_type = nullptr;

namespace {

DeviceTensorObject* Self(PyObject* object) noexcept { return reinterpret_cast<DeviceTensorObject*>(object); }

PyObject* CallTorchHelper(const char* function, const char* argument) {
  PyObject* module = PyImport_ImportModule("pypto.runtime._torch");
  if (module == nullptr) return nullptr;
  PyObject* result = PyObject_CallMethod(module, function, "s", argument);
  Py_DECREF(module);
  return result;
}

void Deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (Self(object)->tensor != nullptr) Self(object)->tensor->DropReference();
  Py_CLEAR(Self(object)->worker);
  type->tp_free(object);
  Py_DECREF(type);
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(Self(object)->worker);
  return 0;
}

PyObject* GetDataPtr(PyObject* object, void*) { return PyLong_FromUnsignedLongLong(Self(object)->tensor->address()); }

PyObject* GetNbytes(PyObject* object, void*) { return PyLong_FromUnsignedLongLong(Self(object)->tensor->bytes()); }

PyObject* GetIsAlive(PyObject* object, void*) { return PyBool_FromLong(Self(object)->tensor->is_alive() ? 1 : 0); }

PyObject* GetIsView(PyObject* object, void*) { return PyBool_FromLong(Self(object)->tensor->is_view() ? 1 : 0); }

PyObject* GetWorker(PyObject* object, void*) { return Py_NewRef(Self(object)->worker); }

PyObject* GetShape(PyObject* object, void*) {
  const auto shape = Self(object)->tensor->shape();
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (tuple == nullptr) return nullptr;
  for (size_t i = 0; i < shape.size(); ++i) {
    PyObject* dim = PyLong_FromLongLong(shape[i]);
    if (dim == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), dim);
  }
  return tuple;
}

PyObject* GetDType(PyObject* object, void*) {
  const std::string name(program::InfoOf(Self(object)->tensor->dtype()).name);
  return CallTorchHelper("torch_dtype", name.c_str());
}

PyObject* Repr(PyObject* object) {
  const runtime::ResidentTensor& tensor = *Self(object)->tensor;
  std::string text = runtime::DescribeTensor(tensor);
  if (!tensor.is_alive()) text += tensor.state() == runtime::TensorState::kFreed ? ", freed" : ", worker closed";
  return PyUnicode_FromFormat("<%s>", text.c_str());
}

PyObject* CopyFromHost(PyObject* object, PyObject* source) {
  runtime::Worker* core = CoreOfWorker(Self(object)->worker);
  if (core == nullptr || !CopyTensorFromHost(*core, object, source)) return nullptr;
  Py_RETURN_NONE;
}

// A CPU tensor of the same shape and dtype.
PyObject* EmptyLike(PyObject* object) {
  const std::string name(program::InfoOf(Self(object)->tensor->dtype()).name);
  PyObject* shape = GetShape(object, nullptr);
  PyObject* module = shape != nullptr ? PyImport_ImportModule("pypto.runtime._torch") : nullptr;
  PyObject* made = module != nullptr ? PyObject_CallMethod(module, "empty", "Os", shape, name.c_str()) : nullptr;
  Py_XDECREF(module);
  Py_XDECREF(shape);
  return made;
}

PyObject* ToHost(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  const bool named_out = named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") == 0;
  if (count + named > 1 || (named == 1 && !named_out)) {
    PyErr_SetString(PyExc_TypeError, "to_host(out=None) takes one optional argument");
    return nullptr;
  }
  runtime::Worker* core = CoreOfWorker(Self(object)->worker);
  if (core == nullptr) return nullptr;
  const bool given = count + named == 1 && args[0] != Py_None;
  PyObject* out = given ? Py_NewRef(args[0]) : EmptyLike(object);
  if (out != nullptr && !CopyTensorToHost(*core, object, out)) Py_CLEAR(out);
  return out;
}

// Without it numpy would make an array of one Python object.
PyObject* RefuseArray(PyObject* object, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%R lies on the device and is no array of the host: call to_host()", object);
  return nullptr;
}

PyObject* Subscript(PyObject* object, PyObject* key) {
  return PyObject_CallMethod(Self(object)->worker, "_view_rows", "OO", object, key);
}

Py_ssize_t Length(PyObject* object) { return static_cast<Py_ssize_t>(Self(object)->tensor->shape()[0]); }

PyGetSetDef getters[] = {
    {"data_ptr", GetDataPtr, nullptr, "Device address as an int.", nullptr},
    {"shape", GetShape, nullptr, "Tuple of ints.", nullptr},
    {"dtype", GetDType, nullptr, "The torch dtype.", nullptr},
    {"nbytes", GetNbytes, nullptr, "Size in bytes.", nullptr},
    {"worker", GetWorker, nullptr, "The ChipWorker whose memory it is.", nullptr},
    {"is_alive", GetIsAlive, nullptr, "False once it, its base or its worker is gone.", nullptr},
    {"is_view", GetIsView, nullptr, "True for a slice of another DeviceTensor.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"copy_from_host", CopyFromHost, METH_O, "copy_from_host(src): uploads a tensor of the same shape and dtype."},
    {"to_host", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(ToHost)), METH_FASTCALL | METH_KEYWORDS,
     "to_host(out=None): downloads into `out`, or into a new CPU tensor, and returns it."},
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(RefuseArray)),
     METH_VARARGS | METH_KEYWORDS, "TypeError: to_host() downloads."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_repr, reinterpret_cast<void*>(Repr)},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_mp_subscript, reinterpret_cast<void*>(Subscript)},
    {Py_mp_length, reinterpret_cast<void*>(Length)},
    {Py_tp_doc, const_cast<char*>(
                    "A tensor that stays on the device; made by ChipWorker.alloc_tensor. Immutable and hashable.\n"
                    "Slices of whole leading rows are views that keep the memory. Dropping the last reference frees.")},
    {0, nullptr},
};

PyType_Spec spec = {
    "pypto._core.DeviceTensor", sizeof(DeviceTensorObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* MakeDeviceTensor(runtime::TensorRef tensor, PyObject* worker) {
  PyObject* object = device_tensor_type->tp_alloc(device_tensor_type, 0);
  if (object == nullptr) return nullptr;
  Self(object)->tensor = tensor.Release();
  Self(object)->worker = Py_NewRef(worker);
  return object;
}

void bind_device_tensor(nb::module_& module) { device_tensor_type = MakeType(module, spec); }

}  // namespace pypto::bindings
