// What a jitted kernel's compiled programs depend on besides its arguments, as object identities that are compared in
// nanoseconds.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "array_guard.h"

namespace pypto::bindings {

// Made of the list that pypto.frontend.kernels.guards builds: each entry says where an object was found and which it
// was. As long as all are there, the kernel traces alike. Holds references. Thread rule: with the GIL.
class KernelGuards {
 public:
  KernelGuards() = default;
  KernelGuards(const KernelGuards&) = delete;
  KernelGuards& operator=(const KernelGuards&) = delete;
  ~KernelGuards() { Clear(); }

  // Entries, where `names` is a dict or a class, whose own dict is meant:
  //   ("item", names, key[, value])  without a value when the key is absent
  //   ("size", names, n)
  //   ("cell", cell[, value])
  //   ("list", list, tuple)
  //   ("elements", iterable, tuple)  of C code: a set, a deque, an OrderedDict; as they are iterated
  //   ("dict", dict, tuple of keys, tuple of values)  in the order of the dict
  //   ("function", function, code, defaults, tuple)  the last: keyword defaults, name, qualified name, docstring,
  //     module, dict of attributes; None where there are none
  //   ("class", object, class[, dict of attributes])  before the slots of the object
  //   ("bases", class, method resolution order, name, qualified name)
  //   ("slot", object, name[, value])
  //   ("bytes", array, bytes)  an object with a contiguous buffer
  //   ("array", array, more, fingerprint)  see ArrayGuard
  //   ("call", callable, result)  the result equals this one
  // False with a Python error.
  bool Add(PyObject* entries);
  // Whether everything is where it was.
  bool Hold() noexcept {
    if (of_dicts_.empty() && others_.empty()) return true;
    return HoldsAll();
  }

  // Whether a look may run Python code, in which the owner can be changed or let go of: what is asked for, modes of
  // torch, or the finalizers of garbage that is collected when something is made.
  bool RunsCode() const noexcept { return runs_code_; }

  int Traverse(visitproc visit, void* arg) const;
  void Clear() noexcept;

 private:
  enum class Kind : uint8_t {
    kItem,
    kSize,
    kDict,
    kCell,
    kList,
    kElements,
    kFunction,
    kClass,
    kBases,
    kSlot,
    kSlotAt,
    kBytes,
    kArray,
    kCall
  };
  struct Guard {
    Kind kind;
    PyObject* holder;
    PyObject* key;  // kItem, kSlot; kFunction: the tuple; kDict: values; kBases: qualified name; kArray: fingerprint
    PyObject* expected;  // null: absent
    PyObject* defaults;  // kFunction; kClass: the dict of attributes; kBases: name
    Py_ssize_t size;     // kSize; kSlotAt: bytes from the start of the object; kArray: place in arrays_
  };
  // Of dicts: unchanged as a whole since the last look.
  struct Version {
    PyObject* dict;  // borrowed from a guard
    uint64_t seen;
  };
  static bool IsOfDict(const Guard& guard) noexcept {
    return guard.kind == Kind::kItem || guard.kind == Kind::kSize || guard.kind == Kind::kDict;
  }
  // Whether all that it takes is comparing pointers.
  static bool IsPlain(Kind kind) noexcept;
  bool HoldsAll() noexcept;
  bool DictsHold() noexcept;
  bool AddEntry(PyObject* entry);
  bool FillEntry(PyObject* entry, const char* kind, Guard& guard);
  bool Holds(const Guard& guard) const noexcept;
  bool VersionsHold() const noexcept;
  bool Watched(PyObject* dict) const noexcept;

  std::vector<Guard> of_dicts_;
  std::vector<Guard> others_;
  std::vector<Version> versions_;
  std::vector<ArrayGuard> arrays_;
  bool runs_code_ = false;
};

}  // namespace pypto::bindings
