// Status to exception. The classes are those of pypto.errors; this file builds the instance and raises it.
#include "bind_errors.h"

#include <nanobind/stl/string.h>

#include <string>

#include "bindings.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

// Null for codes whose class is one of pypto.errors.
PyObject* BuiltinClass(base::StatusCode code) {
  switch (code) {
    case base::StatusCode::kInvalidArgument: return PyExc_ValueError;
    case base::StatusCode::kTypeMismatch: return PyExc_TypeError;
    case base::StatusCode::kOutOfRange: return PyExc_IndexError;
    case base::StatusCode::kNotFound: return PyExc_KeyError;
    case base::StatusCode::kFailedPrecondition: return PyExc_RuntimeError;
    case base::StatusCode::kUnsupported: return PyExc_NotImplementedError;
    case base::StatusCode::kTimeout: return PyExc_TimeoutError;
    case base::StatusCode::kIo: return PyExc_OSError;
    default: return nullptr;
  }
}

nb::dict Details(const base::Status& status) {
  nb::dict details;
  if (const base::AclFailure* failure = status.acl_failure(); failure != nullptr) {
    details["code"] = failure->code;
    details["call"] = failure->call;
    details["text"] = failure->text;
    details["failure_class"] = failure->failure_class;
  }
  if (const base::MemoryShortage* shortage = status.memory_shortage(); shortage != nullptr) {
    details["asked"] = shortage->asked;
    details["free"] = shortage->free;
    details["total"] = shortage->total;
    details["largest_holders"] = shortage->largest_holders;
  }
  if (status.source_line() > 0) {
    details["filename"] = std::string(status.source_file());
    details["lineno"] = status.source_line();
  }
  return details;
}

}  // namespace

void SetPythonError(const base::Status& status) {
  const std::string text = status.ToString();
  if (PyObject* builtin = BuiltinClass(status.code()); builtin != nullptr) {
    PyErr_SetString(builtin, text.c_str());
    return;
  }
  try {
    const std::string code(base::StatusCodeName(status.code()));
    nb::object error = nb::module_::import_("pypto.errors").attr("from_status")(code, text, Details(status));
    PyErr_SetObject(error.type().ptr(), error.ptr());
  } catch (nb::python_error& lost) {
    // pypto.errors cannot be imported any more (interpreter exit): the text is what counts.
    lost.discard_as_unraisable("raising a pypto error");
    PyErr_SetString(PyExc_RuntimeError, text.c_str());
  }
}

void RaiseStatus(const base::Status& status) {
  SetPythonError(status);
  throw nb::python_error();
}

void bind_errors(nb::module_& module) {
  module.def(
      "raise_status",
      [](int code, const std::string& message, const std::string& file, int line) {
        base::Status status(static_cast<base::StatusCode>(code), message);
        if (line > 0) status = std::move(status).WithSourceLine(file, line);
        ThrowIfError(status);
      },
      nb::arg("code"), nb::arg("message"), nb::arg("file") = "", nb::arg("line") = 0,
      "Raises the exception of a status code of the core; the error classes are tested through it.");
  nb::dict codes;
  for (int code = 1; code <= static_cast<int>(base::StatusCode::kInternal); ++code) {
    codes[std::string(base::StatusCodeName(static_cast<base::StatusCode>(code))).c_str()] = code;
  }
  module.attr("STATUS_CODES") = codes;
}

}  // namespace pypto::bindings
