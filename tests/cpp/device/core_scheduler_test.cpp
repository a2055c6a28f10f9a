// The core threads.
#include "pypto/device/core_scheduler.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace pypto::device {
namespace {

// Items that cores take one by one.
struct Marks {
  explicit Marks(size_t count) : items(count) {}
  std::vector<std::atomic<int>> items;
  std::atomic<size_t> next{0};
  std::atomic<uint32_t> most_core{0};
  std::atomic<int> calls_here{0};

  static void Work(void* context, uint32_t core) {
    auto& marks = *static_cast<Marks*>(context);
    if (core == 0) ++marks.calls_here;
    for (size_t i = marks.next++; i < marks.items.size(); i = marks.next++) marks.items[i].fetch_add(1);
    uint32_t seen = marks.most_core.load();
    while (core > seen && !marks.most_core.compare_exchange_weak(seen, core)) {
    }
  }
  void Run(CoreScheduler* scheduler) {
    next = 0;
    scheduler->Run(Work, this);
  }
  bool EachOnce(int times = 1) const {
    for (const auto& item : items) {
      if (item.load() != times) return false;
    }
    return true;
  }
};

TEST(CoreScheduler, ThreadsStartWithTheFirstRun) {
  CoreScheduler scheduler(4);
  EXPECT_EQ(scheduler.threads_started(), 0u);
  Marks marks(100);
  marks.Run(&scheduler);
  EXPECT_EQ(scheduler.threads_started(), 3u);
  EXPECT_EQ(scheduler.runs(), 1u);
  EXPECT_TRUE(marks.EachOnce());
  EXPECT_EQ(marks.calls_here, 1);
  EXPECT_LT(marks.most_core, 4u);
}

TEST(CoreScheduler, ExpectedRunsMayComeOrNot) {
  CoreScheduler scheduler(3);
  scheduler.Expect();  // before there are threads
  scheduler.Unexpect();
  Marks marks(50);
  for (int round = 1; round <= 50; ++round) {
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the cores go to sleep
    scheduler.Expect();
    if (round % 3 != 0) scheduler.Unexpect();
    marks.Run(&scheduler);
    ASSERT_TRUE(marks.EachOnce(round));
    scheduler.Unexpect();
  }
  scheduler.Expect();
  scheduler.Unexpect();
}

TEST(CoreScheduler, ThreadsThatShareTheCallersProcessorAreNoOtherProcessors) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  EXPECT_FALSE(CoreScheduler(1).HasOtherProcessors());
  CoreScheduler free(2);
  EXPECT_TRUE(free.HasOtherProcessors());
  EXPECT_EQ(free.threads_started(), 1u);
  std::thread([&] {
    size_t first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    CoreScheduler tied(2);
    EXPECT_FALSE(tied.HasOtherProcessors());
    EXPECT_EQ(tied.threads_started(), 0u);
    Marks marks(10);
    marks.Run(&tied);
    EXPECT_EQ(tied.threads_started(), 1u);
    EXPECT_FALSE(tied.HasOtherProcessors());
    EXPECT_TRUE(free.HasOtherProcessors()) << "its threads started elsewhere";
  }).join();
}

TEST(CoreScheduler, OneCoreIsTheCaller) {
  Marks marks(50);
  CoreScheduler alone(1);
  marks.Run(&alone);
  EXPECT_TRUE(marks.EachOnce());
  EXPECT_EQ(alone.threads_started(), 0u);
}

TEST(CoreScheduler, EveryRunIsOverWhenItReturns) {
  CoreScheduler scheduler(4);
  for (const size_t count : {0u, 1u, 2u, 7u, 64u, 1000u}) {
    Marks marks(count);
    for (int round = 0; round < 200; ++round) {
      marks.Run(&scheduler);
      ASSERT_TRUE(marks.EachOnce(round + 1));
    }
  }
}

TEST(CoreScheduler, EveryCoreComesWhenTheCallerWaitsForThem) {
  struct Meeting {
    std::atomic<uint32_t> here{0};
    static void Work(void* context, uint32_t) {
      auto& meeting = *static_cast<Meeting*>(context);
      meeting.here.fetch_add(1);
      while (meeting.here.load() < 3) std::this_thread::yield();
    }
  };
  CoreScheduler scheduler(3);
  for (int round = 0; round < 20; ++round) {
    Meeting meeting;
    scheduler.Run(Meeting::Work, &meeting);
    EXPECT_EQ(meeting.here, 3u);
  }
}

TEST(CoreScheduler, AForkedChildWorksAloneAndEnds) {
  CoreScheduler scheduler(3);
  Marks marks(100);
  marks.Run(&scheduler);
  const pid_t child = fork();
  if (child == 0) {
    marks.Run(&scheduler);
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
        static CoreScheduler scheduler(3);
        Marks marks(100);
        marks.Run(&scheduler);
        std::exit(marks.EachOnce() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace pypto::device
