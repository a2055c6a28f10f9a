// How cores take the leaves of a graph: every tile once, nothing before what it waits for.
#include "pypto/device/ready_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <vector>

#include "device/graph_window.h"
#include "pypto/device/core_scheduler.h"
#include "pypto/device/shaken_queue.h"

namespace pypto::device::testing {
namespace {

// Runs a task whose tiles only note when they run.
template <typename Queue>
class Recorder {
 public:
  Recorder(const Task& task, Queue* queue) : task_(task), queue_(*queue), leaves_(task.leaves.size()) {
    for (size_t i = 0; i < leaves_.size(); ++i) {
      leaves_[i].runs = std::vector<std::atomic<int>>(static_cast<size_t>(task.leaves[i].tiles));
    }
  }

  static void Work(void* context, uint32_t core) {
    auto& self = *static_cast<Recorder*>(context);
    Claim claim;
    claim.back = core % 2 == 1;
    while (self.queue_.Next(&claim)) {
      Leaf& leaf = self.leaves_[claim.node];
      const uint64_t begin = self.clock_.fetch_add(1);
      for (uint64_t seen = leaf.begin; begin < seen && !leaf.begin.compare_exchange_weak(seen, begin);) {
      }
      for (int64_t tile = claim.first; tile < claim.last; ++tile) ++leaf.runs[static_cast<size_t>(tile)];
      const uint64_t end = self.clock_.fetch_add(1);
      for (uint64_t seen = leaf.end; end > seen && !leaf.end.compare_exchange_weak(seen, end);) {
      }
      self.cores_.fetch_or(1u << core);
    }
  }

  void Check(const Window& window) const {
    for (const Leaf& leaf : leaves_) {
      for (const auto& runs : leaf.runs) ASSERT_EQ(runs, 1);
    }
    const auto before = window.Closure();
    for (size_t a = 0; a < leaves_.size(); ++a) {
      for (size_t b = 0; b < leaves_.size(); ++b) {
        if (!before[a][b]) continue;
        ASSERT_LT(leaves_[a].end, leaves_[b].begin) << a << " before " << b;
      }
    }
  }
  // Leaves by when they began.
  std::vector<size_t> Order() const {
    std::vector<size_t> order(leaves_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) { return leaves_[a].begin < leaves_[b].begin; });
    return order;
  }

 private:
  struct Leaf {
    std::vector<std::atomic<int>> runs;
    std::atomic<uint64_t> begin{UINT64_MAX};
    std::atomic<uint64_t> end{0};
  };
  const Task& task_;
  Queue& queue_;
  std::vector<Leaf> leaves_;
  std::atomic<uint64_t> clock_{0};
  std::atomic<uint32_t> cores_{0};
};

class Picker {
 public:
  explicit Picker(uint32_t seed) : random_(seed) {}
  int64_t operator()(int64_t low, int64_t high) const {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

 private:
  mutable std::mt19937 random_;
};

TEST(ReadyQueue, EveryTileOnceAndInOrder) {
  ReadyQueue queue;
  for (const uint32_t cores : {1u, 2u, 4u}) {
    CoreScheduler scheduler(cores);
    for (uint32_t seed = 0; seed < 60; ++seed) {
      const Picker pick(seed);
      const auto leaves = static_cast<uint32_t>(pick(2, 80));
      Window window(leaves, 3000);
      for (uint32_t i = 0; i < leaves; ++i) window.SetTiles(i, pick(0, 3) == 0 ? pick(2, 40) : 1);
      window.TouchAtRandom(pick(1, 6), pick);
      const Task& task = window.Build();
      queue.Begin(task, cores);
      Recorder<ReadyQueue> recorder(task, &queue);
      scheduler.Run(Recorder<ReadyQueue>::Work, &recorder);
      ASSERT_NO_FATAL_FAILURE(recorder.Check(window)) << cores << " cores, seed " << seed;
    }
  }
}

TEST(ReadyQueue, CoresThatSleepAreWokenForNewWork) {
  // One long leaf, then many that it lets go: the others have parked by then.
  struct Slow {
    ReadyQueue* queue;
    std::atomic<uint32_t> done{0};
    static void Work(void* context, uint32_t) {
      auto& self = *static_cast<Slow*>(context);
      Claim claim;
      while (self.queue->Next(&claim)) {
        const auto begin = std::chrono::steady_clock::now();
        while (claim.node == 0 && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(3)) {
        }
        ++self.done;
      }
    }
  };
  Window window(20);
  window.Touch(0, 0, false, true, Window::Row(0, 32));
  for (uint32_t i = 1; i < 20; ++i) window.Touch(i, 0, true, true, Window::Row(i));
  const Task& task = window.Build();
  CoreScheduler scheduler(3);
  ReadyQueue queue;
  for (int round = 0; round < 5; ++round) {
    queue.Begin(task, 3);
    Slow slow{&queue};
    scheduler.Run(Slow::Work, &slow);
    EXPECT_EQ(slow.done, 20u);
  }
}

TEST(ReadyQueue, ACoreGoesOnWithWhatItMadeReady) {
  // Four chains of five leaves on one core: chain after chain.
  Window window(20);
  for (uint32_t i = 0; i < 20; ++i) window.Touch(i, 0, true, true, Window::Row(i % 4));
  const Task& task = window.Build();
  ReadyQueue queue;
  queue.Begin(task, 1);
  Recorder<ReadyQueue> recorder(task, &queue);
  Recorder<ReadyQueue>::Work(&recorder, 0);
  const std::vector<size_t> order = recorder.Order();
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(order[i], i / 5 + i % 5 * 4);
}

// Tiles of every claim of one core.
std::vector<int64_t> Claims(const Task& task, uint32_t cores) {
  ReadyQueue queue;
  queue.Begin(task, cores);
  std::vector<int64_t> tiles;
  for (Claim claim; queue.Next(&claim);) tiles.push_back(claim.last - claim.first);
  return tiles;
}

TEST(ReadyQueue, ClaimsGetSmallerTowardsTheEnd) {
  Window window(1, 1000);
  window.SetTiles(0, 100);
  EXPECT_EQ(Claims(window.Build(2), 2), (std::vector<int64_t>{25, 18, 14, 10, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(ReadyQueue, NoClaimTakesLong) {
  Window window(1, 50'000);
  window.SetTiles(0, 100);
  const std::vector<int64_t> claims = Claims(window.Build(2), 2);
  EXPECT_EQ(*std::max_element(claims.begin(), claims.end()), 4);  // 200 µs
}

TEST(ReadyQueue, CoresTakeTilesFromBothEnds) {
  Window window(1, 1000);
  window.SetTiles(0, 37);
  ReadyQueue queue;
  queue.Begin(window.Build(2), 2);
  Claim front;
  Claim back;
  back.back = true;
  std::vector<int> taken(37);
  int64_t first = 0;
  int64_t last = 37;
  for (bool turn = false; first < last; turn = !turn) {
    Claim& claim = turn ? back : front;
    ASSERT_TRUE(queue.Next(&claim));
    EXPECT_EQ(turn ? claim.last : claim.first, turn ? last : first);
    (turn ? last : first) = turn ? claim.first : claim.last;
    for (int64_t tile = claim.first; tile < claim.last; ++tile) ++taken[static_cast<size_t>(tile)];
  }
  EXPECT_EQ(taken, std::vector<int>(37, 1));
}

// Claims of a product of `down` × `across` tiles, two cores in turn.
std::vector<int64_t> ProductClaims(int64_t down, int64_t across) {
  Window window(1, 100'000);
  window.SetProduct(0, down, across);
  ReadyQueue queue;
  queue.Begin(window.Build(2), 2);
  Claim claims[2];
  claims[1].back = true;
  std::vector<int64_t> tiles;
  for (int64_t left = down * across; left > 0;) {
    Claim& claim = claims[tiles.size() % 2];
    EXPECT_TRUE(queue.Next(&claim));
    tiles.push_back(claim.last - claim.first);
    left -= tiles.back();
  }
  return tiles;
}

TEST(ReadyQueue, ProductsAreTakenInWideClaimsAndTheRestTileByTile) {
  // Three of four columns each, one more each, whole columns all.
  EXPECT_EQ(ProductClaims(4, 8), (std::vector<int64_t>{12, 12, 4, 1, 1, 1, 1}));
  // One column each, then tiles.
  EXPECT_EQ(ProductClaims(3, 3), (std::vector<int64_t>{3, 3, 1, 1, 1}));
  EXPECT_EQ(ProductClaims(6, 1), (std::vector<int64_t>{2, 2, 1, 1}));
}

TEST(ReadyQueue, AColumnIsTakenWholeWhileOtherWorkIsReady) {
  Window window(2, 100'000);
  window.SetProduct(0, 4, 1);
  window.SetProduct(1, 4, 1);
  EXPECT_EQ(Claims(window.Build(2), 2), (std::vector<int64_t>{4, 1, 1, 1, 1}));
}

TEST(ReadyQueue, LongChainsOfInstancesAreBroughtForwardTogether) {
  // Three chains of eight instances for two cores: segment by segment.
  Window window(24, 100'000);
  for (uint32_t i = 0; i < 24; ++i) window.Touch(i, 0, true, true, Window::Row(i % 3));
  window.MakeInstances(1);
  const Task& task = window.Build(2, false, true);
  ASSERT_TRUE(task.by_instance);
  ASSERT_FALSE(task.graph.segments.empty());
  ReadyQueue queue;
  queue.Begin(task, 2);
  Recorder<ReadyQueue> recorder(task, &queue);
  Recorder<ReadyQueue>::Work(&recorder, 0);
  std::vector<size_t> done(3);
  for (const size_t leaf : recorder.Order()) {
    ++done[leaf % 3];
    const auto [least, most] = std::minmax_element(done.begin(), done.end());
    EXPECT_LE(*most - *least, 2u);
  }
}

TEST(ReadyQueue, SegmentsOfChainsThatMeetInJoins) {
  // Five rounds of sixteen instances, each of which reads all that the round before wrote.
  constexpr uint32_t kRounds = 5;
  constexpr uint32_t kWide = 16;
  Window window(kRounds * kWide, 100'000);
  for (uint32_t i = 0; i < kRounds * kWide; ++i) {
    const uint32_t round = i / kWide;
    if (round > 0) window.Touch(i, round - 1, true, false, Window::Row(0, kWide));
    window.Touch(i, round, false, true, Window::Row(i % kWide));
  }
  window.MakeInstances(1);
  const Task& task = window.Build(2, false, true);
  ASSERT_TRUE(task.by_instance);
  ASSERT_FALSE(task.graph.segments.empty());
  ASSERT_GT(task.graph.nodes, task.graph.working);  // joins
  window.Check();
  ReadyQueue queue;
  for (const uint32_t cores : {1u, 2u, 4u}) {
    CoreScheduler scheduler(cores);
    queue.Begin(task, cores);
    Recorder<ReadyQueue> recorder(task, &queue);
    scheduler.Run(Recorder<ReadyQueue>::Work, &recorder);
    ASSERT_NO_FATAL_FAILURE(recorder.Check(window)) << cores << " cores";
  }
}

TEST(ShakenQueue, EveryTileOnceAndInOrder) {
  for (const uint32_t cores : {1u, 3u}) {
    CoreScheduler scheduler(cores);
    for (uint32_t seed = 1; seed < 40; ++seed) {
      ShakenQueue queue(seed);
      const Picker pick(seed);
      const auto leaves = static_cast<uint32_t>(pick(2, 60));
      Window window(leaves, 3000);
      for (uint32_t i = 0; i < leaves; ++i) window.SetTiles(i, pick(1, 7));
      window.TouchAtRandom(pick(1, 6), pick);
      const Task& task = window.Build();
      for (int round = 0; round < 2; ++round) {
        queue.Begin(task);
        Recorder<ShakenQueue> recorder(task, &queue);
        scheduler.Run(Recorder<ShakenQueue>::Work, &recorder);
        ASSERT_NO_FATAL_FAILURE(recorder.Check(window)) << cores << " cores, seed " << seed;
      }
    }
  }
}

TEST(ShakenQueue, TheSeedDecidesTheOrder) {
  Window window(50);
  for (uint32_t i = 0; i < 50; ++i) window.Touch(i, 0, true, true, Window::Row(i));
  const Task& task = window.Build();
  const auto order = [&task](uint64_t seed) {
    ShakenQueue queue(seed);
    queue.Begin(task);
    Recorder<ShakenQueue> recorder(task, &queue);
    Recorder<ShakenQueue>::Work(&recorder, 0);
    return recorder.Order();
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

}  // namespace
}  // namespace pypto::device::testing
