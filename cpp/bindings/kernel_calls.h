// The compiled programs of a jitted kernel by what a direct call shows: how it was called, the tensors' dtypes and
// dims, the scalars, the options in force, what the kernel captured.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "arguments.h"
#include "bound_program.h"
#include "kernel_guards.h"

namespace pypto::bindings {

// Arguments of a call as the interpreter hands them over.
struct CallShape {
  PyObject* const* objects;
  size_t positional;
  PyObject* names;  // tuple or null
  size_t count() const noexcept { return positional + (names != nullptr ? PyTuple_GET_SIZE(names) : 0); }
};

// One program and the calls that it serves.
class KnownCall {
 public:
  KnownCall(PyObject* image, const CallShape& call, size_t tensors);
  KnownCall(const KnownCall&) = delete;
  KnownCall& operator=(const KnownCall&) = delete;
  ~KnownCall();

  // `dims`: per tensor a tuple of sizes, with None for dynamic dims. False: `arguments` are not as `dims` say.
  bool SetTensors(const Arguments& arguments, PyObject* dims);
  bool Serves(const CallShape& call, const Arguments& arguments) const noexcept;
  BoundProgram& program() noexcept { return program_; }
  // What this call depends on besides what all calls of the kernel do.
  KernelGuards& guards() noexcept { return guards_; }
  int Traverse(visitproc visit, void* arg) const;

 private:
  struct Tensor {
    program::DType dtype;
    uint8_t rank;
    std::array<int64_t, runtime::kMaxTensorRank> dims;  // -1: any
  };
  BoundProgram program_;
  PyObject* names_;  // owned or null
  std::vector<Tensor> tensors_;
  std::vector<PyObject*> scalars_;  // owned; everything behind the tensors
  KernelGuards guards_;
};

// Bounded; the least recently made go. Owned by a kernel object. Thread rule: with the GIL.
class KernelCalls {
 public:
  // The program for a call, whose tensors are read into `arguments`; null when there is none. Points to `held` where
  // Python code was run to tell.
  std::shared_ptr<KnownCall>* Find(const CallShape& call, Arguments& arguments,
                                   std::shared_ptr<KnownCall>& held) noexcept;
  // `scope` was in force during the call. `remembered`: (image, number of tensors, dims, guards of the kernel, guards
  // of this call). False with a Python error.
  bool Remember(const CallShape& call, PyObject* scope, PyObject* remembered);
  int Traverse(visitproc visit, void* arg) const;
  void Clear() noexcept {
    // What is let go of may run Python code, which must find the list in order.
    const std::vector<std::shared_ptr<Situation>> gone = std::move(situations_);
    situations_.clear();
  }

 private:
  // Options and captures; programs compiled under them.
  struct Situation {
    explicit Situation(PyObject* in_force) noexcept : scope(Py_NewRef(in_force)) {}
    Situation(const Situation&) = delete;
    Situation& operator=(const Situation&) = delete;
    ~Situation() { Py_DECREF(scope); }
    PyObject* scope;
    KernelGuards guards;
    std::vector<std::shared_ptr<KnownCall>> calls;
  };
  // Borrowed, or `held` where Python code was run to tell.
  Situation* FindSituation(PyObject* scope, std::shared_ptr<Situation>& held) noexcept;
  std::shared_ptr<Situation> KeepAlive(const Situation* situation) const noexcept;
  // Null with a Python error, or when something has changed meanwhile; what goes for it is put into `oldest`.
  Situation* MakeSituation(PyObject* scope, PyObject* entries, std::shared_ptr<Situation>& oldest);

  size_t tensors_ = 0;  // of the kernel; known once a call is
  std::vector<std::shared_ptr<Situation>> situations_;
};

// The context variable of the option scope in force; None stands for the one where every context starts. Made when the
// module is.
extern PyObject* option_scope;

// New reference to its value; null with a Python error.
PyObject* OptionScopeInForce() noexcept;

}  // namespace pypto::bindings
