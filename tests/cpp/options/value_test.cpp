// Texts of values, and the way back to what a setter takes.
#include "pypto/options/value.h"

#include "options/options_test_support.h"

namespace pypto::options {
namespace {

TEST(ValueText, EveryKind) {
  EXPECT_EQ(ValueText(Value()), "unset");
  EXPECT_EQ(ValueText(Value(int64_t{-1})), "-1");
  EXPECT_EQ(ValueText(Value(true)), "true");
  EXPECT_EQ(ValueText(Value(std::string("a\"b\\"))), "\"a\\\"b\\\\\"");
  EXPECT_EQ(ValueText(Value(Ints{1, 2})), "[1, 2]");
  EXPECT_EQ(ValueText(Value(Ints{})), "[]");
  EXPECT_EQ(ValueText(Value(Strings{"a", "b"})), "[\"a\", \"b\"]");
  EXPECT_EQ(ValueText(Value(std::vector<double>{1e-3, 2.0})), "[0.001, 2.0]");
  EXPECT_EQ(ValueText(Value(Dict{{int64_t{-1}, {1, ""}}, {int64_t{3}, {2, "left"}}})), "{-1: 1, 3: [2, \"left\"]}");
  EXPECT_EQ(ValueText(Value(Dict{{std::string("func0_1"), {4, ""}}})), "{\"func0_1\": 4}");
  EXPECT_EQ(ValueText(Value(CubeTile{{16, 16}, {256, 512, 512}, {128, 128}, false})),
            "[[16, 16], [256, 512, 512], [128, 128], false]");
}

TEST(RawValue, FlagsAndNumbersStayApart) {
  EXPECT_EQ(RawText(RawValue(true)), "true");
  EXPECT_EQ(RawText(RawValue(1)), "1");
  EXPECT_EQ(RawText(RawValue("1")), "\"1\"");
  EXPECT_EQ(RawText(RawValue()), "None");
  EXPECT_EQ(RawText(RawValue(2.0)), "2.0");
  EXPECT_FALSE(RawValue(true) == RawValue(1));
}

}  // namespace
}  // namespace pypto::options
