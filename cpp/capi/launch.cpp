// Registrations, launches and completions.
#include "arguments.h"
#include "fence.h"
#include "objects.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::Status;
using pypto::runtime::CallOptions;
using pypto::runtime::Interrupt;
using pypto::runtime::Registration;
using pypto::runtime::WorkerEntry;

namespace {

// The caller's question between slices of a wait; what it throws counts as "stop".
struct Question {
  int32_t (*should_stop)(void* user) = nullptr;
  void* user = nullptr;

  Interrupt AsInterrupt() { return should_stop != nullptr ? Interrupt{Ask, this} : Interrupt{}; }
  static bool Ask(void* context) {
    const auto* question = static_cast<const Question*>(context);
    const CallbackScope scope;
    try {
      return question->should_stop(question->user) != 0;
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (...) {
      return true;
    }
  }
};

struct LaunchRequest {
  Question question;
  pypto_times* times = nullptr;

  pypto_status Read(const pypto_launch_options* given) {
    pypto_launch_options options{};
    pypto_status status = ReadStruct("pypto_launch_options", given, &options);
    if (status != PYPTO_OK) return status;
    question = {options.should_stop, options.user};
    times = options.times;
    return times != nullptr ? CheckOutput("pypto_times", times) : PYPTO_OK;
  }
};

pypto_status CheckArguments(const pypto_argument* arguments, size_t count) {
  if (count != 0) PYPTO_REQUIRE(arguments);
  return PYPTO_OK;
}

// Checks, dispatches and waits, inside the worker.
pypto_status Dispatch(Registration& registration, const pypto_argument* arguments, size_t count,
                      const CallOptions& options) {
  ArgumentList list;
  pypto::runtime::Worker& worker = registration.worker();
  const WorkerEntry entry(worker);
  const pypto_status read = list.Read(arguments, count, worker.id());
  if (read != PYPTO_OK) [[unlikely]]
    return read;
  const Status prepared = registration.Prepare(list.views());
  if (!prepared.ok()) [[unlikely]]
    return Report(prepared);
  return Report(registration.Run(options));
}

pypto_status DispatchWithOptions(Registration& registration, const pypto_argument* arguments, size_t count,
                                 const pypto_launch_options* given) {
  LaunchRequest request;
  pypto_status status = request.Read(given);
  if (status != PYPTO_OK) return status;
  pypto::runtime::RoundTimes times;
  CallOptions options;
  options.interrupt = request.question.AsInterrupt();
  if (request.times != nullptr) options.times = &times;
  status = Dispatch(registration, arguments, count, options);
  if (status != PYPTO_OK || request.times == nullptr) return status;
  pypto_times value{};
  value.host_ns = times.host_ns;
  value.copy_ns = times.copy_ns;
  value.launch_ns = times.launch_ns;
  value.device_ns = times.device_ns;
  return WriteStruct("pypto_times", value, request.times);
}

}  // namespace

extern "C" {

pypto_status pypto_worker_register(pypto_worker* worker, pypto_program* program, pypto_registration** registration) {
  return Fence([&]() -> pypto_status {
    const Pin<WorkerObject> on(worker);
    if (!on) return on.Refused();
    const Pin<ProgramObject> pin(program);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(registration);
    auto made = on->worker->Register(pin->image);
    if (!made.ok()) return Report(made.status());
    GiveHandle(std::make_unique<RegistrationObject>(std::move(made).value()), registration);
    return PYPTO_OK;
  });
}

pypto_status pypto_registration_unregister(pypto_registration* registration) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    return pin ? Report(pin->registration->Unregister()) : pin.Refused();
  });
}

pypto_status pypto_registration_release(pypto_registration* registration) {
  if (registration == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    const Status closed = pin->registration->Unregister();
    if (closed.code() == pypto::base::StatusCode::kTimeout) return Report(closed);
    const pypto_status removed = Remove(pin);
    return removed != PYPTO_OK ? removed : Report(closed);
  });
}

pypto_status pypto_registration_launch(pypto_registration* registration, const pypto_argument* arguments, size_t count,
                                       const pypto_launch_options* options) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) [[unlikely]]
      return pin.Refused();
    const pypto_status status = CheckArguments(arguments, count);
    if (status != PYPTO_OK) [[unlikely]]
      return status;
    if (options != nullptr) return DispatchWithOptions(*pin->registration, arguments, count, options);
    return Dispatch(*pin->registration, arguments, count, {});
  });
}

pypto_status pypto_registration_submit(pypto_registration* registration, const pypto_argument* arguments, size_t count,
                                       const pypto_launch_options* options, pypto_completion** completion) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(completion);
    pypto_status status = CheckArguments(arguments, count);
    LaunchRequest request;
    if (status == PYPTO_OK && options != nullptr) status = request.Read(options);
    if (status != PYPTO_OK) return status;
    if (request.times != nullptr) return Refuse("%s: a submitted launch fills no times", "pypto_registration_submit");
    Registration& target = *pin->registration;
    // Made before the worker is entered: a completion that is dropped enters it and waits.
    auto object = std::make_unique<CompletionObject>(nullptr);
    {
      ArgumentList list;
      const WorkerEntry entry(target.worker());
      status = list.Read(arguments, count, target.worker().id());
      if (status != PYPTO_OK) return status;
      const Status prepared = target.Prepare(list.views());
      if (!prepared.ok()) return Report(prepared);
      auto submitted = target.RunAsync(request.question.AsInterrupt());
      if (!submitted.ok()) return Report(submitted.status());
      object->completion = std::move(submitted).value();
    }
    GiveHandle(std::move(object), completion);
    return PYPTO_OK;
  });
}

pypto_status pypto_completion_wait(pypto_completion* completion, int64_t timeout_ms) {
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) return pin.Refused();
    return Report(pin->completion->Wait(timeout_ms < 0 ? std::nullopt : std::optional<int64_t>(timeout_ms)));
  });
}

pypto_status pypto_completion_poll(pypto_completion* completion, int32_t* done) {
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(done);
    *done = pin->completion->Done() ? 1 : 0;
    return PYPTO_OK;
  });
}

pypto_status pypto_completion_done(pypto_completion* completion, int32_t* done) {
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(done);
    *done = pin->completion->finished() ? 1 : 0;
    return PYPTO_OK;
  });
}

pypto_status pypto_completion_release(pypto_completion* completion) {
  if (completion == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    return pin ? Remove(pin) : pin.Refused();
  });
}

pypto_status pypto_registration_infer_outputs(pypto_registration* registration, const pypto_argument* arguments,
                                              size_t count, pypto_output* outputs, size_t capacity,
                                              size_t* output_count) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(output_count);
    pypto_status status = CheckArguments(arguments, count);
    if (status != PYPTO_OK) return status;
    ArgumentList list;
    const WorkerEntry entry(pin->registration->worker());
    status = list.Read(arguments, count, pin->registration->worker().id());
    if (status != PYPTO_OK) return status;
    const auto shapes = pin->registration->InferOutputs(list.views());
    if (!shapes.ok()) return Report(shapes.status());
    for (size_t i = 0; outputs != nullptr && i < shapes->size() && i < capacity; ++i) {
      const pypto::runtime::OutputShape& shape = (*shapes)[i];
      outputs[i] = {};
      outputs[i].parameter = shape.parameter;
      outputs[i].dtype = static_cast<uint32_t>(shape.dtype);
      outputs[i].rank = static_cast<uint32_t>(shape.dims.size());
      for (size_t d = 0; d < shape.dims.size() && d < PYPTO_MAX_RANK; ++d) outputs[i].shape[d] = shape.dims[d];
    }
    *output_count = shapes->size();
    return PYPTO_OK;
  });
}

}  // extern "C"
