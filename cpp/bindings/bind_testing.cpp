// The side door of the mock ACL library, reached by dlsym on the library itself.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bind_errors.h"
#include "bindings.h"
#include "pypto/base/dynamic_library.h"
#include "pypto/mock_acl.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

// One opened copy of the mock with its side door. The library stays loaded while it lives. Thread-safe.
class MockControl {
 public:
  explicit MockControl(const std::string& path) : library_(Unwrap(base::DynamicLibrary::Open(path))) {
    if (library_.Symbol("pypto_mock_version") == nullptr) {
      throw nb::value_error((path + " is not the mock ACL library: it exports no pypto_mock_version").c_str());
    }
  }

  template <typename Function>
  Function* Find(const char* name) const {
    void* symbol = library_.Symbol(name);
    if (symbol == nullptr) throw nb::value_error(("the mock library lacks " + std::string(name)).c_str());
    return reinterpret_cast<Function*>(symbol);
  }

  std::string path() const { return library_.ResolvedPath(); }

 private:
  base::DynamicLibrary library_;
};

#define PYPTO_MOCK(control, name) (control).Find<decltype(name)>(#name)

void RequireKnown(int32_t result, const char* function) {
  if (result != MOCK_OK) throw nb::value_error(("unknown ACL function '" + std::string(function) + "'").c_str());
}

void FailCall(const MockControl& mock, std::optional<std::string> function, uint64_t n, int32_t code) {
  const char* name = function ? function->c_str() : nullptr;
  RequireKnown(PYPTO_MOCK(mock, mock_fail_call)(name, n, code), name != nullptr ? name : "");
}

nb::dict Counters(const MockControl& mock) {
  nb::dict dict;
  const uint64_t count = PYPTO_MOCK(mock, mock_function_count)();
  auto* name_of = PYPTO_MOCK(mock, mock_function_name);
  auto* calls_of = PYPTO_MOCK(mock, mock_call_count);
  for (uint64_t i = 0; i < count; ++i) {
    const char* name = name_of(i);
    if (const uint64_t calls = calls_of(name); calls != 0) dict[name] = calls;
  }
  return dict;
}

nb::dict LiveHandles(const MockControl& mock) {
  nb::dict dict;
  auto* live = PYPTO_MOCK(mock, mock_live_handles);
  dict["context"] = live(MOCK_HANDLE_CONTEXT);
  dict["stream"] = live(MOCK_HANDLE_STREAM);
  dict["event"] = live(MOCK_HANDLE_EVENT);
  dict["binary"] = live(MOCK_HANDLE_BINARY);
  dict["function"] = live(MOCK_HANDLE_FUNCTION);
  return dict;
}

}  // namespace

void bind_testing(nb::module_& module) {
  nb::class_<MockControl>(module, "MockControl", "The side door of one mock ACL library.")
      .def(nb::init<const std::string&>(), nb::arg("path"))
      .def_prop_ro("path", &MockControl::path)
      .def("fail_call", &FailCall, nb::arg("function").none(), nb::arg("n"), nb::arg("code"))
      .def("fail_kernel",
           [](const MockControl& mock, uint64_t n, int32_t code) { PYPTO_MOCK(mock, mock_fail_kernel)(n, code); })
      .def("pending_faults", [](const MockControl& mock) { return PYPTO_MOCK(mock, mock_pending_faults)(); })
      .def("clear_faults", [](const MockControl& mock) { PYPTO_MOCK(mock, mock_clear_faults)(); })
      .def("set_delay",
           [](const MockControl& mock, const std::string& function, uint64_t nanoseconds) {
             RequireKnown(PYPTO_MOCK(mock, mock_set_delay)(function.c_str(), nanoseconds), function.c_str());
           })
      .def("clear_hooks", [](const MockControl& mock) { PYPTO_MOCK(mock, mock_clear_hooks)(); })
      .def("counters", &Counters)
      .def("live_bytes",
           [](const MockControl& mock, int32_t device) { return PYPTO_MOCK(mock, mock_live_bytes)(device); })
      .def("live_blocks",
           [](const MockControl& mock, int32_t device) { return PYPTO_MOCK(mock, mock_live_blocks)(device); })
      .def("live_host_bytes", [](const MockControl& mock) { return PYPTO_MOCK(mock, mock_live_host_bytes)(); })
      .def("live_handles", &LiveHandles)
      .def("guard_violations", [](const MockControl& mock) { return PYPTO_MOCK(mock, mock_guard_violations)(); })
      .def_prop_ro("simd",
                   [](const MockControl& mock) -> std::optional<std::string> {
                     const char* name = PYPTO_MOCK(mock, pypto_mock_simd)();
                     return name != nullptr ? std::optional<std::string>(name) : std::nullopt;
                   })
      .def("give_back_calls", [](const MockControl& mock) { return PYPTO_MOCK(mock, mock_give_back_count)(); })
      .def("shared_copies", [](const MockControl& mock) { return PYPTO_MOCK(mock, mock_shared_copies)(); })
      .def("kernels_run", [](const MockControl& mock) { return PYPTO_MOCK(mock, mock_kernels_run)(); })
      .def("reset", [](const MockControl& mock) { PYPTO_MOCK(mock, mock_reset)(); });
}

}  // namespace pypto::bindings
