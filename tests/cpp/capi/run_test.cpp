// Running without a registration, current workers, benchmarks, programs out of device binaries.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "capi/capi_fixture.h"

namespace pypto::capi {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::LastMessage;
using testing::Number;
using testing::Resident;

class RunTest : public testing::CapiWorkerTest {
 protected:
  uint64_t Loads() { return Counters().program_loads; }
  // x + 0.5 over 4 rows.
  struct Add {
    Floats x{4, 1.0F};
    Floats w{1, 0.5F};
    Floats out{4, 0.0F};
    std::array<pypto_argument, 3> arguments{x.Argument(), w.Argument(), out.Argument()};
    const std::vector<float> expected = std::vector<float>(64, 1.5F);
  };
};

TEST_F(RunTest, LoadsOnceAndAgainAfterClosing) {
  Add add;
  pypto_program* same = testing::Load(testing::AddRowsFile());
  for (pypto_program* program : {program_, program_, same}) {
    add.out.data.assign(64, 0.0F);
    ASSERT_EQ(pypto_worker_run(worker_, program, add.arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
    EXPECT_EQ(add.out.data, add.expected);
  }
  EXPECT_EQ(Loads(), 1u);
  EXPECT_EQ(pypto_program_release(same), PYPTO_OK);
  EXPECT_EQ(pypto_worker_close(worker_), PYPTO_OK);
  EXPECT_EQ(pypto_worker_run(worker_, program_, add.arguments.data(), 3, nullptr), PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_EQ(pypto_worker_init(worker_), PYPTO_OK);
  add.out.data.assign(64, 0.0F);
  ASSERT_EQ(pypto_worker_run(worker_, program_, add.arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(add.out.data, add.expected);
}

TEST_F(RunTest, RunFillsTimesAndSaysWhatIsWrong) {
  Add add;
  pypto_times times = PYPTO_STRUCT(pypto_times);
  pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
  options.times = &times;
  ASSERT_EQ(pypto_worker_run(worker_, program_, add.arguments.data(), 3, &options), PYPTO_OK) << LastMessage();
  EXPECT_GT(times.host_ns, 0);
  EXPECT_EQ(pypto_worker_run(worker_, program_, nullptr, 3, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_worker_run(worker_, program_, add.arguments.data(), 2, nullptr), PYPTO_ERROR_TYPE_MISMATCH);
  EXPECT_EQ(pypto_worker_run(worker_, nullptr, add.arguments.data(), 3, nullptr), PYPTO_ERROR_INVALID_HANDLE);
}

TEST_F(RunTest, ThreadsRunOneProgramOnOneWorker) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        Add add;
        if (pypto_worker_run(worker_, program_, add.arguments.data(), 3, nullptr) != PYPTO_OK) continue;
        if (add.out.data == add.expected) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
  EXPECT_EQ(Loads(), 1u);
}

TEST_F(RunTest, CurrentWorkersAreThoseOfTheThread) {
  Add add;
  pypto_worker* found = nullptr;
  EXPECT_EQ(pypto_worker_current(nullptr, -1, &found), PYPTO_ERROR_NOT_FOUND);
  EXPECT_EQ(pypto_program_run(program_, add.arguments.data(), 3, nullptr), PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_THAT(LastMessage(), HasSubstr("no worker of platform a2a3sim is current in this thread"));

  ASSERT_EQ(pypto_worker_enter(worker_), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_worker_enter(worker_), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("platform a2a3sim, device 0 is already current"));
  ASSERT_EQ(pypto_worker_current("a2a3sim", 0, &found), PYPTO_OK) << LastMessage();
  EXPECT_EQ(found, worker_);
  EXPECT_EQ(pypto_worker_current("a5sim", -1, &found), PYPTO_ERROR_NOT_FOUND);
  EXPECT_EQ(pypto_worker_current(nullptr, 1, &found), PYPTO_ERROR_NOT_FOUND);
  EXPECT_EQ(pypto_program_run(program_, add.arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(add.out.data, add.expected);
  std::thread([] {
    pypto_worker* none = nullptr;
    EXPECT_EQ(pypto_worker_current(nullptr, -1, &none), PYPTO_ERROR_NOT_FOUND);
  }).join();

  pypto_worker_config config = PYPTO_STRUCT(pypto_worker_config);
  config.platform = "a5sim";
  config.mock_library_path = testing::MockPath();
  pypto_worker* inner = nullptr;
  ASSERT_EQ(pypto_worker_open(&config, &inner), PYPTO_OK) << LastMessage();
  ASSERT_EQ(pypto_worker_enter(inner), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_worker_current(nullptr, -1, &found), PYPTO_OK);
  EXPECT_EQ(found, inner);
  EXPECT_EQ(pypto_program_run(program_, add.arguments.data(), 3, nullptr), PYPTO_OK) << "the outer one's platform";
  EXPECT_EQ(pypto_worker_release(inner), PYPTO_OK);
  EXPECT_EQ(pypto_worker_current(nullptr, -1, &found), PYPTO_OK);
  EXPECT_EQ(found, worker_) << "a released worker is no longer current";

  EXPECT_EQ(pypto_worker_leave(worker_), PYPTO_OK);
  EXPECT_EQ(pypto_worker_leave(worker_), PYPTO_OK) << "a no-op";
  EXPECT_EQ(pypto_worker_current(nullptr, -1, &found), PYPTO_ERROR_NOT_FOUND);
}

TEST_F(RunTest, CurrentStaysWhatItIsInsideACallback) {
  ASSERT_EQ(pypto_worker_enter(worker_), PYPTO_OK);
  struct Seen {
    pypto_status status = PYPTO_OK;
    static void Log(void* user, const pypto_log_record*) {
      pypto_worker* found = nullptr;
      static_cast<Seen*>(user)->status = pypto_worker_current(nullptr, -1, &found);
    }
  } seen;
  uint64_t id = 0;
  const int32_t level = pypto_log_get_level();
  ASSERT_EQ(pypto_log_set_level(PYPTO_LOG_INFO), PYPTO_OK);
  ASSERT_EQ(pypto_log_add_callback(Seen::Log, &seen, PYPTO_LOG_INFO, &id), PYPTO_OK);
  Add add;
  EXPECT_EQ(pypto_program_run(program_, add.arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_log_remove_callback(id), PYPTO_OK);
  EXPECT_EQ(pypto_log_set_level(level), PYPTO_OK);
  EXPECT_EQ(seen.status, PYPTO_ERROR_FAILED_PRECONDITION);
  pypto_worker* found = nullptr;
  EXPECT_EQ(pypto_worker_current(nullptr, -1, &found), PYPTO_OK) << "the callback took nothing away";
  EXPECT_EQ(pypto_worker_leave(worker_), PYPTO_OK);
}

TEST_F(RunTest, BenchmarkAggregatesItsRounds) {
  Add add;
  pypto_registration* registration = nullptr;
  ASSERT_EQ(pypto_worker_register(worker_, program_, &registration), PYPTO_OK);
  std::array<pypto_round, 9> rounds{};
  pypto_benchmark stats = PYPTO_STRUCT(pypto_benchmark);
  const auto run = [&](uint32_t count, uint32_t warmup, const pypto_launch_options* options) {
    return pypto_registration_benchmark(registration, add.arguments.data(), 3, count, warmup, options, rounds.data(),
                                        &stats);
  };
  ASSERT_EQ(run(9, 2, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(stats.rounds, 9u);
  std::vector<double> host;
  for (const pypto_round& round : rounds) host.push_back(static_cast<double>(round.host_ns));
  std::sort(host.begin(), host.end());
  EXPECT_EQ(stats.host.min, host.front());
  EXPECT_EQ(stats.host.median, host[4]);
  EXPECT_EQ(stats.host.max, host.back());
  EXPECT_DOUBLE_EQ(stats.host.p90, host[7] + (host[8] - host[7]) * 0.2);
  EXPECT_LE(stats.host.min, stats.host.mean);
  EXPECT_GT(stats.device.min, 0.0);
  EXPECT_EQ(add.out.data, add.expected);

  ASSERT_EQ(run(1, 0, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(stats.host.stdev, 0.0);
  EXPECT_EQ(stats.host.p99, stats.host.median);
  EXPECT_EQ(run(0, 0, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(LastMessage(), HasSubstr("rounds must be at least 1"));
  pypto_times times = PYPTO_STRUCT(pypto_times);
  pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
  options.times = &times;
  EXPECT_EQ(run(1, 0, &options), PYPTO_ERROR_INVALID_ARGUMENT);
  add.arguments[0].dtype = PYPTO_FP16;
  EXPECT_EQ(run(1, 1, nullptr), PYPTO_ERROR_TYPE_MISMATCH);
  EXPECT_EQ(pypto_registration_release(registration), PYPTO_OK);
}

TEST_F(RunTest, AProfileNamesLinesAndWritesATrace) {
  Add add;
  pypto_registration* registration = nullptr;
  ASSERT_EQ(pypto_worker_register(worker_, program_, &registration), PYPTO_OK);
  const std::string trace = ::testing::TempDir() + "pypto_profile_test.json";
  pypto_profile profile = PYPTO_STRUCT(pypto_profile);
  std::array<pypto_profile_line, 4> lines{};
  size_t count = 0;
  const auto run = [&](const pypto_launch_options* options, const char* path) {
    return pypto_registration_profile(registration, add.arguments.data(), 3, options, path, &profile, lines.data(),
                                      lines.size(), &count);
  };
  ASSERT_EQ(run(nullptr, trace.c_str()), PYPTO_OK) << LastMessage();
  EXPECT_EQ(add.out.data, add.expected);
  EXPECT_GE(profile.cores, 1u);
  EXPECT_GT(profile.device_ns, 0.0);
  EXPECT_GE(profile.leaf_tiles, 1u);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(lines[0].operations, "add");
  EXPECT_EQ(lines[0].bytes, (add.x.data.size() + add.w.data.size() + add.out.data.size()) * sizeof(float));
  EXPECT_NEAR(lines[0].ns, profile.busy_ns, 1e-6 * profile.busy_ns);
  std::ifstream file(trace);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("\"traceEvents\""));
  std::remove(trace.c_str());

  EXPECT_EQ(run(nullptr, "/nowhere/trace.json"), PYPTO_ERROR_IO);
  EXPECT_THAT(LastMessage(), HasSubstr("/nowhere/trace.json"));
  pypto_times times = PYPTO_STRUCT(pypto_times);
  pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
  options.times = &times;
  EXPECT_EQ(run(&options, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      pypto_registration_profile(registration, add.arguments.data(), 3, nullptr, nullptr, nullptr, nullptr, 0, &count),
      PYPTO_ERROR_INVALID_ARGUMENT);
  add.arguments[0].dtype = PYPTO_FP16;
  EXPECT_EQ(run(nullptr, nullptr), PYPTO_ERROR_TYPE_MISMATCH);
  EXPECT_EQ(pypto_registration_release(registration), PYPTO_OK);
}

struct Binary {
  Binary() {
    std::ifstream file(PYPTO_TEST_HOST_KERNELS, std::ios::binary);
    code.assign(std::istreambuf_iterator<char>(file), {});
    raw.entry = "axpy";
    raw.core = PYPTO_CORE_VECTOR;
    raw.blocks = 3;
    raw.code = code.data();
    raw.code_bytes = code.size();
    for (const char* name : {"x", "y"}) {
      pypto_parameter tensor = PYPTO_STRUCT(pypto_parameter);
      tensor.name = name;
      tensor.direction = name[0] == 'x' ? PYPTO_IN : PYPTO_INOUT;
      tensor.rank = 2;
      tensor.dims[0] = -1;
      tensor.symbols[0] = "rows";
      tensor.dims[1] = 16;
      parameters.push_back(tensor);
    }
    pypto_parameter scalar = PYPTO_STRUCT(pypto_parameter);
    scalar.name = "a";
    scalar.kind = PYPTO_PARAMETER_FLOAT;
    scalar.dtype = PYPTO_FP32;
    parameters.push_back(scalar);
    scalar.name = "n";
    scalar.kind = PYPTO_PARAMETER_INT;
    scalar.dtype = PYPTO_INT32;
    parameters.push_back(scalar);
  }
  pypto_status Make(pypto_program** program) const {
    return pypto_program_from_binary(&raw, parameters.data(), parameters.size(), program);
  }
  std::vector<char> code;
  pypto_device_binary raw = PYPTO_STRUCT(pypto_device_binary);
  std::vector<pypto_parameter> parameters;
};

TEST_F(RunTest, ADeviceBinaryBecomesAProgram) {
  pypto_program* axpy = nullptr;
  ASSERT_EQ(Binary().Make(&axpy), PYPTO_OK) << LastMessage();
  pypto_program_info info = PYPTO_STRUCT(pypto_program_info);
  ASSERT_EQ(pypto_program_get_info(axpy, &info), PYPTO_OK);
  EXPECT_STREQ(info.name, "axpy");
  EXPECT_EQ(info.binary_count, 1u);
  EXPECT_EQ(info.parameter_count, 4u);
  Floats x(5, 2.0F);
  Floats y(5, 1.0F);
  pypto_argument count{};
  count.kind = PYPTO_ARGUMENT_INT;
  count.value.int_value = 80;
  const std::array<pypto_argument, 4> arguments = {x.Argument(), y.Argument(), Number(3.0), count};
  ASSERT_EQ(pypto_worker_run(worker_, axpy, arguments.data(), 4, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(y.data, std::vector<float>(80, 7.0F));
  EXPECT_EQ(pypto_program_release(axpy), PYPTO_OK);
}

TEST_F(RunTest, WrongDeviceBinariesAreRefused) {
  const auto expect = [](const char* words, auto&& change) {
    Binary binary;
    change(binary);
    pypto_program* made = nullptr;
    EXPECT_EQ(binary.Make(&made), PYPTO_ERROR_INVALID_ARGUMENT) << words;
    EXPECT_THAT(LastMessage(), HasSubstr(words));
    EXPECT_EQ(made, nullptr);
  };
  expect("must not be null", [](Binary& b) { b.raw.entry = nullptr; });
  expect("must not be null", [](Binary& b) { b.raw.code = nullptr; });
  expect("no pypto_core_kind", [](Binary& b) { b.raw.core = 7; });
  expect("blocks", [](Binary& b) { b.raw.blocks = 0; });
  expect("has no name", [](Binary& b) { b.parameters[1].name = nullptr; });
  expect("dtype 99", [](Binary& b) { b.parameters[0].dtype = 99; });
  expect("direction 3", [](Binary& b) { b.parameters[0].direction = PYPTO_UNUSED; });
  expect("has rank 9", [](Binary& b) { b.parameters[0].rank = 9; });
  expect("has no symbol", [](Binary& b) { b.parameters[0].symbols[0] = nullptr; });
  expect("cannot travel", [](Binary& b) { b.parameters[3].dtype = PYPTO_FP32; });
  expect("struct_size", [](Binary& b) { b.parameters[2].struct_size -= 8; });
  Binary none;
  pypto_program* made = nullptr;
  EXPECT_EQ(pypto_program_from_binary(nullptr, none.parameters.data(), 4, &made), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_program_from_binary(&none.raw, nullptr, 4, &made), PYPTO_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace pypto::capi
