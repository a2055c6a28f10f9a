// A dispatch: what reaches the device, what is copied, what is refused, what is counted.
#include "runtime/worker_fixture.h"

namespace pypto::runtime {
namespace {

using base::StatusCode;
using program::Direction;
using program::DType;
using ::testing::HasSubstr;
using testing::HostTensor;
using testing::LaunchView;
using testing::LinearSample;
using testing::SampleImage;

constexpr std::array<int64_t, 1> kRow = {16};
constexpr std::array<int64_t, 2> kRows = {4, 16};

class LaunchTest : public testing::WorkerFixture {
 protected:
  base::Status Call(const std::shared_ptr<Registration>& handle, std::vector<ArgumentView> arguments) {
    return handle->Call(arguments);
  }
  HostTensor x_{{4, 16}, 1.0F};
  HostTensor w_{{16}, 2.0F};
  HostTensor out_{{4, 16}, -1.0F};
};

TEST_F(LaunchTest, HostTensorsGoInAndOut) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  ASSERT_TRUE(Call(handle, {x_.View(), w_.View(), out_.View()}).ok());
  EXPECT_EQ(out_.data, std::vector<float>(64, 3.0F));
  const Counters counters = worker->GetCounters();
  EXPECT_EQ(counters.inline_bytes, 256u + 64u);
  EXPECT_EQ(counters.h2d_copies, 0u);  // small inputs travel with the launch
  EXPECT_EQ(counters.d2h_copies, 1u);
  EXPECT_EQ(counters.d2h_bytes, 256u);
  EXPECT_EQ(counters.launches, 1u);
}

TEST_F(LaunchTest, TheBlockSaysEverything) {
  SampleImage sample = LinearSample();
  sample.Scalar("count", program::ScalarKind::kInt).Scalar("scale", program::ScalarKind::kFloat);
  const auto worker = Open();
  const auto handle = Register(worker, sample);
  const TensorRef w = *worker->AllocTensor(kRow, DType::kFp32);
  int launches = 0;
  fake_.kernel = [&](std::span<const std::byte> block) {
    launches += 1;
    const LaunchView launch(block);
    EXPECT_EQ(launch.header.magic, program::kLaunchMagic);
    EXPECT_EQ(launch.header.version, program::kLaunchVersion);
    EXPECT_EQ(launch.header.bytes, block.size());
    EXPECT_EQ(launch.header.parameter_count, 5u);
    EXPECT_EQ(launch.header.symbol_count, 1u);
    EXPECT_EQ(launch.header.workspace_bytes, 0u);
    EXPECT_EQ(launch.header.workspace_address, 0u);
    EXPECT_EQ(launch.header.statistics_bytes, program::kStatisticsBytes);
    EXPECT_EQ(launch.Symbol(0), 4);
    EXPECT_TRUE(launch.IsInline(0));
    EXPECT_EQ((launch.Slot(0) & ~program::kInlineFlag) % program::kInlineAlignment, 0u);
    EXPECT_GE(launch.Slot(0) & ~program::kInlineFlag, program::kHeadBytes);
    EXPECT_EQ(launch.Data<float>(0)[63], 1.0F);
    EXPECT_EQ(launch.Slot(1), w->address());
    EXPECT_FALSE(launch.IsInline(2));
    EXPECT_EQ(static_cast<int64_t>(launch.Slot(3)), -7);
    double scale = 0;
    const uint64_t bits = launch.Slot(4);
    std::memcpy(&scale, &bits, sizeof(scale));
    EXPECT_EQ(scale, 2.0);
    return 0;
  };
  const auto scalars = {ArgumentView::Int(-7), ArgumentView::Int(2)};  // an int is fine where a float is expected
  std::vector<ArgumentView> arguments = {x_.View(), ArgumentView::Resident(w.get()), out_.View()};
  arguments.insert(arguments.end(), scalars);
  EXPECT_TRUE(handle->Call(arguments).ok());
  arguments[3] = ArgumentView::Float(1.0);
  EXPECT_EQ(handle->Call(arguments).code(), StatusCode::kTypeMismatch);
  EXPECT_EQ(launches, 1);
}

TEST_F(LaunchTest, ResidentArgumentsAreNotCopied) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const HostTensorView w_memory = w_.Memory();
  const HostTensorView x_memory = x_.Memory();
  const TensorRef w = *worker->AllocTensor(kRow, DType::kFp32, &w_memory);
  const TensorRef x = *worker->AllocTensor(kRows, DType::kFp32, &x_memory);
  const TensorRef out = *worker->AllocTensor(kRows, DType::kFp32);
  const std::vector<ArgumentView> arguments = {ArgumentView::Resident(x.get()), ArgumentView::Resident(w.get()),
                                               ArgumentView::Resident(out.get())};
  ASSERT_TRUE(handle->Call(arguments).ok());
  const Counters before = worker->GetCounters();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(handle->Call(arguments).ok());
  const Counters after = worker->GetCounters();
  EXPECT_EQ(after.launches - before.launches, 20u);
  EXPECT_EQ(after.program_loads, 1u);
  EXPECT_EQ(after.device_mallocs, before.device_mallocs);
  EXPECT_EQ(after.h2d_bytes, before.h2d_bytes);
  EXPECT_EQ(after.d2h_bytes, before.d2h_bytes);
  EXPECT_EQ(after.inline_bytes, before.inline_bytes);
  EXPECT_EQ(after.statistics_reads, 0u);
  EXPECT_TRUE(worker->CopyToHost(*out, out_.Memory()).ok());
  EXPECT_EQ(out_.data[5], 3.0F);
}

TEST_F(LaunchTest, LargeInputsAreStagedInKeptBuffers) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  for (const int64_t rows : {512, 100, 512, 33}) {
    HostTensor x({rows, 16}, 1.0F);
    HostTensor out({rows, 16}, 0.0F);
    ASSERT_TRUE(Call(handle, {x.View(), w_.View(), out.View()}).ok());
    EXPECT_EQ(out.data, std::vector<float>(static_cast<size_t>(rows) * 16, 3.0F));
  }
  EXPECT_EQ(worker->GetCounters().h2d_bytes, static_cast<uint64_t>(512 + 100 + 512 + 33) * 64);
  EXPECT_EQ(Memory(worker.get()).staging, 2u * 512 * 64);
  const uint64_t mallocs = worker->GetCounters().device_mallocs;
  HostTensor x({512, 16}, 1.0F);
  HostTensor out({512, 16}, 0.0F);
  ASSERT_TRUE(Call(handle, {x.View(), w_.View(), out.View()}).ok());
  EXPECT_EQ(worker->GetCounters().device_mallocs, mallocs);
}

TEST_F(LaunchTest, DirectionsDecideWhatIsCopied) {
  SampleImage sample;
  sample.Tensor("a", Direction::kInOut, {1024}).Tensor("b", Direction::kOut, {1024});
  sample.Tensor("c", Direction::kUnused, {1024});
  const auto worker = Open();
  const auto handle = Register(worker, sample);
  fake_.kernel = [](std::span<const std::byte> block) {
    const LaunchView launch(block);
    for (int i = 0; i < 1024; ++i) launch.Data<float>(1)[i] = launch.Data<float>(0)[i]++;
    return 0;
  };
  HostTensor a({1024}, 5.0F);
  HostTensor b({1024}, 0.0F);
  HostTensor c({1024}, 9.0F);
  ASSERT_TRUE(Call(handle, {a.View(), b.View(), c.View()}).ok());
  EXPECT_EQ(a.data[1023], 6.0F);
  EXPECT_EQ(b.data[0], 5.0F);
  EXPECT_EQ(c.data[0], 9.0F);
  EXPECT_EQ(worker->GetCounters().h2d_copies, 1u);
  EXPECT_EQ(worker->GetCounters().d2h_copies, 2u);
}

TEST_F(LaunchTest, ASmallInOutIsNotSentInline) {
  SampleImage sample;
  sample.Tensor("a", Direction::kInOut, {16});
  const auto worker = Open();
  const auto handle = Register(worker, sample);
  fake_.kernel = [](std::span<const std::byte> block) {
    const LaunchView launch(block);
    EXPECT_FALSE(launch.IsInline(0));
    launch.Data<float>(0)[3] += 1;
    return 0;
  };
  ASSERT_TRUE(Call(handle, {w_.View()}).ok());
  EXPECT_EQ(w_.data[3], 3.0F);
  EXPECT_EQ(w_.data[4], 2.0F);
}

TEST_F(LaunchTest, EmptyDynamicDimsRunAndCopyNothing) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  HostTensor x({0, 16}, 0);
  HostTensor out({0, 16}, 0);
  ASSERT_TRUE(Call(handle, {x.View(), w_.View(), out.View()}).ok());
  EXPECT_EQ(worker->GetCounters().launches, 1u);
  EXPECT_EQ(worker->GetCounters().d2h_copies, 0u);

  // Nothing overlaps an empty tensor, wherever it points.
  SampleImage two = LinearSample();
  two.Tensor("more", Direction::kOut, {-1, 16}).Tensor("whole", Direction::kOut, {16});
  const auto two_handle = Register(worker, two);
  fake_.kernel = nullptr;
  ArgumentView inside = out.View();
  inside.data = w_.data.data() + 4;
  const base::Status status = Call(two_handle, {x.View(), w_.View(), inside, out.View(), w_.View()});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(LaunchTest, WrongArgumentsAreRefusedBeforeAnythingHappens) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  HostTensor long_w({17}, 0);
  HostTensor other_rows({5, 16}, 0);
  ArgumentView half = out_.View();
  half.dtype = DType::kFp16;
  ArgumentView empty = x_.View();
  empty.data = nullptr;
  EXPECT_EQ(Call(handle, {x_.View(), w_.View()}).code(), StatusCode::kTypeMismatch);
  EXPECT_THAT(Call(handle, {x_.View(), long_w.View(), out_.View()}).ToString(), HasSubstr("argument 'w' of k"));
  EXPECT_THAT(Call(handle, {x_.View(), w_.View(), other_rows.View()}).ToString(), HasSubstr("but n is 4"));
  EXPECT_THAT(Call(handle, {x_.View(), w_.View(), half}).ToString(), HasSubstr("the dtype differs"));
  EXPECT_THAT(Call(handle, {empty, w_.View(), out_.View()}).ToString(), HasSubstr("has no data"));
  EXPECT_THAT(Call(handle, {ArgumentView::Int(1), w_.View(), out_.View()}).ToString(), HasSubstr("got an int"));
  const Counters counters = worker->GetCounters();
  EXPECT_EQ(counters.launches + counters.h2d_copies + counters.inline_bytes + counters.device_mallocs, 0u);
  EXPECT_TRUE(Call(handle, {x_.View(), w_.View(), out_.View()}).ok());
  EXPECT_EQ(out_.data[0], 3.0F);
}

TEST_F(LaunchTest, DeadDeviceTensorsAreRefusedWithTheReason) {
  const auto worker = Open();
  const auto other = Open();
  const auto handle = Register(worker, LinearSample());
  const TensorRef freed = *worker->AllocTensor(kRow, DType::kFp32);
  const TensorRef foreign = *other->AllocTensor(kRow, DType::kFp32);
  ASSERT_TRUE(worker->FreeTensor(*freed).ok());
  const auto with = [&](const TensorRef& w) {
    return Call(handle, {x_.View(), ArgumentView::Resident(w.get()), out_.View()});
  };
  EXPECT_EQ(with(freed).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(with(freed).ToString(), HasSubstr("argument 'w' of k is a DeviceTensor [16] FP32 at"));
  EXPECT_THAT(with(freed).ToString(), HasSubstr("was freed"));
  const TensorRef reuse = *worker->AllocTensor(kRow, DType::kFp32);
  ASSERT_EQ(reuse->address(), freed->address());
  EXPECT_THAT(with(freed).ToString(), HasSubstr("its address belongs to another allocation now"));
  EXPECT_THAT(with(foreign).ToString(), HasSubstr("of another worker"));
  EXPECT_TRUE(with(reuse).ok());
}

TEST_F(LaunchTest, OverlapsOfWrittenMemoryAreRefused) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const TensorRef both = *worker->AllocTensor(kRows, DType::kFp32);
  const TensorRef w = *worker->AllocTensor(kRow, DType::kFp32);
  const auto resident = [](const TensorRef& tensor) { return ArgumentView::Resident(tensor.get()); };
  const base::Status status = Call(handle, {resident(both), resident(w), resident(both)});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("arguments 'x' and 'out' of k overlap in device memory"));

  const std::array<int64_t, 2> five_rows = {5, 16};
  const TensorRef base = *worker->AllocTensor(five_rows, DType::kFp32);
  const TensorRef top = *worker->ViewRows(*base, 0, 4);
  const TensorRef bottom = *worker->ViewRows(*base, 1, 5);
  EXPECT_THAT(Call(handle, {resident(top), resident(w), resident(bottom)}).ToString(), HasSubstr("overlap"));

  // A host tensor that is read and written is captured first.
  EXPECT_TRUE(Call(handle, {x_.View(), w_.View(), x_.View()}).ok());
  EXPECT_EQ(x_.data[0], 3.0F);

  SampleImage two;
  two.Tensor("a", Direction::kOut, {8}).Tensor("b", Direction::kInOut, {8});
  const auto two_handle = Register(worker, two);
  HostTensor shared({12}, 0);
  const std::array<int64_t, 1> eight = {8};
  const auto a = ArgumentView::Host(shared.data.data(), eight.data(), 1, DType::kFp32);
  const auto b = ArgumentView::Host(shared.data.data() + 4, eight.data(), 1, DType::kFp32);
  EXPECT_THAT(Call(two_handle, {a, b}).ToString(), HasSubstr("arguments 'a' and 'b' of k overlap in host memory"));
}

TEST_F(LaunchTest, SameProgramSameDeviceProgram) {
  const auto worker = Open();
  const auto first = Register(worker, LinearSample());
  const auto second = Register(worker, LinearSample());
  SampleImage renamed = LinearSample();
  renamed.name = "other";
  const auto third = Register(worker, renamed);
  EXPECT_EQ(worker->GetCounters().program_loads, 2u);
  EXPECT_TRUE(first->Unregister().ok());
  EXPECT_TRUE(first->Unregister().ok());
  EXPECT_EQ(Call(first, {x_.View(), w_.View(), out_.View()}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(fake_.binary_unloads, 0);
  EXPECT_TRUE(Call(second, {x_.View(), w_.View(), out_.View()}).ok());
  EXPECT_TRUE(second->Unregister().ok());
  EXPECT_EQ(fake_.binary_unloads, 1);
  EXPECT_EQ(Memory(worker.get()).staging, 0u);
  EXPECT_EQ(Memory(worker.get()).programs, 0u);  // the third has not been called
}

TEST_F(LaunchTest, DroppingAHandleUnloadsAtTheNextEntry) {
  const auto worker = Open();
  auto handle = Register(worker, LinearSample());
  ASSERT_TRUE(Call(handle, {x_.View(), w_.View(), out_.View()}).ok());
  handle.reset();
  EXPECT_EQ(Memory(worker.get()).programs, 0u);
  EXPECT_EQ(fake_.binary_unloads, 1);
  EXPECT_EQ(worker->GetCounters().program_unloads, 1u);
}

TEST_F(LaunchTest, SharedRegistrationIsOneHandle) {
  const auto worker = Open();
  const auto image = LinearSample().Make();
  const auto first = *worker->SharedRegistration(image);
  EXPECT_EQ(first, *worker->SharedRegistration(LinearSample().Make()));
  EXPECT_EQ(worker->GetCounters().program_loads, 1u);
}

TEST_F(LaunchTest, PlatformsMustAgreeAndRealLibrariesNeedCode) {
  const auto worker = Open();
  SampleImage foreign = LinearSample();
  foreign.platform = "a5sim";
  const base::Status mismatch = worker->Register(foreign.Make()).status();
  EXPECT_EQ(mismatch.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(mismatch.ToString(), ::testing::AllOf(HasSubstr("'a5sim'"), HasSubstr("'a2a3sim'")));

  RunConfig config;
  config.platform = "a2a3";
  const auto hardware = Open(config, false);
  SampleImage traced = LinearSample();
  traced.platform = "a2a3";
  const base::Status status = hardware->Register(traced.Make()).status();
  EXPECT_EQ(status.code(), StatusCode::kCompile);
  EXPECT_EQ(status.message(),
            "'k' holds no AI-core code (this version generates none); run it on a2a3sim or bring a binary with "
            "ir.load_kernel");
  EXPECT_EQ(fake_.binary_loads, 0);
}

TEST_F(LaunchTest, KernelArgsServeLibrariesWithoutHostArgs) {
  const auto worker = Open({}, true, [](acl::Functions* functions) {
    functions->aclrtLaunchKernelWithHostArgs = nullptr;
    functions->aclrtMemset = nullptr;
  });
  const auto handle = Register(worker, LinearSample());
  EXPECT_TRUE(Call(handle, {x_.View(), w_.View(), out_.View()}).ok());
  EXPECT_EQ(out_.data[9], 3.0F);
}

TEST_F(LaunchTest, WorkspaceGrowsAndIsShared) {
  SampleImage sample = LinearSample();
  sample.unit_per_symbol = 512;
  const auto worker = Open();
  const auto handle = Register(worker, sample);
  std::vector<LaunchView> seen;
  std::vector<std::vector<std::byte>> blocks;
  fake_.kernel = [&](std::span<const std::byte> block) {
    blocks.emplace_back(block.begin(), block.end());
    return 0;
  };
  for (const int64_t rows : {4, 8, 4}) {
    HostTensor x({rows, 16}, 1.0F);
    HostTensor out({rows, 16}, 0.0F);
    ASSERT_TRUE(Call(handle, {x.View(), w_.View(), out.View()}).ok());
  }
  for (const auto& block : blocks) seen.emplace_back(block);
  EXPECT_EQ(seen[0].header.pools[0].unit, 4u * 512);
  EXPECT_EQ(seen[0].header.pools[0].depth, 128u);
  EXPECT_EQ(seen[0].header.pools[0].capacity, 128u * 4 * 512);
  EXPECT_EQ(seen[0].header.workspace_bytes, 128u * 4 * 512);
  EXPECT_EQ(seen[1].header.workspace_bytes, 128u * 8 * 512);
  EXPECT_EQ(seen[2].header.workspace_bytes, 128u * 4 * 512);
  EXPECT_EQ(seen[2].header.workspace_address, seen[1].header.workspace_address);
  EXPECT_EQ(seen[0].header.max_instances_per_task, 128u);
  EXPECT_NE(seen[0].header.statistics_address, seen[1].header.statistics_address);
  EXPECT_EQ(seen[0].header.statistics_address, seen[2].header.statistics_address);
  EXPECT_EQ(Memory(worker.get()).workspace, 128u * 8 * 512);
}

TEST_F(LaunchTest, TheReportReadsTheLastLaunchAndAllOfThem) {
  SampleImage sample = LinearSample();
  sample.unit_per_symbol = 512;
  const auto worker = Open();
  const auto handle = Register(worker, sample);
  EXPECT_EQ(handle->Report()->launches, 0u);
  fake_.kernel = [](std::span<const std::byte> block) {
    const LaunchView launch(block);
    program::LaunchStatistics& statistics = *launch.statistics();
    statistics.launches += 1;
    statistics.begin_ticks = 500;
    statistics.end_ticks = 2500;
    statistics.ticks_per_second = 1e9;
    // Fewer rows use more of their pool here.
    const uint64_t depth = launch.Symbol(0) == 4 ? 7 : 3;
    statistics.peak_bytes[0] = depth * launch.header.pools[0].unit;
    statistics.largest_peak_bytes[0] = std::max(statistics.largest_peak_bytes[0], statistics.peak_bytes[0]);
    return 0;
  };
  for (const int64_t rows : {4, 8}) {
    HostTensor x({rows, 16}, 1.0F);
    HostTensor out({rows, 16}, 0.0F);
    ASSERT_TRUE(Call(handle, {x.View(), w_.View(), out.View()}).ok());
  }
  const LaunchReport report = *handle->Report();
  EXPECT_EQ(report.kernel, "k");
  EXPECT_EQ(report.launches, 2u);
  EXPECT_DOUBLE_EQ(report.device_wall_us, 2.0);
  EXPECT_EQ(report.recommendation.recommended_depths[0], 3u);
  EXPECT_EQ(report.max_recommended_depths[0], 7u);
  EXPECT_EQ(report.usage.capacity[0], 128u * 8 * 512);
}

TEST_F(LaunchTest, MoreBudgetsThanBlocksAreRemembered) {
  SampleImage sample = LinearSample();
  sample.unit_per_symbol = 512;
  const auto worker = Open();
  const auto handle = Register(worker, sample);
  fake_.kernel = [](std::span<const std::byte> block) {
    LaunchView(block).statistics()->launches += 1;
    return 0;
  };
  for (int64_t rows = 1; rows <= 40; ++rows) {
    HostTensor x({rows, 16}, 1.0F);
    HostTensor out({rows, 16}, 0.0F);
    ASSERT_TRUE(Call(handle, {x.View(), w_.View(), out.View()}).ok());
  }
  EXPECT_EQ(handle->Report()->launches, 40u);
  EXPECT_EQ(Memory(worker.get()).programs, 16u * program::kStatisticsBytes);
}

TEST_F(LaunchTest, TimesAreTakenOnlyWhenAsked) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  RoundTimes times;
  CallOptions options;
  options.times = &times;
  const std::vector<ArgumentView> arguments = {x_.View(), w_.View(), out_.View()};
  ASSERT_TRUE(handle->Call(arguments, options).ok());
  EXPECT_EQ(times.device_ns, 2000);
  EXPECT_GT(times.host_ns, 0);
  EXPECT_GE(times.host_ns, times.copy_ns + times.launch_ns);
  EXPECT_EQ(worker->GetCounters().statistics_reads, 1u);
}

TEST_F(LaunchTest, EstimatesGrowWithTheWork) {
  const auto worker = Open();
  const auto handle = Register(worker, LinearSample());
  const auto estimate = [&](int64_t rows) {
    HostTensor x({rows, 16}, 1.0F);
    HostTensor out({rows, 16}, 0.0F);
    const WorkerEntry entry(*worker);
    EXPECT_TRUE(handle->Prepare(std::vector<ArgumentView>{x.View(), w_.View(), out.View()}).ok());
    return handle->EstimatedMicroseconds();
  };
  const double small = estimate(4);
  EXPECT_LT(small, 50.0);
  EXPECT_GT(estimate(100000), 50.0);
  const WorkerEntry entry(*worker);
  EXPECT_TRUE(handle->Prepare(std::vector<ArgumentView>{x_.View(), w_.View(), out_.View()}).ok());
  EXPECT_TRUE(handle->Run().ok());
  EXPECT_EQ(handle->Run().code(), StatusCode::kInternal);  // prepared once, run once
}

}  // namespace
}  // namespace pypto::runtime
