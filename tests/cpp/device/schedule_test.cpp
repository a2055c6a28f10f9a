// Programs drawn at random give the same bits and figures whatever the cores, depths, copies and orders.
#include <gtest/gtest.h>

#include "device/random_program.h"
#include "device/reference.h"

namespace pypto::device::testing {
namespace {

std::vector<program::PlanOptions> AllOptions() {
  std::vector<program::PlanOptions> all(7);
  all[1].stitch_function_max_num = 1;
  all[2].stitch_function_max_num = 5;
  all[3].stitch_function_num_per_pool = {1, 1, 1};
  all[4].stitch_function_num_per_pool = {2, 1, 7};
  all[5].parallelism = 3;
  all[6].parallelism = 2;
  all[6].stitch_function_num_per_pool = {1, 1, 1};
  return all;
}

struct Figures {
  uint64_t instances, tasks, tiles, failures;
  std::array<uint64_t, 3> peaks;
  bool operator==(const Figures&) const = default;
};

Figures FiguresOf(const LaunchResult& result) {
  const program::LaunchStatistics& s = result.statistics;
  return {s.root_instances, s.device_tasks, s.leaf_tiles, s.alloc_failures, s.peak_bytes};
}

TEST(Schedule, RandomProgramsMatchTheReferenceAtEveryDepth) {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    for (const program::PlanOptions& options : AllOptions()) {
      const RandomProgram program = MakeRandomProgram(seed, 4, options);
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      CheckAgainstReference(program.image, program.arguments);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Schedule, AnyOrderThatDataAllowsGivesTheSameBitsAndFigures) {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    for (const program::PlanOptions& options : AllOptions()) {
      const RandomProgram program = MakeRandomProgram(seed, 4, options);
      Launcher straight(program.image, 1);
      straight.Bind(program.arguments);
      const LaunchResult expected = straight.Run();
      ASSERT_EQ(expected.outcome.acl_code, 0) << expected.outcome.message;
      for (const uint32_t cores : {1u, 3u}) {
        Launcher shaken(program.image, cores, seed + 1);
        for (int round = 0; round < 2; ++round) {
          shaken.Bind(program.arguments);
          const LaunchResult result = shaken.Run();
          ASSERT_EQ(result.bytes, expected.bytes) << "seed " << seed << ", " << cores << " cores, round " << round;
          ASSERT_EQ(FiguresOf(result), FiguresOf(expected));
        }
      }
    }
  }
}

TEST(Schedule, CoresShareWideProgramsWithTheSameBitsAndFigures) {
  for (uint32_t seed = 100; seed < 105; ++seed) {
    for (const uint32_t copies : {1u, 2u}) {
      program::PlanOptions options;
      options.stitch_function_max_num = 20;
      options.parallelism = copies;
      const RandomProgram program = MakeRandomProgram(seed, 1500, options);
      Launcher alone(program.image, 1);
      alone.Bind(program.arguments);
      const LaunchResult expected = alone.Run();
      ASSERT_EQ(expected.outcome.acl_code, 0) << expected.outcome.message;
      for (const uint32_t cores : {2u, 4u}) {
        Launcher together(program.image, cores);
        for (int round = 0; round < 2; ++round) {
          together.Bind(program.arguments);
          const LaunchResult result = together.Run();
          ASSERT_EQ(result.bytes, expected.bytes) << "seed " << seed << ", " << cores << " cores, round " << round;
          ASSERT_EQ(FiguresOf(result), FiguresOf(expected));
        }
      }
    }
  }
}

}  // namespace
}  // namespace pypto::device::testing
