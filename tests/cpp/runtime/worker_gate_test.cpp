// The gate lets one thread in at a time, in order of arrival.
#include "pypto/runtime/worker_gate.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pypto::runtime
