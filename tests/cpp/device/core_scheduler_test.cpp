// Work sharing between core threads.
#include "pypto/device/core_scheduler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

namespace pypto::device {
namespace {

struct Marks {
  explicit Marks(size_t count) : items(count) {}
  std::vector<std::atomic<int>> items;
  std::atomic<uint32_t> most_core{0};

  static void Work(void* context, uint32_t core, int64_t first, int64_t last) {
    auto& marks = *static_cast<Marks*>(context);
    for (int64_t i = first; i < last; ++i) marks.items[static_cast<size_t>(i)].fetch_add(1);
    uint32_t seen = marks.most_core.load();
    while (core > seen && !marks.most_core.compare_exchange_weak(seen, core)) {
    }
  }
  bool EachOnce(int times = 1) const {
    for (const auto& item : items) {
      if (item.load() != times) return false;
    }
    return true;
  }
};

constexpr double kLong = 1e6;  // nanoseconds: worth sharing

TEST(CoreScheduler, ThreadsStartWithTheFirstLongRun) {
  CoreScheduler scheduler(4, 0);
  Marks marks(100);
  scheduler.Run(Marks::Work, &marks, 100, 1);
  EXPECT_EQ(scheduler.threads_started(), 0u);
  EXPECT_EQ(scheduler.shared_runs(), 0u);
  EXPECT_EQ(marks.most_core, 0u);
  scheduler.Run(Marks::Work, &marks, 100, kLong);
  EXPECT_EQ(scheduler.threads_started(), 3u);
  EXPECT_EQ(scheduler.shared_runs(), 1u);
  EXPECT_TRUE(marks.EachOnce(2));
  EXPECT_LT(marks.most_core, 4u);
}

TEST(CoreScheduler, OneCoreAndOneItemStayOnTheCaller) {
  Marks marks(50);
  CoreScheduler alone(1, 0);
  alone.Run(Marks::Work, &marks, 50, kLong);
  CoreScheduler four(4, 0);
  four.Run(Marks::Work, &marks, 1, kLong);
  EXPECT_EQ(alone.threads_started() + four.threads_started(), 0u);
}

TEST(CoreScheduler, EveryItemRunsOnceInManyRuns) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{5}}) {
    CoreScheduler scheduler(4, seed);
    for (const size_t count : {2u, 3u, 7u, 64u, 1000u}) {
      Marks marks(count);
      for (int round = 0; round < 200; ++round) {
        scheduler.Run(Marks::Work, &marks, static_cast<int64_t>(count), kLong);
        ASSERT_TRUE(marks.EachOnce(round + 1));
      }
    }
  }
}

TEST(CoreScheduler, ASeedChangesTheOrder) {
  struct Order {
    std::vector<int64_t> seen;
    static void Work(void* context, uint32_t, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) static_cast<Order*>(context)->seen.push_back(i);
    }
  };
  CoreScheduler scheduler(1, 12345);
  Order first;
  Order second;
  scheduler.Run(Order::Work, &first, 50, 0);
  scheduler.Run(Order::Work, &second, 50, 0);
  EXPECT_NE(first.seen, second.seen);
  std::sort(first.seen.begin(), first.seen.end());
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(first.seen[static_cast<size_t>(i)], i);
}

TEST(CoreScheduler, AForkedChildWorksAloneAndEnds) {
  CoreScheduler scheduler(3, 0);
  Marks marks(100);
  scheduler.Run(Marks::Work, &marks, 100, kLong);
  const pid_t child = fork();
  if (child == 0) {
    scheduler.Run(Marks::Work, &marks, 100, kLong);
    _exit(marks.EachOnce(2) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(CoreScheduler, TheProcessMayEndWithThreadsParked) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        static CoreScheduler scheduler(3, 0);
        Marks marks(100);
        scheduler.Run(Marks::Work, &marks, 100, kLong);
        std::exit(marks.EachOnce() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace pypto::device
