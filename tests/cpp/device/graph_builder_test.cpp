// The order of leaves, against all pairs of what they touch.
#include "pypto/device/graph_builder.h"

#include <gtest/gtest.h>

#include <random>

#include "device/graph_window.h"

namespace pypto::device::testing {
namespace {

TEST(GraphBuilder, RandomWindowsKeepProgramOrder) {
  std::mt19937 random(5);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  size_t joins = 0;
  for (int round = 0; round < 300; ++round) {
    const auto leaves = static_cast<uint32_t>(pick(2, 60));
    Window window(leaves);
    window.TouchAtRandom(pick(1, 4), pick);
    joins += window.Build().graph.nodes - leaves;
    ASSERT_NO_FATAL_FAILURE(window.Check()) << "round " << round;
  }
  EXPECT_GT(joins, 0u);
}

TEST(GraphBuilder, LeavesThatShareNoBytesDoNotWait) {
  Window rows(500);
  Window columns(500);
  Window blocks(500);
  Window readers(500);
  for (uint32_t i = 0; i < 500; ++i) {
    rows.Touch(i, 0, true, true, Window::Row(i));
    columns.Touch(i, 0, false, true, Window::Columns(i * 4, 4, 2000, 64));
    Region::Dim dims[] = {{4, 8}, {25 * 8 * 4, 8}};
    blocks.Touch(i, 0, false, true, MakeRegion((i / 25 * 8 * 200 + i % 25 * 8) * 4, 4, dims, 2));
    readers.Touch(i, 0, true, false, Window::Row(0, 500));
  }
  for (Window* window : {&rows, &columns, &blocks, &readers}) {
    EXPECT_EQ(window->Build().graph.ready.size(), 500u);
    EXPECT_EQ(window->edges(), 0u);
  }
}

TEST(GraphBuilder, AChainOfWholeWritesHasOneEdgePerStep) {
  Window window(100);
  for (uint32_t i = 0; i < 100; ++i) window.Touch(i, 3, true, true, Window::Row(0, 8));
  window.Build();
  window.Check();
  EXPECT_EQ(window.edges(), 99u);
}

TEST(GraphBuilder, ManyReadersOfManyWritersShareAJoin) {
  // 200 leaves write a row each, 200 read them all, one writes them all again.
  Window window(401);
  for (uint32_t i = 0; i < 200; ++i) window.Touch(i, 0, false, true, Window::Row(i));
  for (uint32_t i = 200; i < 400; ++i) window.Touch(i, 0, true, false, Window::Row(0, 200));
  window.Touch(400, 0, false, true, Window::Row(0, 200));
  EXPECT_EQ(window.Build().graph.nodes, 402u);
  window.Check();
  EXPECT_LT(window.edges(), 1200u);
}

TEST(GraphBuilder, SpacesAreApart) {
  Window window(2);
  window.Touch(0, 0, false, true, Window::Row(0));
  window.Touch(1, 1, false, true, Window::Row(0));
  EXPECT_EQ(window.Build().graph.ready.size(), 2u);
}

TEST(GraphBuilder, OnlyWhatSavesTimeIsShared) {
  const auto shared = [](uint32_t leaves, double tile_ns, bool chained, uint32_t cores) {
    Window window(leaves, tile_ns);
    for (uint32_t i = 0; i < leaves; ++i) window.Touch(i, 0, true, true, Window::Row(chained ? 0 : i));
    return window.Build(cores, false).shared;
  };
  EXPECT_TRUE(shared(64, 100'000, false, 2));
  EXPECT_FALSE(shared(64, 100, false, 2));     // too short
  EXPECT_FALSE(shared(64, 100'000, true, 2));  // one after another anyway
  EXPECT_FALSE(shared(1, 100'000, false, 2));
  EXPECT_FALSE(shared(64, 100'000, false, 1));
  EXPECT_FALSE(Window(1).Build(4, true).shared);  // one tile, in whatever order
}

}  // namespace
}  // namespace pypto::device::testing
