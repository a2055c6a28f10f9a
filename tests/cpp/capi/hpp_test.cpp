// The C++ face with exceptions: ownership, values, errors.
#include <numeric>

#include "capi/capi_fixture.h"
#include "pypto/pypto.hpp"

namespace pypto::capi {
namespace {

using ::testing::HasSubstr;

class HppTest : public testing::CapiTest {
 protected:
  static Program LoadAdd() {
    const std::vector<uint8_t> file = testing::AddRowsFile();
    return Program::Load(file.data(), file.size());
  }
  static Worker Open() {
    WorkerConfig config;
    config.mock_library_path = testing::MockPath();
    return Worker::Open(config);
  }
};

TEST_F(HppTest, FactsOfAProgram) {
  const Program program = LoadAdd();
  EXPECT_STREQ(program.Info().name, "add_rows");
  EXPECT_STREQ(program.Parameter(1).name, "w");
  EXPECT_THAT(program.Text(), HasSubstr("add_rows"));
  const pypto_named_value n{"n", 8};
  EXPECT_EQ(program.Budget({n}).parallelism, 1u);
  try {
    static_cast<void>(program.Parameter(3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), PYPTO_ERROR_OUT_OF_RANGE);
    EXPECT_THAT(error.what(), HasSubstr("there is no parameter 3"));
  }
}

TEST_F(HppTest, RunsWithoutARegistration) {
  const Program program = LoadAdd();
  Worker worker = Open();
  std::vector<float> x(4 * 16, 1.0F);
  std::vector<float> w(16, 0.5F);
  std::vector<float> out(4 * 16);
  const std::array<HostTensor, 3> tensors = {Host(x.data(), {4, 16}), Host(w.data(), {1, 16}),
                                             Host(out.data(), {4, 16})};
  const std::array<Argument, 3> arguments = {tensors[0], tensors[1], tensors[2]};
  EXPECT_THROW(program.Run(arguments), Error);
  {
    const CurrentWorker current(worker);
    EXPECT_THROW(CurrentWorker again(worker), Error);
    program.Run(arguments);
  }
  EXPECT_EQ(out, std::vector<float>(64, 1.5F));
  EXPECT_THROW(program.Run(arguments), Error);
  out.assign(64, 0.0F);
  worker.Run(program, arguments);
  EXPECT_EQ(out, std::vector<float>(64, 1.5F));
  EXPECT_EQ(worker.Register(program).Benchmark(arguments, 5).rounds, 5u);
  EXPECT_EQ(worker.Counters().program_loads, 1u);
}

TEST_F(HppTest, LaunchesWithEveryKindOfArgument) {
  const Program program = LoadAdd();
  Worker worker = Open();
  const Registration add = worker.Register(program);
  std::vector<float> x(4 * 16, 1.0F);
  const std::vector<float> w(16, 0.5F);
  std::vector<float> out(4 * 16);
  const Tensor weight = worker.Alloc(Host(w.data(), {1, 16}));
  add(Host(x.data(), {4, 16}), weight, Host(out.data(), {4, 16}));
  EXPECT_EQ(out, std::vector<float>(64, 1.5F));
  const Tensor in = worker.Alloc(Host(x.data(), {4, 16}));
  const Tensor result = worker.Alloc({4, 16});
  EXPECT_GT(add.LaunchTimed({in, weight, result}).host_ns, 0);
  result.Rows(1, 2).Download(Span<float>(out.data(), 16));
  EXPECT_EQ(out[0], 1.5F);
  Completion completion = add.Submit({result, weight, in});
  while (!completion.Poll()) {
  }
  completion.Wait();
  in.Download(Span<float>(out));
  EXPECT_EQ(out, std::vector<float>(64, 2.0F));
  EXPECT_EQ(add.Report().launches, 3u);
  EXPECT_EQ(worker.Counters().launches, 3u);
  const std::vector<uint8_t> file = testing::ScaleRowsFile();
  const Registration scale = worker.Register(Program::Load(file.data(), file.size()));
  scale(in, 3, result);
  result.Download(Span<float>(out));
  EXPECT_EQ(out[63], 6.0F);
}

TEST_F(HppTest, OwnershipMoves) {
  Worker worker = Open();
  Tensor first = worker.Alloc({8});
  const pypto_tensor* handle = first.get();
  Tensor second = std::move(first);
  EXPECT_EQ(first.get(), nullptr);
  EXPECT_EQ(second.get(), handle);
  second = worker.Alloc({16});
  EXPECT_EQ(second.Info().bytes, 64u);
  second.Release();
  EXPECT_FALSE(second);
  EXPECT_EQ(worker.MemoryInfo().resident_bytes, 0u);
  EXPECT_THROW(static_cast<void>(second.Info()), Error);
  worker.Close();
  EXPECT_THROW(worker.Check(), Error);
  worker.Init();
  EXPECT_EQ(worker.Info().is_open, 1);
  worker.Synchronize();
  worker.Trim();
}

TEST_F(HppTest, RawMemoryAndOptions) {
  Worker worker = Open();
  const uint64_t address = worker.Malloc(64);
  std::array<uint8_t, 64> sent{};
  std::iota(sent.begin(), sent.end(), uint8_t{1});
  std::array<uint8_t, 64> back{};
  worker.CopyTo(address, sent.data(), 64);
  worker.CopyFrom(back.data(), address, 64);
  EXPECT_EQ(back, sent);
  worker.Free(address);
  EXPECT_THROW(worker.Free(address), Error);
  const Options root = Options::Create();
  Options child = root.Child("test");
  child.Update("{\"runtime.stitch_function_max_num\": 5}");
  EXPECT_EQ(child.Get("runtime.stitch_function_max_num"), "5");
}

TEST_F(HppTest, AnErrorSaysWhatTheDeviceLibrarySaid) {
  Worker worker = Open();
  MOCK_CALL(mock_fail_call)("aclrtMalloc", 0, 507000);
  try {
    static_cast<void>(worker.Malloc(1 << 20));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), PYPTO_ERROR_ACL);
    EXPECT_EQ(error.acl_code(), 507000);
    EXPECT_EQ(error.acl_call(), "aclrtMalloc");
    EXPECT_FALSE(error.failure_class().empty());
    EXPECT_EQ(error.source_line(), 0);
    EXPECT_TRUE(error.source_file().empty());
  }
}

}  // namespace
}  // namespace pypto::capi
