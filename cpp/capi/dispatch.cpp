// Launching a registration with arguments and options of the C ABI.
#include "dispatch.h"

#include "arguments.h"
#include "pypto/runtime/worker.h"

namespace pypto::capi {

using runtime::CallOptions;
using runtime::Registration;

bool Question::Ask(void* context) {
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

pypto_status LaunchRequest::Read(const pypto_launch_options* given) {
  if (given == nullptr) return PYPTO_OK;
  pypto_launch_options options{};
  const pypto_status status = ReadStruct("pypto_launch_options", given, &options);
  if (status != PYPTO_OK) return status;
  question = {options.should_stop, options.user};
  times = options.times;
  return times != nullptr ? CheckOutput("pypto_times", times) : PYPTO_OK;
}

pypto_status CheckArguments(const pypto_argument* arguments, size_t count) {
  if (count != 0) PYPTO_REQUIRE(arguments);
  return PYPTO_OK;
}

namespace {

bool IsPlain(const CallOptions& options) {
  return options.times == nullptr && options.interrupt.should_stop == nullptr;
}

// Inside the worker.
pypto_status DispatchEntered(Registration& registration, LastCall* last, const pypto_argument* arguments, size_t count,
                             const CallOptions& options) {
  ArgumentList list;
  const pypto_status read = list.Read(arguments, count, registration.worker().id());
  if (read != PYPTO_OK) [[unlikely]]
    return read;
  base::Status repeated;
  if (IsPlain(options) && registration.TryRepeat(list.views(), &repeated)) return Report(repeated);
  const base::Status prepared = registration.Prepare(list.views());
  if (!prepared.ok()) [[unlikely]]
    return Report(prepared);
  if (last != nullptr) last->Note(registration, arguments, count);
  return Report(registration.Run(options));
}

pypto_status DispatchWithOptions(Registration& registration, LastCall* last, const pypto_argument* arguments,
                                 size_t count, const pypto_launch_options* given) {
  LaunchRequest request;
  pypto_status status = request.Read(given);
  if (status != PYPTO_OK) return status;
  runtime::RoundTimes times;
  CallOptions options;
  options.interrupt = request.question.AsInterrupt();
  if (request.times != nullptr) options.times = &times;
  status = Dispatch(registration, last, arguments, count, options);
  if (status != PYPTO_OK || request.times == nullptr) return status;
  pypto_times value{};
  value.host_ns = times.host_ns;
  value.copy_ns = times.copy_ns;
  value.launch_ns = times.launch_ns;
  value.device_ns = times.device_ns;
  return WriteStruct("pypto_times", value, request.times);
}

}  // namespace

pypto_status Dispatch(Registration& registration, LastCall* last, const pypto_argument* arguments, size_t count,
                      const CallOptions& options) {
  const runtime::WorkerEntry entry(registration.worker());
  base::Status repeated;
  if (IsPlain(options) && AreLast(registration, arguments, count) && registration.TryRepeat(&repeated)) {
    if (last != nullptr) last->Note(registration, arguments, count);
    return Report(repeated);
  }
  return DispatchEntered(registration, last, arguments, count, options);
}

pypto_status Leave(Registration& registration, LastCall* last, const pypto_argument* arguments, size_t count,
                   uint64_t* ticket) {
  runtime::Worker& worker = registration.worker();
  if (!worker.TryEnter()) return PYPTO_OK;
  base::Status status;
  const bool again = last->IsAgain(registration, arguments, count);
  if (again || AreLast(registration, arguments, count)) *ticket = registration.TryLeave(&status);
  if (*ticket != 0 && !again) last->Note(registration, arguments, count);
  worker.Leave();
  return Report(status);
}

pypto_status Launch(Registration& registration, LastCall* last, const pypto_argument* arguments, size_t count,
                    const pypto_launch_options* options) {
  const pypto_status status = CheckArguments(arguments, count);
  if (status != PYPTO_OK) return status;
  if (options != nullptr) return DispatchWithOptions(registration, last, arguments, count, options);
  return Dispatch(registration, last, arguments, count, {});
}

}  // namespace pypto::capi
