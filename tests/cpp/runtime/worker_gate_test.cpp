// The gate lets one thread in at a time, in order of arrival.
#include "pypto/runtime/worker_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace pypto::runtime {
namespace {

TEST(WorkerGate, TryEnterFailsWhileSomebodyIsInside) {
  WorkerGate gate;
  ASSERT_TRUE(gate.TryEnter());
  EXPECT_FALSE(gate.TryEnter());
  gate.Leave();
  EXPECT_TRUE(gate.TryEnter());
  gate.Leave();
}

TEST(WorkerGate, EightThreadsCountWithoutLosingAny) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20000;
  WorkerGate gate;
  int64_t counter = 0;  // guarded by the gate only
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        gate.Enter();
        counter += 1;
        gate.Leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, int64_t{kThreads} * kRounds);
  EXPECT_TRUE(gate.TryEnter());
}

TEST(WorkerGate, AWaiterThatGivesUpDoesNotHoldUpTheNext) {
  WorkerGate gate;
  ASSERT_TRUE(gate.TryEnter());
  int asked = 0;
  const Interrupt stop{[](void* count) { return ++*static_cast<int*>(count) == 2; }, &asked};
  EXPECT_FALSE(gate.Enter(stop));
  EXPECT_EQ(asked, 2);
  std::thread next([&] {
    EXPECT_TRUE(gate.Enter());
    gate.Leave();
  });
  gate.Leave();
  next.join();
  EXPECT_TRUE(gate.TryEnter());
  gate.Leave();
}

TEST(WorkerGate, LeavingSkipsAllWhoGaveUp) {
  WorkerGate gate;
  ASSERT_TRUE(gate.TryEnter());
  const Interrupt stop{[](void*) { return true; }, nullptr};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(gate.Enter(stop));
  gate.Leave();
  EXPECT_TRUE(gate.TryEnter());
  EXPECT_FALSE(gate.Enter(stop));
  gate.Leave();
  EXPECT_TRUE(gate.Enter(stop));  // free: nobody is asked
  gate.Leave();
}

TEST(WorkerGate, SomeGiveUpWhileOthersCount) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 30;
  WorkerGate gate;
  int64_t inside = 0;  // guarded by the gate only
  int64_t entered = 0;
  std::atomic<int64_t> gave_up{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t]() mutable {
      const Interrupt stop{[](void* thread) { return *static_cast<int*>(thread) % 2 == 0; }, &t};
      for (int i = 0; i < kRounds; ++i) {
        if (!gate.Enter(stop)) {
          gave_up += 1;
          continue;
        }
        EXPECT_EQ(++inside, 1);
        entered += 1;
        // Long enough for some to give up.
        if (t == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        --inside;
        gate.Leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered + gave_up, int64_t{kThreads} * kRounds);
  EXPECT_TRUE(gate.TryEnter());
}

}  // namespace
}  // namespace pypto::runtime
