// Device binaries built elsewhere, through the worker and the mock: a shared object of the host stands in for the code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "pypto/acl/session.h"
#include "pypto/mock_acl.h"
#include "pypto/program/prebuilt.h"
#include "pypto/runtime/worker.h"

namespace pypto::runtime {
namespace {

using base::Status;
using base::StatusCode;
using program::Direction;
using program::DType;
using ::testing::HasSubstr;

constexpr int64_t kCount = 300;
constexpr int64_t kShape[] = {kCount};

program::PrebuiltParameter Vector(const char* name, DType dtype, Direction direction) {
  return {name, true, dtype, direction, {{0, "n"}}};
}
program::PrebuiltParameter Scalar(const char* name, DType dtype) { return {name, false, dtype, Direction::kIn, {}}; }

std::shared_ptr<const program::Image> Prebuilt(const char* entry, std::vector<program::PrebuiltParameter> parameters,
                                               uint32_t blocks, bool mix = false,
                                               program::CoreKind core = program::CoreKind::kAiCore) {
  std::ifstream file(PYPTO_TEST_HOST_KERNELS, std::ios::binary);
  program::DeviceBinary binary;
  binary.entry = entry;
  binary.blocks = blocks;
  binary.takes_sync_address = mix;
  binary.core = core;
  binary.bytes.assign(std::istreambuf_iterator<char>(file), {});
  auto image = program::MakePrebuilt("a2a3sim", std::move(parameters), std::move(binary));
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  return *image;
}

std::shared_ptr<const program::Image> Axpy(uint32_t blocks = 4) {
  return Prebuilt("axpy",
                  {Vector("x", DType::kFp32, Direction::kIn), Vector("y", DType::kFp32, Direction::kInOut),
                   Scalar("a", DType::kFp32), Scalar("n", DType::kInt32)},
                  blocks);
}

// Whether the library offers launches with host arguments, or only argument lists.
class PrebuiltTest : public ::testing::TestWithParam<bool> {
 protected:
  PrebuiltTest() {
    acl::LoadOptions options;
    options.mock_path = PYPTO_TEST_MOCK_PATH;
    options.layers = "";
    auto full = acl::LoadFor(acl::PlatformKind::kSimulator, options);
    EXPECT_TRUE(full.ok()) << full.status().ToString();
    acl::Functions functions = (*full)->functions();
    if (!GetParam()) functions.aclrtLaunchKernelWithHostArgs = nullptr;
    full_ = std::move(full).value();
    auto session = acl::Session::Adopt(
        std::make_unique<acl::Table>(functions, acl::TableInfo{PYPTO_TEST_MOCK_PATH, true}, base::DynamicLibrary()));
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    worker_ = *Worker::OpenOn({}, std::move(session).value());
  }
  ~PrebuiltTest() override {
    EXPECT_TRUE(worker_->Close().ok());
    EXPECT_EQ(reinterpret_cast<decltype(&mock_live_bytes)>(full_->Symbol("mock_live_bytes"))(-1), 0u);
  }
  template <typename T>
  static ArgumentView Host(std::vector<T>& values, DType dtype) {
    return ArgumentView::Host(values.data(), kShape, 1, dtype);
  }

  std::unique_ptr<acl::Table> full_;
  std::shared_ptr<Worker> worker_;
  std::vector<float> x_ = std::vector<float>(kCount, 3.0F);
  std::vector<float> y_ = std::vector<float>(kCount, 1.0F);
};

TEST_P(PrebuiltTest, HostAndResidentArgumentsGiveRightNumbers) {
  const auto handle = *worker_->Register(Axpy());
  const auto call = [&](ArgumentView x) {
    return handle->Call(std::vector{x, Host(y_, DType::kFp32), ArgumentView::Float(0.5), ArgumentView::Int(kCount)});
  };
  Status status = call(Host(x_, DType::kFp32));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(y_, std::vector<float>(kCount, 2.5F));
  const HostTensorView init{x_.data(), kShape, DType::kFp32};
  const TensorRef resident = *worker_->AllocTensor(kShape, DType::kFp32, &init);
  status = call(ArgumentView::Resident(resident.get()));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(y_, std::vector<float>(kCount, 4.0F));
  EXPECT_EQ(worker_->GetCounters().program_loads, 1u);
  EXPECT_TRUE(handle->Report().ok());
}

TEST_P(PrebuiltTest, RoundsAreTimedByEvents) {
  const auto handle = *worker_->Register(Axpy());
  RoundTimes times;
  CallOptions options;
  options.times = &times;
  const Status status = handle->Call(
      std::vector{Host(x_, DType::kFp32), Host(y_, DType::kFp32), ArgumentView::Float(1), ArgumentView::Int(kCount)},
      options);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_GT(times.device_ns, 0);
  EXPECT_EQ(y_[7], 4.0F);
}

TEST_P(PrebuiltTest, ThereIsNothingToProfile) {
  const auto handle = *worker_->Register(Axpy());
  const Status status = handle
                            ->Profile(std::vector{Host(x_, DType::kFp32), Host(y_, DType::kFp32),
                                                  ArgumentView::Float(1), ArgumentView::Int(kCount)})
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.ToString(), HasSubstr("is a device binary of another compiler, which has no leaves to time"));
  EXPECT_EQ(y_[7], 1.0F) << "nothing ran";
}

TEST_P(PrebuiltTest, ASubmittedLaunchComesBack) {
  const auto handle = *worker_->Register(Axpy());
  const auto completion = handle->Submit(
      std::vector{Host(x_, DType::kFp32), Host(y_, DType::kFp32), ArgumentView::Float(1), ArgumentView::Int(kCount)});
  ASSERT_TRUE(completion.ok()) << completion.status().ToString();
  ASSERT_TRUE((*completion)->Wait({}, {}).ok());
  EXPECT_EQ(y_[299], 4.0F);
}

TEST_P(PrebuiltTest, AMixKernelIsHandedTheSynchronisationAddress) {
  const auto handle = *worker_->Register(Prebuilt("mixed", {Vector("out", DType::kInt64, Direction::kInOut)}, 5, true));
  std::vector<int64_t> out(kCount, 0);
  const Status status = handle->Call(std::vector{Host(out, DType::kInt64)});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_NE(out[0], 0);
  EXPECT_EQ(out[1], 5);
  EXPECT_EQ(out[2], 5);
}

// What the library was told of the cores: the magic, or the description beside the file.
int32_t NoteMagic(void* user, const char*, void* const* arguments) {
  const auto* options = *static_cast<const acl_abi::aclrtBinaryLoadOptions* const*>(arguments[2]);
  *static_cast<std::string*>(user) = base::Format("0x%x", options->options[1].value.magic);
  return 0;
}
int32_t NoteDescription(void* user, const char*, void* const* arguments) {
  std::string path = *static_cast<const char* const*>(arguments[0]);
  std::ifstream file(path.replace(path.size() - 2, 2, ".json"));
  std::getline(file, *static_cast<std::string*>(user));
  return 0;
}

TEST_P(PrebuiltTest, TheLibraryIsToldWhichCoresRunTheCode) {
  const auto set_before = reinterpret_cast<decltype(&mock_set_before)>(full_->Symbol("mock_set_before"));
  std::string told;
  set_before("aclrtBinaryLoadFromData", &NoteMagic, &told);
  set_before("aclrtBinaryLoadFromFile", &NoteDescription, &told);
  const char* in_memory[] = {"0x43554245", "0x41415246", "0x41494343"};
  const char* in_json[] = {"RT_DEV_BINARY_MAGIC_ELF", "RT_DEV_BINARY_MAGIC_ELF_AIVEC",
                           "RT_DEV_BINARY_MAGIC_ELF_AICUBE"};
  for (int core = 0; core < 3; ++core) {
    const auto image = Prebuilt("echo", {Vector("x", DType::kFp32, Direction::kInOut)}, 1, false,
                                static_cast<program::CoreKind>(core));
    EXPECT_TRUE(worker_->Register(image).ok());
    const std::string expected =
        GetParam() ? std::string(in_memory[core]) : base::Format("{\"magic\": \"%s\"}", in_json[core]);
    EXPECT_EQ(told, expected);
  }
  reinterpret_cast<decltype(&mock_clear_hooks)>(full_->Symbol("mock_clear_hooks"))();
}

TEST_P(PrebuiltTest, WrongArgumentsAreRefusedBeforeTheLaunch) {
  const auto handle = *worker_->Register(Axpy());
  const auto call = [&](std::vector<ArgumentView> arguments) { return handle->Call(arguments); };
  const Status few = call({Host(x_, DType::kFp32), Host(y_, DType::kFp32), ArgumentView::Float(1)});
  EXPECT_EQ(few.code(), StatusCode::kTypeMismatch);
  EXPECT_THAT(few.ToString(), HasSubstr("axpy() takes 4 arguments (x, y, a, n), got 3"));
  const Status wide =
      call({Host(x_, DType::kFp32), Host(y_, DType::kFp32), ArgumentView::Float(1), ArgumentView::Int(5'000'000'000)});
  EXPECT_EQ(wide.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(wide.ToString(), HasSubstr("argument 'n' of axpy is 5000000000, which does not fit 32 bits"));
  EXPECT_FALSE(
      call({Host(x_, DType::kFp16), Host(y_, DType::kFp32), ArgumentView::Float(1), ArgumentView::Int(1)}).ok());
  EXPECT_EQ(worker_->GetCounters().launches, 0u);
  EXPECT_EQ(y_[0], 1.0F);
}

TEST_P(PrebuiltTest, AnEntryThatTheBinaryLacksIsNamedAtRegister) {
  const auto handle = worker_->Register(Prebuilt("absent", {Vector("x", DType::kFp32, Direction::kIn)}, 1));
  ASSERT_FALSE(handle.ok());
  EXPECT_THAT(handle.status().ToString(), HasSubstr("the binary holds no kernel 'absent'"));
  EXPECT_THAT(handle.status().ToString(), HasSubstr("while registering program 'absent'"));
}

TEST_P(PrebuiltTest, AFaultFromMapBreaksTheWorker) {
  const auto handle = *worker_->Register(Prebuilt("stray", {Vector("x", DType::kFp32, Direction::kIn)}, 2));
  const Status status = handle->Call(std::vector{Host(x_, DType::kFp32)});
  ASSERT_NE(status.acl_failure(), nullptr) << status.ToString();
  EXPECT_EQ(status.acl_failure()->code, 507015);
  EXPECT_EQ(status.acl_failure()->failure_class, "kernel_fault");
  EXPECT_THAT(status.ToString(), HasSubstr("kernel 'stray', block 1 of 2: reads"));
  EXPECT_FALSE(worker_->CheckUsable().ok());
}

INSTANTIATE_TEST_SUITE_P(Routes, PrebuiltTest, ::testing::Values(true, false),
                         [](const auto& route) { return route.param ? "HostArgs" : "KernelArgs"; });

TEST(PrebuiltOnHardware, AMixKernelNeedsTheAddressFromTheLibrary) {
  acl::LoadOptions options;
  options.mock_path = PYPTO_TEST_MOCK_PATH;
  const auto full = *acl::LoadFor(acl::PlatformKind::kSimulator, options);
  acl::Functions functions = full->functions();
  functions.aclrtGetHardwareSyncAddr = nullptr;
  auto session = acl::Session::Adopt(
      std::make_unique<acl::Table>(functions, acl::TableInfo{PYPTO_TEST_MOCK_PATH, true}, base::DynamicLibrary()));
  const auto worker = *Worker::OpenOn({}, std::move(session).value());
  const auto handle = worker->Register(Prebuilt("mixed", {Vector("out", DType::kInt64, Direction::kInOut)}, 5, true));
  ASSERT_FALSE(handle.ok());
  EXPECT_EQ(handle.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(handle.status().ToString(), HasSubstr("needs aclrtGetHardwareSyncAddr"));
  EXPECT_TRUE(worker->Close().ok());
}

}  // namespace
}  // namespace pypto::runtime
