// Comparing what a kernel captured with what it was compiled with, by identity.
#include "kernel_guards.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace pypto::bindings {
namespace {

// A number that every change of the dict changes; 0 where the interpreter keeps none.
uint64_t VersionOf(PyObject* dict) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  static_cast<void>(dict);
  return 0;
#endif
}

bool SameItems(PyObject* list, PyObject* tuple) noexcept {
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
  if (PyList_GET_SIZE(list) != size) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(tuple, i)) return false;
  }
  return true;
}

bool SameDict(PyObject* dict, PyObject* keys, PyObject* values) noexcept {
  const Py_ssize_t size = PyTuple_GET_SIZE(keys);
  if (PyDict_GET_SIZE(dict) != size) return false;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (PyDict_Next(dict, &position, &key, &value) == 0) return false;
    if (key != PyTuple_GET_ITEM(keys, i) || value != PyTuple_GET_ITEM(values, i)) return false;
  }
  return true;
}

bool SameElements(PyObject* iterable, PyObject* expected) noexcept {
  PyObject* elements = PySequence_Tuple(iterable);
  if (elements == nullptr) {
    PyErr_Clear();
    return false;
  }
  bool same = PyTuple_GET_SIZE(elements) == PyTuple_GET_SIZE(expected);
  for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(expected); ++i) {
    same = PyTuple_GET_ITEM(elements, i) == PyTuple_GET_ITEM(expected, i);
  }
  Py_DECREF(elements);
  return same;
}

constexpr Py_ssize_t kFunctionParts = 6;

PyObject* OrNone(PyObject* object) noexcept { return object != nullptr ? object : Py_None; }

// The code apart, which the caller has compared.
bool SameFunction(const PyFunctionObject* function, PyObject* defaults, PyObject* more) noexcept {
  PyObject* const found[] = {function->func_kwdefaults, function->func_name,   function->func_qualname,
                             function->func_doc,        function->func_module, function->func_dict};
  for (Py_ssize_t i = 0; i < kFunctionParts; ++i) {
    if (OrNone(found[i]) != PyTuple_GET_ITEM(more, i)) return false;
  }
  return OrNone(function->func_defaults) == defaults;
}

bool SameBases(PyObject* type, PyObject* order, PyObject* name, PyObject* qualified) noexcept {
  const auto* heap = reinterpret_cast<PyHeapTypeObject*>(type);
  return heap->ht_type.tp_mro == order && heap->ht_name == name && heap->ht_qualname == qualified;
}

// Borrowed; null where there is none.
PyObject* AttributesOf(PyObject* object) noexcept {
#if PY_VERSION_HEX < 0x030D0000
  PyObject** place = _PyObject_GetDictPtr(object);
  if (place != nullptr && *place != nullptr) return *place;
#endif
  PyObject* found = PyObject_GenericGetDict(object, nullptr);
  if (found == nullptr) PyErr_Clear();
  Py_XDECREF(found);  // the object holds it
  return found;
}

// An object of that class with that dict of attributes (null: none).
bool HasClass(PyObject* object, PyObject* type, PyObject* attributes) noexcept {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != type) return false;
  return attributes == nullptr || AttributesOf(object) == attributes;
}

// Where objects of a class hold a slot; 0 when only its descriptor can tell.
Py_ssize_t OffsetOfSlot(PyObject* object, PyObject* name) noexcept {
  PyObject* found = _PyType_Lookup(Py_TYPE(object), name);
  if (found == nullptr || !Py_IS_TYPE(found, &PyMemberDescr_Type)) return 0;
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
  return member->type == T_OBJECT_EX ? member->offset : 0;
}

bool SameSlot(PyObject* object, PyObject* name, PyObject* expected) noexcept {
  PyObject* found = PyObject_GenericGetAttr(object, name);
  if (found == nullptr) PyErr_Clear();
  Py_XDECREF(found);
  return found == expected;
}

bool SameBytes(PyObject* array, PyObject* expected) noexcept {
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool same = view.len == PyBytes_GET_SIZE(expected) &&
                    std::memcmp(view.buf, PyBytes_AS_STRING(expected), static_cast<size_t>(view.len)) == 0;
  PyBuffer_Release(&view);
  return same;
}

bool SameResult(PyObject* callable, PyObject* expected) noexcept {
  PyObject* result = PyObject_CallNoArgs(callable);
  const int same = result != nullptr ? PyObject_RichCompareBool(result, expected, Py_EQ) : -1;
  Py_XDECREF(result);
  if (same < 0) PyErr_Clear();
  return same == 1;
}

}  // namespace

bool KernelGuards::Add(PyObject* entries) {
  const Py_ssize_t count = PyList_Size(entries);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (AddEntry(PyList_GET_ITEM(entries, i))) continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "not a guard of a kernel");
    return false;
  }
  for (const Guard& guard : of_dicts_) {
    // Version 0 differs from any that is seen: the first look is a full one.
    if (!Watched(guard.holder)) versions_.push_back({guard.holder, 0});
  }
  return true;
}

bool KernelGuards::AddEntry(PyObject* entry) {
  if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 2) return false;
  const char* kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(entry, 0));
  if (kind == nullptr) return false;
  Guard guard{Kind::kItem, PyTuple_GET_ITEM(entry, 1), nullptr, nullptr, nullptr, 0};
  if (!FillEntry(entry, kind, guard)) return false;
  for (PyObject* object : {guard.holder, guard.key, guard.expected, guard.defaults}) Py_XINCREF(object);
  (IsOfDict(guard) ? of_dicts_ : others_).push_back(guard);
  runs_code_ = runs_code_ || !IsPlain(guard.kind);
  return PyErr_Occurred() == nullptr;
}

bool KernelGuards::FillEntry(PyObject* entry, const char* kind, Guard& guard) {
  const auto part = [&](Py_ssize_t i) { return i < PyTuple_GET_SIZE(entry) ? PyTuple_GET_ITEM(entry, i) : nullptr; };
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  PyObject* holder = guard.holder;
  if (is("item") || is("size")) {
    if (PyType_Check(holder)) guard.holder = holder = reinterpret_cast<PyTypeObject*>(holder)->tp_dict;
    if (holder == nullptr || !PyDict_Check(holder) || part(2) == nullptr) return false;
    guard.kind = is("item") ? Kind::kItem : Kind::kSize;
    if (is("item")) guard.key = part(2);
    if (is("item")) guard.expected = part(3);
    if (is("size")) guard.size = PyLong_AsSsize_t(part(2));
    return true;
  }
  guard.expected = part(2);
  if (is("cell")) {
    guard.kind = Kind::kCell;
    return PyCell_Check(holder);
  }
  if (is("slot")) {
    guard.kind = Kind::kSlot;
    guard.key = part(2);
    guard.expected = part(3);
    if (guard.key == nullptr || !PyUnicode_Check(guard.key)) return false;
    guard.size = OffsetOfSlot(holder, guard.key);
    if (guard.size > 0) guard.kind = Kind::kSlotAt;
    return true;
  }
  if (guard.expected == nullptr) return false;
  guard.defaults = part(3);
  if (is("list")) {
    guard.kind = Kind::kList;
    return PyList_Check(holder) && PyTuple_Check(guard.expected);
  }
  if (is("elements")) {
    guard.kind = Kind::kElements;
    return PyTuple_Check(guard.expected);
  }
  if (is("dict")) {
    guard.kind = Kind::kDict;
    guard.key = std::exchange(guard.defaults, nullptr);
    return PyDict_Check(holder) && PyTuple_Check(guard.expected) && guard.key != nullptr && PyTuple_Check(guard.key) &&
           PyTuple_GET_SIZE(guard.key) == PyTuple_GET_SIZE(guard.expected);
  }
  if (is("function")) {
    guard.kind = Kind::kFunction;
    guard.key = part(4);
    return PyFunction_Check(holder) && guard.defaults != nullptr && guard.key != nullptr && PyTuple_Check(guard.key) &&
           PyTuple_GET_SIZE(guard.key) == kFunctionParts;
  }
  guard.kind = is("class") ? Kind::kClass : (is("bases") ? Kind::kBases : (is("bytes") ? Kind::kBytes : Kind::kCall));
  if (is("bases")) {
    guard.key = part(4);
    return PyType_Check(holder) && PyType_HasFeature(reinterpret_cast<PyTypeObject*>(holder), Py_TPFLAGS_HEAPTYPE) &&
           guard.defaults != nullptr && guard.key != nullptr;
  }
  if (is("bytes")) return PyBytes_Check(guard.expected);
  if (is("array")) {
    guard.kind = Kind::kArray;
    guard.key = std::exchange(guard.defaults, nullptr);
    guard.size = static_cast<Py_ssize_t>(arrays_.size());
    if (guard.key == nullptr || (guard.key != Py_None && !PyBytes_Check(guard.key))) return false;
    arrays_.emplace_back().Read(holder, guard.key);
    return true;
  }
  return is("class") || (is("call") && PyCallable_Check(holder));
}

bool KernelGuards::IsPlain(Kind kind) noexcept {
  switch (kind) {
    case Kind::kItem:
    case Kind::kSize:
    case Kind::kDict:
    case Kind::kCell:
    case Kind::kList:
    case Kind::kFunction:
    case Kind::kBases:
    case Kind::kSlotAt: return true;
    default: return false;
  }
}

bool KernelGuards::Watched(PyObject* dict) const noexcept {
  return std::any_of(versions_.begin(), versions_.end(), [&](const Version& version) { return version.dict == dict; });
}

bool KernelGuards::Holds(const Guard& guard) const noexcept {
  switch (guard.kind) {
    case Kind::kItem: {
      PyObject* found = PyDict_GetItemWithError(guard.holder, guard.key);
      if (found == nullptr && PyErr_Occurred()) PyErr_Clear();
      return found == guard.expected;
    }
    case Kind::kDict: return SameDict(guard.holder, guard.expected, guard.key);
    case Kind::kElements: return SameElements(guard.holder, guard.expected);
    case Kind::kSize: return PyDict_GET_SIZE(guard.holder) == guard.size;
    case Kind::kCell: return PyCell_GET(guard.holder) == guard.expected;
    case Kind::kList: return SameItems(guard.holder, guard.expected);
    case Kind::kFunction:
      return PyFunction_GET_CODE(guard.holder) == guard.expected &&
             SameFunction(reinterpret_cast<PyFunctionObject*>(guard.holder), guard.defaults, guard.key);
    case Kind::kClass: return HasClass(guard.holder, guard.expected, guard.defaults);
    case Kind::kBases: return SameBases(guard.holder, guard.expected, guard.defaults, guard.key);
    case Kind::kSlot: return SameSlot(guard.holder, guard.key, guard.expected);
    case Kind::kSlotAt:
      return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(guard.holder) + guard.size) == guard.expected;
    case Kind::kBytes: return SameBytes(guard.holder, guard.expected);
    case Kind::kArray: return arrays_[guard.size].Holds(guard.holder, guard.expected, guard.key);
    case Kind::kCall: return SameResult(guard.holder, guard.expected);
  }
  return false;
}

bool KernelGuards::VersionsHold() const noexcept {
  return std::all_of(versions_.begin(), versions_.end(), [](const Version& version) {
    return version.seen != 0 && version.seen == VersionOf(version.dict);
  });
}

bool KernelGuards::DictsHold() noexcept {
  if (VersionsHold()) return true;
  if (!std::all_of(of_dicts_.begin(), of_dicts_.end(), [this](const Guard& guard) { return Holds(guard); }))
    return false;
  for (Version& version : versions_) version.seen = VersionOf(version.dict);
  return true;
}

bool KernelGuards::HoldsAll() noexcept {
  // Versions are noted before others are asked: their Python code may change the dicts.
  return DictsHold() &&
         std::all_of(others_.begin(), others_.end(), [this](const Guard& guard) { return Holds(guard); });
}

int KernelGuards::Traverse(visitproc visit, void* arg) const {
  for (const std::vector<Guard>* guards : {&of_dicts_, &others_}) {
    for (const Guard& guard : *guards) {
      Py_VISIT(guard.holder);
      Py_VISIT(guard.key);
      Py_VISIT(guard.expected);
      Py_VISIT(guard.defaults);
    }
  }
  return 0;
}

void KernelGuards::Clear() noexcept {
  const std::vector<Guard> lists[] = {std::exchange(of_dicts_, {}), std::exchange(others_, {})};
  versions_.clear();
  for (const std::vector<Guard>& guards : lists) {
    for (const Guard& guard : guards) {
      for (PyObject* object : {guard.holder, guard.key, guard.expected, guard.defaults}) Py_XDECREF(object);
    }
  }
}

}  // namespace pypto::bindings
