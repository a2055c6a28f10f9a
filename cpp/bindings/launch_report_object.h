// The Python type WorkspaceReport: what the device wrote about the last launch of a handle.
#pragma once

#include <Python.h>

#include "pypto/runtime/launch_report.h"

namespace pypto::bindings {

// A new object, or null with a Python error.
PyObject* MakeLaunchReport(runtime::LaunchReport report);

}  // namespace pypto::bindings
