// Entering a worker and waiting for it without holding the GIL where that could block others.
#pragma once

#include <Python.h>
#include <unistd.h>

#include "pypto/runtime/interrupt.h"
#include "pypto/runtime/worker.h"

namespace pypto::bindings {

// Work below this runs with the GIL held: handing it over costs more.
inline constexpr double kReleaseGilMicroseconds = 50;

// A thread that asks for the GIL while the interpreter ends is unwound by CPython, through frames that would then give
// references back without the GIL. It sleeps instead, until the process is gone.
[[noreturn]] inline void SleepForGood() {
  for (;;) pause();
}

inline void RestoreGil(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {  // the forced unwinding of pthread_exit
    SleepForGood();
  }
}

inline PyGILState_STATE EnsureGil() {
  try {
    return PyGILState_Ensure();
  } catch (...) {
    SleepForGood();
  }
}

class GilRelease {
 public:
  GilRelease() noexcept : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() { RestoreGil(state_); }

 private:
  PyThreadState* state_;
};

// Looks for signals from a wait that runs without the GIL; true when a handler raised (Ctrl-C).
inline bool PythonInterrupted(void*) {
  if (_Py_IsFinalizing() != 0) return true;
  const PyGILState_STATE state = EnsureGil();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

inline runtime::Interrupt InterruptBySignals() noexcept { return {PythonInterrupted, nullptr}; }

// Enters with the GIL held; gives it up only when somebody else is inside. False with a Python error: a signal handler
// raised while it waited.
inline bool EnterWorker(runtime::Worker& worker) {
  if (worker.TryEnter()) [[likely]]
    return true;
  const GilRelease released;
  return worker.Enter(InterruptBySignals());
}

}  // namespace pypto::bindings
