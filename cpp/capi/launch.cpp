// Registrations, launches and completions.
#include "arguments.h"
#include "dispatch.h"
#include "fence.h"
#include "objects.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::base::Status;
using pypto::runtime::Registration;
using pypto::runtime::WorkerEntry;

namespace {

// Leave of a call whose handles are those of the last one.
[[gnu::always_inline]] inline pypto_status LeaveAgain(RegistrationObject& object, const pypto_argument* arguments,
                                                      size_t count, uint64_t* ticket) {
  Registration& target = *object.registration;
  if (!target.worker().TryEnter()) [[unlikely]]
    return PYPTO_OK;
  Status status;
  if (object.last.IsAgain(target, arguments, count)) [[likely]]
    *ticket = target.TryLeave(&status);
  target.worker().Leave();
  return Report(status);
}

[[gnu::noinline]] pypto_status SubmitAnew(RegistrationObject& from, const pypto_argument* arguments, size_t count,
                                          const pypto_launch_options* options, pypto_completion** completion) {
  pypto_status status = CheckArguments(arguments, count);
  LaunchRequest request;
  if (status == PYPTO_OK) status = request.Read(options);
  if (status != PYPTO_OK) return status;
  if (request.times != nullptr) return Refuse("%s: a submitted launch fills no times", "pypto_registration_submit");
  Registration& target = *from.registration;
  // Made before the worker is entered: a completion that is dropped enters it and waits.
  auto object = std::make_unique<CompletionObject>(from.registration);
  uint64_t ticket = 0;
  if (request.question.should_stop == nullptr) {
    status = Leave(target, &from.last, arguments, count, &ticket);
    if (status != PYPTO_OK) return status;
  }
  if (ticket != 0) {
    object->SetTicket(ticket);
  } else {
    ArgumentList list;
    const WorkerEntry entry(target.worker());
    status = list.Read(arguments, count, target.worker().id());
    if (status != PYPTO_OK) return status;
    const Status prepared = target.Prepare(list.views());
    if (!prepared.ok()) return Report(prepared);
    from.last.Note(target, arguments, count);
    auto submitted = target.RunAsync(request.question.AsInterrupt());
    if (!submitted.ok()) return Report(submitted.status());
    object->SetCompletion(std::move(submitted).value());
  }
  GiveHandle(std::move(object), completion);
  return PYPTO_OK;
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
    if (options == nullptr) [[likely]] {
      Status status;
      if (TryRepeat(*pin->registration, pin->last, arguments, count, &status)) [[likely]]
        return Report(status);
    }
    return Launch(*pin->registration, &pin->last, arguments, count, options);
  });
}

pypto_status pypto_registration_submit(pypto_registration* registration, const pypto_argument* arguments, size_t count,
                                       const pypto_launch_options* options, pypto_completion** completion) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) [[unlikely]]
      return pin.Refused();
    PYPTO_REQUIRE(completion);
    if (options == nullptr && HasSpare()) [[likely]] {
      uint64_t ticket = 0;
      const pypto_status status = LeaveAgain(*pin, arguments, count, &ticket);
      if (ticket != 0 || status != PYPTO_OK) [[likely]] {
        if (ticket == 0) return status;
        GiveHandle(
            NameSpare([&](Object* spare) { static_cast<CompletionObject*>(spare)->Begin(pin->registration, ticket); }),
            completion);
        return PYPTO_OK;
      }
    }
    return SubmitAnew(*pin, arguments, count, options, completion);
  });
}

pypto_status pypto_completion_wait(pypto_completion* completion, int64_t timeout_ms) {
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) [[unlikely]]
      return pin.Refused();
    if (timeout_ms < 0 && pin->RunLeft()) [[likely]]
      return PYPTO_OK;
    return Report(pin->Wait(timeout_ms < 0 ? std::nullopt : std::optional<int64_t>(timeout_ms)));
  });
}

pypto_status pypto_completion_poll(pypto_completion* completion, int32_t* done) {
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(done);
    *done = pin->Poll() ? 1 : 0;
    return PYPTO_OK;
  });
}

pypto_status pypto_completion_done(pypto_completion* completion, int32_t* done) {
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) return pin.Refused();
    PYPTO_REQUIRE(done);
    *done = pin->finished() ? 1 : 0;
    return PYPTO_OK;
  });
}

pypto_status pypto_completion_release(pypto_completion* completion) {
  if (completion == nullptr) return PYPTO_OK;
  return Fence([&]() -> pypto_status {
    const Pin<CompletionObject> pin(completion);
    if (!pin) [[unlikely]]
      return pin.Refused();
    if (!Retire(pin.handle())) [[unlikely]]
      return pin.Refused();
    pin->Empty();
    KeepSpare(pin.handle());
    return PYPTO_OK;
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
