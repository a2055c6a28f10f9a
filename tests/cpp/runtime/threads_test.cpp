// Eight threads with options of their own compile and run at once; for the thread sanitizer too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <filesystem>
#include <mutex>
#include <thread>

#include "pypto/acl/session.h"
#include "pypto/log/log.h"
#include "pypto/options/scope.h"
#include "pypto/runtime/worker.h"
#include "runtime/rows_image.h"

namespace pypto::runtime::testing {
namespace {

using options::Origin;
using options::RawValue;
using options::ScopeRef;

constexpr int kThreads = 8;
constexpr int64_t kRows = 24;

// The options of a scope as the compiler takes them.
program::PlanOptions PlanOptionsOf(const options::Scope& scope) {
  program::PlanOptions plan;
  plan.stitch_function_max_num = static_cast<uint32_t>(scope.GetInt("runtime.stitch_function_max_num"));
  const std::vector<int64_t> depths = scope.GetIntList("runtime.stitch_function_num_per_pool");
  for (size_t i = 0; i < depths.size(); ++i) {
    plan.stitch_function_num_per_pool[i] = static_cast<uint32_t>(depths[i]);
  }
  return plan;
}

// What one thread does; gives the first thing that is wrong, empty when nothing is.
std::string Work(int number, const ScopeRef& root, const std::shared_ptr<Worker>& shared, const RunConfig& config) {
  const auto own = Worker::Open(config);
  if (!own.ok()) return own.status().ToString();
  for (int round = 0; round < 3; ++round) {
    const auto depth = static_cast<uint32_t>(number + round + 1);
    const bool per_pool = number % 2 != 0;
    const auto scope = root->Child("thread")->With(
        {per_pool ? options::Update{"runtime.stitch_function_num_per_pool",
                                    RawValue::List{static_cast<int64_t>(depth), 0, 0}}
                  : options::Update{"runtime.stitch_function_max_num", static_cast<int64_t>(depth)}},
        Origin::kScope);
    if (!scope.ok()) return scope.status().ToString();
    const auto image = Rows(PlanOptionsOf(**scope));
    for (const std::shared_ptr<Worker>& worker : {*own, shared}) {
      const auto handle = worker->Register(image);
      if (!handle.ok()) return handle.status().ToString();
      Floats x(kRows, 0.5F);
      Floats w(16, 1.0F);
      Floats out(kRows, 0.0F);
      const base::Status called = (*handle)->Call(std::vector{x.View(), w.View(), out.View()});
      if (!called.ok()) return called.ToString();
      if (out.data != std::vector<float>(out.data.size(), 16.0F)) return "wrong numbers";
      const auto report = (*handle)->Report();
      if (!report.ok()) return report.status().ToString();
      const auto tasks = (static_cast<uint64_t>(kRows) + depth - 1) / depth;
      if (report->statistics.device_tasks != tasks) return "another thread's depths";
      if (report->recommendation.actual_depths[0] != depth) return "another thread's options";
    }
  }
  return (*own)->Close().ToString() == base::OkStatus().ToString() ? "" : "the worker does not close";
}

TEST(Threads, EightCompileAndRunUnderTheirOwnOptions) {
  RunConfig config;
  config.mock_library_path = PYPTO_TEST_MOCK_PATH;
  log::SetLogRoot((std::filesystem::temp_directory_path() / "pypto_threads_test").string());
  log::SetLevel(log::Level::kInfo);
  std::mutex mutex;
  std::vector<std::string> recommendations;
  const uint64_t sink = log::AddSink(log::MakeCallbackSink(
      [&](const log::RecordView& record) {
        if (record.text.find("Recommendation]") == std::string_view::npos) return;
        const std::lock_guard lock(mutex);
        recommendations.emplace_back(record.text);
      },
      log::Level::kInfo));
  const auto shared = *Worker::Open(config);
  const ScopeRef root = options::Scope::MakeRoot()->Child("global");
  std::barrier together(kThreads);
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      wrong[static_cast<size_t>(i)] = Work(i, root, shared, config);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(""));
  EXPECT_TRUE(shared->Close().ok());
  log::RemoveSink(sink);
  log::ResetLevel();
  EXPECT_EQ(recommendations.size(), size_t{kThreads} * 3 * 2);
  EXPECT_EQ(root->GetInt("runtime.stitch_function_max_num"), 128);
}

}  // namespace
}  // namespace pypto::runtime::testing
