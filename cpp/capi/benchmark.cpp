// Rounds of launches and their aggregates.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "dispatch.h"
#include "objects.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::runtime::CallOptions;
using pypto::runtime::Registration;
using pypto::runtime::RoundTimes;

namespace {

// `ordered` holds at least one value.
double Percentile(const std::vector<double>& ordered, double percent) {
  const double position = static_cast<double>(ordered.size() - 1) * percent / 100.0;
  const auto low = static_cast<size_t>(position);
  const size_t high = std::min(low + 1, ordered.size() - 1);
  return ordered[low] + (ordered[high] - ordered[low]) * (position - static_cast<double>(low));
}

pypto_series SeriesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  pypto_series series{};
  series.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - series.mean) * (value - series.mean);
  series.stdev = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0.0;
  series.min = values.front();
  series.max = values.back();
  series.median = Percentile(values, 50);
  series.p90 = Percentile(values, 90);
  series.p95 = Percentile(values, 95);
  series.p99 = Percentile(values, 99);
  return series;
}

template <typename Take>
pypto_series Aggregate(const std::vector<RoundTimes>& rounds, Take&& take) {
  std::vector<double> values(rounds.size());
  std::transform(rounds.begin(), rounds.end(), values.begin(),
                 [&take](const RoundTimes& round) { return static_cast<double>(take(round)); });
  return SeriesOf(std::move(values));
}

pypto_benchmark BenchmarkOf(const std::vector<RoundTimes>& rounds) {
  pypto_benchmark value{};
  value.rounds = static_cast<uint32_t>(rounds.size());
  value.host = Aggregate(rounds, [](const RoundTimes& r) { return r.host_ns; });
  value.device = Aggregate(rounds, [](const RoundTimes& r) { return r.device_ns; });
  value.copy = Aggregate(rounds, [](const RoundTimes& r) { return r.copy_ns; });
  value.overhead = Aggregate(rounds, [](const RoundTimes& r) { return r.host_ns - r.device_ns - r.copy_ns; });
  return value;
}

}  // namespace

extern "C" {

pypto_status pypto_registration_benchmark(pypto_registration* registration, const pypto_argument* arguments,
                                          size_t count, uint32_t rounds, uint32_t warmup,
                                          const pypto_launch_options* options, pypto_round* times,
                                          pypto_benchmark* benchmark) {
  return Fence([&]() -> pypto_status {
    const Pin<RegistrationObject> pin(registration);
    if (!pin) return pin.Refused();
    LaunchRequest request;
    pypto_status status = CheckArguments(arguments, count);
    if (status == PYPTO_OK) status = request.Read(options);
    if (status == PYPTO_OK) status = CheckOutput("pypto_benchmark", benchmark);
    if (status != PYPTO_OK) return status;
    if (rounds == 0) return Refuse("%s: rounds must be at least 1", "pypto_registration_benchmark");
    if (request.times != nullptr) {
      return Refuse("%s: the times of each round go to `times`, those of the options must be null",
                    "pypto_registration_benchmark");
    }
    CallOptions call;
    call.interrupt = request.question.AsInterrupt();
    for (uint32_t i = 0; i < warmup; ++i) {
      status = Dispatch(*pin->registration, &pin->last, arguments, count, call);
      if (status != PYPTO_OK) return status;
    }
    std::vector<RoundTimes> measured(rounds);
    for (RoundTimes& round : measured) {
      call.times = &round;
      status = Dispatch(*pin->registration, &pin->last, arguments, count, call);
      if (status != PYPTO_OK) return status;
    }
    for (size_t i = 0; times != nullptr && i < measured.size(); ++i) {
      times[i] = {measured[i].host_ns, measured[i].copy_ns, measured[i].launch_ns, measured[i].device_ns};
    }
    return WriteStruct("pypto_benchmark", BenchmarkOf(measured), benchmark);
  });
}

}  // extern "C"
