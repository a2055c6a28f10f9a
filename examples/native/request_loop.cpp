// A request loop in C++17: loads a saved program, keeps the weight on the device, serves batches of different sizes and
// prints host and device time. Usage: request_loop_cpp linear.pto
#include <cstdio>
#include <pypto/pypto.hpp>
#include <vector>

namespace {

constexpr int64_t kIn = 64;
constexpr int64_t kOut = 128;
constexpr int64_t kLargest = 33;

// Every weight is 1/4 and row r of the request is filled with r + 1, so that every result is exact.
bool ResultIsRight(const std::vector<float>& out, int64_t rows) {
  for (int64_t i = 0; i < rows * kOut; ++i) {
    if (out[static_cast<size_t>(i)] != static_cast<float>((i / kOut + 1) * kIn) / 4) return false;
  }
  return true;
}

int Serve(const char* path) {
  const pypto::Program program = pypto::Program::Load(path);
  pypto::Worker worker = pypto::Worker::Open();
  std::vector<float> weights(kIn * kOut, 0.25F);
  const pypto::Tensor weight = worker.Alloc(pypto::Host(weights.data(), {kIn, kOut}));
  const pypto::Registration linear = worker.Register(program);

  std::vector<float> x(kLargest * kIn);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / kIn + 1);
  std::vector<float> out(kLargest * kOut);
  for (int request = 0; request < 12; ++request) {
    const int64_t rows = 1 + request * 7 % kLargest;
    const pypto_times times =
        linear.LaunchTimed({pypto::Host(x.data(), {rows, kIn}), weight, pypto::Host(out.data(), {rows, kOut})});
    if (!ResultIsRight(out, rows)) return 1;
    std::printf("request %2d: %2lld rows, host %8.1f us, device %8.1f us\n", request, static_cast<long long>(rows),
                static_cast<double>(times.host_ns) / 1e3, static_cast<double>(times.device_ns) / 1e3);
  }
  const pypto_counters counters = worker.Counters();
  std::printf("%llu launches, %llu program load, %llu bytes up, %llu down\n",
              static_cast<unsigned long long>(counters.launches),
              static_cast<unsigned long long>(counters.program_loads),
              static_cast<unsigned long long>(counters.h2d_bytes), static_cast<unsigned long long>(counters.d2h_bytes));
  worker.Close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s linear.pto\n", argv[0]);
    return 2;
  }
  try {
    return Serve(argv[1]);
  } catch (const pypto::Error& error) {
    std::fprintf(stderr, "%s: %s\n", pypto_status_name(error.status()), error.what());
    return 1;
  }
}
