// Matching a call with the calls that were compiled for.
#include "kernel_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pypto::bindings {

PyObject* option_scope = nullptr;

namespace {

constexpr size_t kMostCalls = 64;
constexpr size_t kMostSituations = 8;
constexpr size_t kMostAlike = 4;  // calls of one situation that differ only in their guards

// Equal in value and in type; of types that compare without Python code.
bool SameScalar(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a);
    const double y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof(x)) == 0;  // 0.0 and -0.0 differ
  }
  return (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

// Keywords of one call site are one tuple; of two, equal names are one object, being interned.
bool SameNames(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  const Py_ssize_t size = a != nullptr ? PyTuple_GET_SIZE(a) : 0;
  if (size != (b != nullptr ? PyTuple_GET_SIZE(b) : 0)) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i)) return false;
  }
  return true;
}

struct Extents {
  program::DType dtype;
  size_t rank;
  const int64_t* dims;
};

Extents ExtentsOf(const runtime::ArgumentView& view) noexcept {
  if (view.kind == runtime::ArgumentKind::kHost) return {view.dtype, view.rank, view.shape};
  const std::span<const int64_t> shape = view.tensor->shape();
  return {view.tensor->dtype(), shape.size(), shape.data()};
}

}  // namespace

PyObject* OptionScopeInForce() noexcept {
  PyObject* scope = nullptr;
  return PyContextVar_Get(option_scope, nullptr, &scope) == 0 ? scope : nullptr;
}

KnownCall::KnownCall(PyObject* image, const CallShape& call, size_t tensors)
    : program_(image), names_(Py_XNewRef(call.names)) {
  for (size_t i = tensors; i < call.count(); ++i) scalars_.push_back(Py_NewRef(call.objects[i]));
}

KnownCall::~KnownCall() {
  Py_XDECREF(names_);
  for (PyObject* scalar : scalars_) Py_DECREF(scalar);
}

bool KnownCall::SetTensors(const Arguments& arguments, PyObject* dims) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Extents extents = ExtentsOf(arguments.views()[i]);
    PyObject* bound = PyTuple_GetItem(dims, static_cast<Py_ssize_t>(i));
    if (bound == nullptr) return false;
    if (!PyTuple_Check(bound) || static_cast<size_t>(PyTuple_GET_SIZE(bound)) != extents.rank) return false;
    Tensor tensor{extents.dtype, static_cast<uint8_t>(extents.rank), {}};
    for (size_t axis = 0; axis < extents.rank; ++axis) {
      PyObject* size = PyTuple_GET_ITEM(bound, static_cast<Py_ssize_t>(axis));
      tensor.dims[axis] = size == Py_None ? -1 : PyLong_AsLongLong(size);
      if (tensor.dims[axis] != -1 && tensor.dims[axis] != extents.dims[axis]) return false;
    }
    tensors_.push_back(tensor);
  }
  return true;
}

bool KnownCall::Serves(const CallShape& call, const Arguments& arguments) const noexcept {
  if (call.count() != tensors_.size() + scalars_.size() || !SameNames(call.names, names_)) return false;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Extents extents = ExtentsOf(arguments.views()[i]);
    const Tensor& tensor = tensors_[i];
    if (tensor.dtype != extents.dtype || tensor.rank != extents.rank) return false;
    for (size_t axis = 0; axis < extents.rank; ++axis) {
      if (tensor.dims[axis] != -1 && tensor.dims[axis] != extents.dims[axis]) return false;
    }
  }
  for (size_t i = 0; i < scalars_.size(); ++i) {
    if (!SameScalar(call.objects[tensors_.size() + i], scalars_[i])) return false;
  }
  return true;
}

int KnownCall::Traverse(visitproc visit, void* arg) const {
  for (PyObject* scalar : scalars_) Py_VISIT(scalar);
  if (const int stop = guards_.Traverse(visit, arg); stop != 0) return stop;
  return program_.Traverse(visit, arg);
}

KernelCalls::Situation* KernelCalls::FindSituation(PyObject* scope, std::shared_ptr<Situation>& held) noexcept {
  for (size_t i = 0; i < situations_.size(); ++i) {
    Situation* situation = situations_[i].get();
    if (situation->scope != scope) continue;
    if (!situation->guards.RunsCode()) {
      if (situation->guards.Hold()) return situation;
      continue;
    }
    held = situations_[i];
    if (situation->guards.Hold()) return situation;
  }
  return nullptr;
}

std::shared_ptr<KnownCall>* KernelCalls::Find(const CallShape& call, Arguments& arguments,
                                              std::shared_ptr<KnownCall>& held) noexcept {
  if (situations_.empty() || call.positional < tensors_) return nullptr;
  PyObject* scope = OptionScopeInForce();
  if (scope == nullptr) [[unlikely]] {
    PyErr_Clear();
    return nullptr;
  }
  std::shared_ptr<Situation> kept;
  Situation* situation = FindSituation(scope, kept);
  Py_DECREF(scope);
  if (situation == nullptr || !arguments.ReadTensors(call.objects, tensors_)) return nullptr;
  for (size_t i = 0; i < situation->calls.size(); ++i) {
    std::shared_ptr<KnownCall>& known = situation->calls[i];
    if (!known->Serves(call, arguments)) continue;
    if (!known->guards().RunsCode() && kept == nullptr) {
      if (known->guards().Hold()) return &known;
      continue;
    }
    if (kept == nullptr) kept = KeepAlive(situation);
    held = known;
    if (held->guards().Hold()) return &held;
  }
  return nullptr;
}

std::shared_ptr<KernelCalls::Situation> KernelCalls::KeepAlive(const Situation* situation) const noexcept {
  for (const std::shared_ptr<Situation>& each : situations_) {
    if (each.get() == situation) return each;
  }
  return nullptr;
}

KernelCalls::Situation* KernelCalls::MakeSituation(PyObject* scope, PyObject* entries,
                                                   std::shared_ptr<Situation>& oldest) {
  auto made = std::make_shared<Situation>(scope);
  if (!made->guards.Add(entries) || !made->guards.Hold()) return nullptr;
  if (situations_.size() == kMostSituations) {
    oldest = std::move(situations_.front());
    situations_.erase(situations_.begin());
  }
  situations_.push_back(std::move(made));
  return situations_.back().get();
}

bool KernelCalls::Remember(const CallShape& call, PyObject* scope, PyObject* remembered) {
  PyObject *image, *dims, *entries, *of_call;
  Py_ssize_t tensors = 0;
  if (!PyArg_ParseTuple(remembered, "OnO!O!O!", &image, &tensors, &PyTuple_Type, &dims, &PyList_Type, &entries,
                        &PyList_Type, &of_call)) {
    return false;
  }
  Arguments arguments;
  if (call.positional < static_cast<size_t>(tensors)) return true;
  if (!arguments.ReadTensors(call.objects, static_cast<size_t>(tensors))) return true;
  auto known = std::make_shared<KnownCall>(image, call, static_cast<size_t>(tensors));
  if (!known->SetTensors(arguments, dims)) return PyErr_Occurred() == nullptr;
  if (!known->guards().Add(of_call)) return false;
  if (!known->guards().Hold()) return true;
  // Let go of at the end: that may run Python code, which must find the lists in order.
  std::shared_ptr<Situation> oldest, kept;
  std::shared_ptr<KnownCall> oldest_call;
  Situation* situation = FindSituation(scope, kept);
  if (situation == nullptr) situation = MakeSituation(scope, entries, oldest);
  if (situation == nullptr) return PyErr_Occurred() == nullptr;
  tensors_ = static_cast<size_t>(tensors);
  std::vector<std::shared_ptr<KnownCall>>& calls = situation->calls;
  const auto alike = [&](const std::shared_ptr<KnownCall>& each) { return each->Serves(call, arguments); };
  auto going = calls.end();
  if (std::count_if(calls.begin(), calls.end(), alike) >= static_cast<std::ptrdiff_t>(kMostAlike)) {
    going = std::find_if(calls.begin(), calls.end(), alike);
  } else if (calls.size() == kMostCalls) {
    going = calls.begin();
  }
  if (going != calls.end()) {
    oldest_call = std::move(*going);
    calls.erase(going);
  }
  calls.push_back(std::move(known));
  return true;
}

int KernelCalls::Traverse(visitproc visit, void* arg) const {
  for (const std::shared_ptr<Situation>& situation : situations_) {
    Py_VISIT(situation->scope);
    if (const int stop = situation->guards.Traverse(visit, arg); stop != 0) return stop;
    for (const std::shared_ptr<KnownCall>& known : situation->calls) {
      // Shared with a call under way only, which keeps it alive for its own time.
      if (const int stop = known->Traverse(visit, arg); stop != 0) return stop;
    }
  }
  return 0;
}

}  // namespace pypto::bindings
