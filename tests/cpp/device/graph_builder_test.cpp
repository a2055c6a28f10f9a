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

TEST(GraphBuilder, WhatTakesLongestToTheEndBeginsFirst) {
  // Chains of one, two, four and three leaves.
  Window window(10, 100'000);
  const int64_t chains[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 3};
  for (uint32_t i = 0; i < 10; ++i) window.Touch(i, 0, true, true, Window::Row(chains[i]));
  EXPECT_EQ(window.Build(2, false).graph.ready, (std::vector<uint32_t>{3, 7, 1, 0}));
}

// `count` instances of two leaves: one writes inner memory, the other reads it and adds to row i of memory that all
// see.
Window Instances(uint32_t count, uint32_t rows) {
  Window window(2 * count, 100'000);
  window.MakeInstances(2);
  for (uint32_t i = 0; i < count; ++i) {
    window.TouchInner(2 * i, 1 + i, true, Window::Row(0));
    window.TouchInner(2 * i + 1, 1 + i, false, Window::Row(0));
    window.Touch(2 * i + 1, 0, true, true, Window::Row(i % rows));
  }
  return window;
}

TEST(GraphBuilder, ManyInstancesAreNodes) {
  Window window = Instances(32, 32);
  const Task& task = window.Build(2, false, true);
  EXPECT_TRUE(task.shared);
  EXPECT_TRUE(task.by_instance);
  EXPECT_EQ(task.graph.working, 32u);
  EXPECT_EQ(task.graph.ready.size(), 32u);
  EXPECT_EQ(window.edges(), 0u);
}

TEST(GraphBuilder, InstancesWaitForWhatTheyShare) {
  Window window = Instances(64, 8);
  const Task& task = window.Build(2, false, true);
  ASSERT_TRUE(task.by_instance);
  EXPECT_EQ(task.graph.ready.size(), 8u);
  const auto before = window.Closure();
  for (uint32_t i = 0; i < 64; ++i) {
    for (uint32_t j = 0; j < 64; ++j) EXPECT_EQ(before[i][j], i < j && i % 8 == j % 8) << i << " " << j;
  }
}

TEST(GraphBuilder, LeavesAreNodesWhereInstancesDoNotFillTheCores) {
  const auto by_leaf = [](Window window, uint32_t cores, bool shaken, bool has_rooms) {
    const Task& task = window.Build(cores, shaken, has_rooms);
    return task.shared && !task.by_instance && task.graph.working == task.leaves.size();
  };
  EXPECT_TRUE(by_leaf(Instances(32, 32), 2, false, false));  // no memory for each core
  EXPECT_TRUE(by_leaf(Instances(32, 32), 2, true, true));
  EXPECT_TRUE(by_leaf(Instances(6, 6), 2, false, true));    // too few
  EXPECT_TRUE(by_leaf(Instances(32, 32), 8, false, true));  // the same
  EXPECT_TRUE(by_leaf(Instances(64, 1), 2, false, true));   // one after another, yet their first leaves side by side
}

}  // namespace
}  // namespace pypto::device::testing
