// The binding functions, one per concept; module.cpp calls them in this order.
#pragma once

#include <nanobind/nanobind.h>

namespace pypto::bindings {

void bind_errors(nanobind::module_& module);
void bind_program(nanobind::module_& module);
void bind_builder(nanobind::module_& module);
void bind_options(nanobind::module_& module);
void bind_compile(nanobind::module_& module);
void bind_device_tensor(nanobind::module_& module);
void bind_completion(nanobind::module_& module);
void bind_launch_report(nanobind::module_& module);
void bind_registration_handle(nanobind::module_& module);
void bind_compiled_program(nanobind::module_& module);
void bind_kernel_object(nanobind::module_& module);
void bind_worker(nanobind::module_& module);
void bind_benchmark(nanobind::module_& module);
void bind_trace(nanobind::module_& module);
void bind_log(nanobind::module_& module);
void bind_testing(nanobind::module_& module);
void bind_prebuilt(nanobind::module_& module);
void bind_probe(nanobind::module_& module);
void bind_profile(nanobind::module_& module);

}  // namespace pypto::bindings
