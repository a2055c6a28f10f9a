// Checked size arithmetic at and around the limits of its types.
#include "pypto/base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace pypto::base {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, AddSaysWhenItOverflows) {
  EXPECT_EQ(CheckedAdd<uint64_t>(kMax - 1, 1), kMax);
  EXPECT_FALSE(CheckedAdd<uint64_t>(kMax, 1));
  EXPECT_FALSE(CheckedAdd<int64_t>(std::numeric_limits<int64_t>::max(), 1));
}

TEST(Checked, MultiplySaysWhenItOverflows) {
  EXPECT_EQ(CheckedMul<uint64_t>(uint64_t{1} << 32, (uint64_t{1} << 32) - 1),
            (uint64_t{1} << 32) * ((uint64_t{1} << 32) - 1));
  EXPECT_FALSE(CheckedMul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32));
}

TEST(Checked, AlignUpRoundsAndSaysWhenItOverflows) {
  EXPECT_EQ(CheckedAlignUp<uint64_t>(0, 512), 0U);
  EXPECT_EQ(CheckedAlignUp<uint64_t>(1, 512), 512U);
  EXPECT_EQ(CheckedAlignUp<uint64_t>(512, 512), 512U);
  EXPECT_FALSE(CheckedAlignUp<uint64_t>(kMax - 510, 512));
}

}  // namespace
}  // namespace pypto::base
