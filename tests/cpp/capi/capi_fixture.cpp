// Kernels built and compiled in the test, given to the C ABI as bytes.
#include "capi/capi_fixture.h"

#include <dlfcn.h>

#include "pypto/capi/handle_table.h"
#include "pypto/compile/compile.h"
#include "pypto/program/builder.h"

namespace pypto::capi::testing {
namespace {

using program::DType;
using program::Operand;

Operand T(program::TensorId tensor) {
  Operand operand;
  operand.tensor = tensor;
  return operand;
}

std::vector<uint8_t> Finish(program::Builder* builder) {
  auto program = builder->Finish();
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  auto image = compile::Compile(*program, {});
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  return (*image)->bytes;
}

}  // namespace

std::vector<uint8_t> AddRowsFile(int64_t shift) {
  program::Builder b("add_rows");
  static_cast<void>(b.AddFile({"add_rows.py", "", "", 0}));
  const auto x = *b.AddTensorParameter("x", DType::kFp32, {std::nullopt, 16}, {"n", ""});
  const auto w = *b.AddTensorParameter("w", DType::kFp32, {1, 16}, {});
  const auto out = *b.AddTensorParameter("out", DType::kFp32, {std::nullopt, 16}, {"n", ""});
  program::ExprPool& e = b.exprs();
  b.SetPlace({0, 5, 1});
  const auto i = *b.BeginLoop("rows", e.Const(0), e.Symbol(0), e.Const(32), false, false);
  const auto tile = *b.Slice(x, {32, 16}, {e.Add(i, e.Const(shift)), e.Const(0)}, {});
  const auto sum = *b.Op(program::OpCode::kAdd, {T(tile), T(w)}, {});
  EXPECT_TRUE(b.Assemble(out, sum, {i, e.Const(0)}).ok());
  EXPECT_TRUE(b.EndLoop().ok());
  return Finish(&b);
}

std::vector<uint8_t> ScaleRowsFile() {
  program::Builder b("scale_rows");
  static_cast<void>(b.AddFile({"scale_rows.py", "", "", 0}));
  const auto x = *b.AddTensorParameter("x", DType::kFp32, {std::nullopt, 16}, {"n", ""});
  const auto factor = *b.AddScalarParameter("factor", program::ScalarKind::kFloat);
  const auto out = *b.AddTensorParameter("out", DType::kFp32, {std::nullopt, 16}, {"n", ""});
  program::ExprPool& e = b.exprs();
  const auto i = *b.BeginLoop("rows", e.Const(0), e.Symbol(0), e.Const(32), false, false);
  const auto tile = *b.Slice(x, {32, 16}, {i, e.Const(0)}, {});
  const auto scaled = *b.Op(program::OpCode::kMul, {T(tile), factor}, {});
  EXPECT_TRUE(b.Assemble(out, scaled, {i, e.Const(0)}).ok());
  EXPECT_TRUE(b.EndLoop().ok());
  return Finish(&b);
}

const char* MockPath() { return PYPTO_TEST_MOCK_PATH; }

void* MockSymbol(const char* name) {
  static void* library = dlopen(MockPath(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return dlsym(library, name);
}

pypto_argument Floats::Argument() {
  pypto_argument argument{};
  argument.kind = PYPTO_ARGUMENT_HOST;
  argument.dtype = PYPTO_FP32;
  argument.rank = 2;
  argument.value.data = data.data();
  argument.shape = shape.data();
  return argument;
}

pypto_argument Resident(pypto_tensor* tensor) {
  pypto_argument argument{};
  argument.kind = PYPTO_ARGUMENT_TENSOR;
  argument.value.tensor = tensor;
  return argument;
}

pypto_argument Number(double value) {
  pypto_argument argument{};
  argument.kind = PYPTO_ARGUMENT_FLOAT;
  argument.value.float_value = value;
  return argument;
}

pypto_error LastError() {
  pypto_error error = PYPTO_STRUCT(pypto_error);
  EXPECT_EQ(pypto_last_error(&error), PYPTO_OK);
  return error;
}

std::string LastMessage() { return LastError().message; }

pypto_program* Load(const std::vector<uint8_t>& bytes) {
  pypto_program* program = nullptr;
  EXPECT_EQ(pypto_program_load_bytes(bytes.data(), bytes.size(), &program), PYPTO_OK) << LastMessage();
  return program;
}

pypto_worker* OpenWorker() {
  pypto_worker_config config = PYPTO_STRUCT(pypto_worker_config);
  config.mock_library_path = MockPath();
  pypto_worker* worker = nullptr;
  EXPECT_EQ(pypto_worker_open(&config, &worker), PYPTO_OK) << LastMessage();
  return worker;
}

CapiTest::CapiTest() : handles_before_(LiveHandles()) {
  // Tests that raise the log level leave their files here.
  EXPECT_EQ(pypto_log_set_root((::testing::TempDir() + "pypto_capi_log").c_str()), PYPTO_OK);
}

CapiTest::~CapiTest() {
  EXPECT_EQ(LiveHandles(), handles_before_);
  EXPECT_EQ(MOCK_CALL(mock_live_bytes)(-1), 0u);
}

CapiWorkerTest::~CapiWorkerTest() {
  EXPECT_EQ(pypto_worker_release(worker_), PYPTO_OK);
  EXPECT_EQ(pypto_program_release(program_), PYPTO_OK);
}

pypto_counters CapiWorkerTest::Counters() {
  pypto_counters counters = PYPTO_STRUCT(pypto_counters);
  EXPECT_EQ(pypto_worker_get_counters(worker_, &counters), PYPTO_OK);
  return counters;
}

}  // namespace pypto::capi::testing
