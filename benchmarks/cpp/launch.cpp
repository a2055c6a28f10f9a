// What a launch costs without Python: three resident tensors through the C ABI, and through the core's own classes
// below it; three host tensors; a handle look-up.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pypto/c_api.h"
#include "pypto/compile/compile.h"
#include "pypto/program/builder.h"
#include "pypto/runtime/registration.h"
#include "pypto/runtime/worker.h"

namespace {

using pypto::program::Builder;
using pypto::program::DType;
using pypto::program::Operand;
using pypto::runtime::ArgumentView;

void Check(pypto_status status) {
  if (status == PYPTO_OK) return;
  pypto_error error = PYPTO_STRUCT(pypto_error);
  static_cast<void>(pypto_last_error(&error));
  std::fprintf(stderr, "%s: %s\n", pypto_status_name(status), error.message);
  std::exit(1);
}

// out[0, 0] = x[0, 0] + y[0, 0]: one leaf of one cell over 16×16 tensors.
std::shared_ptr<const pypto::program::Image> TrivialImage() {
  Builder b("trivial");
  static_cast<void>(b.AddFile({"launch.cpp", "", "", 0}));
  const auto x = *b.AddTensorParameter("x", DType::kFp32, {16, 16}, {"", ""});
  const auto y = *b.AddTensorParameter("y", DType::kFp32, {16, 16}, {"", ""});
  const auto out = *b.AddTensorParameter("out", DType::kFp32, {1, 1}, {"", ""});
  const auto zero = b.exprs().Const(0);
  std::array<Operand, 2> cells;
  cells[0].tensor = *b.Slice(x, {1, 1}, {zero, zero}, {});
  cells[1].tensor = *b.Slice(y, {1, 1}, {zero, zero}, {});
  const auto sum = *b.Op(pypto::program::OpCode::kAdd, {cells[0], cells[1]}, {});
  if (!b.Assemble(out, sum, {zero, zero}).ok()) std::exit(1);
  return *pypto::compile::Compile(*b.Finish(), {});
}

constexpr std::array<int64_t, 2> kShape = {16, 16};
constexpr std::array<int64_t, 2> kOne = {1, 1};

struct NativeSide {
  NativeSide() {
    const auto image = TrivialImage();
    pypto_program* program = nullptr;
    Check(pypto_program_load_bytes(image->bytes.data(), image->bytes.size(), &program));
    Check(pypto_worker_open(nullptr, &worker));
    Check(pypto_worker_register(worker, program, &registration));
    Check(pypto_program_release(program));
    for (size_t i = 0; i < 3; ++i) {
      arguments[i] = {};
      arguments[i].kind = PYPTO_ARGUMENT_TENSOR;
      const auto& shape = i < 2 ? kShape : kOne;
      Check(pypto_tensor_alloc(worker, PYPTO_FP32, shape.data(), 2, nullptr, &arguments[i].value.tensor));
    }
  }
  ~NativeSide() {
    for (const pypto_argument& argument : arguments) Check(pypto_tensor_release(argument.value.tensor));
    Check(pypto_registration_release(registration));
    Check(pypto_worker_release(worker));
  }
  pypto_worker* worker = nullptr;
  pypto_registration* registration = nullptr;
  std::array<pypto_argument, 3> arguments;
};

void CAbiThreeResident(benchmark::State& state) {
  const NativeSide side;
  for (auto _ : state) Check(pypto_registration_launch(side.registration, side.arguments.data(), 3, nullptr));
}
BENCHMARK(CAbiThreeResident);

void CoreThreeResident(benchmark::State& state) {
  const auto worker = *pypto::runtime::Worker::Open({});
  const auto registration = *worker->Register(TrivialImage());
  const auto x = *worker->AllocTensor(kShape, DType::kFp32);
  const auto y = *worker->AllocTensor(kShape, DType::kFp32);
  const auto out = *worker->AllocTensor(kOne, DType::kFp32);
  const std::array<ArgumentView, 3> views = {ArgumentView::Resident(x.get()), ArgumentView::Resident(y.get()),
                                             ArgumentView::Resident(out.get())};
  for (auto _ : state) {
    if (!registration->Call(views).ok()) state.SkipWithError("the launch failed");
  }
}
BENCHMARK(CoreThreeResident);

void CAbiThreeHost(benchmark::State& state) {
  const NativeSide side;
  std::vector<float> data(3 * 256);
  std::array<pypto_argument, 3> arguments{};
  for (size_t i = 0; i < 3; ++i) {
    arguments[i].kind = PYPTO_ARGUMENT_HOST;
    arguments[i].dtype = PYPTO_FP32;
    arguments[i].rank = 2;
    arguments[i].value.data = data.data() + i * 256;
    arguments[i].shape = (i < 2 ? kShape : kOne).data();
  }
  for (auto _ : state) Check(pypto_registration_launch(side.registration, arguments.data(), 3, nullptr));
}
BENCHMARK(CAbiThreeHost);

void CAbiSubmitAndWait(benchmark::State& state) {
  const NativeSide side;
  for (auto _ : state) {
    pypto_completion* completion = nullptr;
    Check(pypto_registration_submit(side.registration, side.arguments.data(), 3, nullptr, &completion));
    Check(pypto_completion_wait(completion, PYPTO_FOREVER));
    Check(pypto_completion_release(completion));
  }
}
BENCHMARK(CAbiSubmitAndWait);

void CAbiHandleLookUp(benchmark::State& state) {
  const NativeSide side;
  for (auto _ : state) Check(pypto_worker_check(side.worker));
}
BENCHMARK(CAbiHandleLookUp);

}  // namespace

BENCHMARK_MAIN();
