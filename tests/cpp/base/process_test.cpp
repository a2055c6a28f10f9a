// The fork generation, and opening libraries.
#include "pypto/base/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pypto/base/clock.h"
#include "pypto/base/dynamic_library.h"

namespace pypto::base {
namespace {

TEST(Process, AForkedChildHasAnotherGeneration) {
  const uint64_t parent = ProcessGeneration();
  const pid_t child = fork();
  if (child == 0) _exit(ProcessGeneration() == parent ? 1 : 0);
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(WEXITSTATUS(state), 0);
  EXPECT_EQ(ProcessGeneration(), parent);
}

TEST(DynamicLibrary, MissingFileSaysWhichOne) {
  const auto library = DynamicLibrary::Open("/nonexistent/libnothing.so");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), StatusCode::kNotFound);
  EXPECT_NE(library.status().ToString().find("/nonexistent/libnothing.so"), std::string::npos);
}

TEST(DynamicLibrary, OpensAndFindsSymbols) {
  auto library = DynamicLibrary::Open("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  EXPECT_NE(library->Symbol("cos"), nullptr);
  EXPECT_EQ(library->Symbol("no_such_function"), nullptr);
  EXPECT_EQ(library->ResolvedPath().front(), '/');
}

TEST(Clock, TicksAgreeWithTheMonotonicClock) {
  const double rate = TicksPerSecond();
  const int64_t begin_ns = MonotonicNanoseconds();
  const uint64_t begin = Ticks();
  usleep(20'000);
  const uint64_t end = Ticks();
  const auto elapsed_ns = static_cast<double>(MonotonicNanoseconds() - begin_ns);
  EXPECT_NEAR(static_cast<double>(end - begin) * 1e9 / rate, elapsed_ns, 0.05 * elapsed_ns);
}

}  // namespace
}  // namespace pypto::base
