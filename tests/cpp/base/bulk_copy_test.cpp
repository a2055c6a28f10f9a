// Copies by every way against the bytes they were to move: odd offsets, tails, overlaps, both sides of the threshold.
#include "pypto/base/bulk_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace pypto::base {
namespace {

constexpr size_t kMargin = 256;

std::vector<uint8_t> RandomBytes(size_t bytes) {
  std::vector<uint8_t> values(bytes);
  std::minstd_rand generator(7);
  std::generate(values.begin(), values.end(), [&] { return static_cast<uint8_t>(generator() >> 8); });
  return values;
}

// Copies `bytes` between the given offsets; what lies around the target keeps its value.
template <typename Copy>
void ExpectExact(const std::vector<uint8_t>& source, size_t from, size_t to, size_t bytes, const Copy& copy) {
  std::vector<uint8_t> target(kMargin + bytes + kMargin, 0xa5);
  copy(target.data() + to, source.data() + from, bytes);
  std::vector<uint8_t> expected(target.size(), 0xa5);
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
              expected.begin() + static_cast<std::ptrdiff_t>(to));
  ASSERT_TRUE(target == expected) << bytes << " bytes from offset " << from << " to offset " << to;
}

class EveryWay : public testing::TestWithParam<CopyWay> {
 protected:
  void SetUp() override {
    if (!CopyWayRuns(GetParam())) GTEST_SKIP() << "this processor lacks the instructions";
  }
};

TEST_P(EveryWay, MovesExactlyTheBytesAtOddOffsetsAndTails) {
  const std::vector<uint8_t> source = RandomBytes(70'000);
  const auto copy = [](void* to, const void* from, size_t bytes) { CopyBy(GetParam(), to, from, bytes); };
  for (const size_t bytes : {0, 1, 31, 63, 64, 65, 127, 255, 256, 257, 319, 320, 511, 513, 4095, 4097, 65'537}) {
    for (const size_t from : {0, 1, 15, 33, 64}) {
      for (const size_t to : {0, 1, 32, 63, 129}) {
        ASSERT_NO_FATAL_FAILURE(ExpectExact(source, from, to, bytes, copy));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryWay, testing::Values(CopyWay::kLibrary, CopyWay::kAvx2, CopyWay::kAvx512));

TEST(BulkCopy, MovesExactlyTheBytesOnBothSidesOfTheThreshold) {
  const size_t threshold = StreamingCopyBytes() == SIZE_MAX ? size_t{4} << 20 : StreamingCopyBytes();
  const std::vector<uint8_t> source = RandomBytes(threshold + 4096);
  for (const size_t bytes : {size_t{1}, threshold - 1, threshold, threshold + 1, threshold + 333}) {
    ASSERT_NO_FATAL_FAILURE(ExpectExact(source, 3, 17, bytes, BulkCopy));
  }
}

TEST(BulkCopy, TakesOverlappingRangesAsMemmoveDoes) {
  const size_t threshold = StreamingCopyBytes() == SIZE_MAX ? size_t{4} << 20 : StreamingCopyBytes();
  const std::vector<uint8_t> source = RandomBytes(threshold + 4096);
  for (const bool forward : {true, false}) {
    std::vector<uint8_t> moved = source;
    uint8_t* to = moved.data() + (forward ? 100 : 0);
    const uint8_t* from = moved.data() + (forward ? 0 : 100);
    BulkCopy(to, from, threshold + 1);
    EXPECT_TRUE(std::equal(to, to + threshold + 1, source.data() + (forward ? 0 : 100)));
  }
}

TEST(BulkCopy, StreamsOnlyWhereTheProcessorCan) {
  const bool streams = CopyWayRuns(CopyWay::kAvx2) || CopyWayRuns(CopyWay::kAvx512);
  EXPECT_EQ(StreamingCopyBytes() != SIZE_MAX, streams);
  EXPECT_GE(StreamingCopyBytes(), size_t{2} << 20);
  EXPECT_EQ(WayForBytes(StreamingCopyBytes() - 1), CopyWay::kLibrary);
  EXPECT_EQ(WayForBytes(StreamingCopyBytes()) != CopyWay::kLibrary, streams);
}

TEST(BulkCopy, KnowsWhenRangesOverlap) {
  const char bytes[64] = {};
  EXPECT_TRUE(RangesOverlap(bytes, bytes, 1));
  EXPECT_TRUE(RangesOverlap(bytes, bytes + 7, 8));
  EXPECT_TRUE(RangesOverlap(bytes + 7, bytes, 8));
  EXPECT_FALSE(RangesOverlap(bytes, bytes + 8, 8));
  EXPECT_FALSE(RangesOverlap(bytes + 8, bytes, 8));
}

}  // namespace
}  // namespace pypto::base
