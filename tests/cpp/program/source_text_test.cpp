// Places of kernels in words.
#include "pypto/program/source_text.h"

#include <gtest/gtest.h>

namespace pypto::program {
namespace {

constexpr SourcePlace kMultiply{0, 2, 11};
constexpr SourcePlace kHelper{1, 3, 12};

DebugInfo Sample() {
  DebugInfo debug;
  debug.files = {{"k.py", "def k(x, y):\n    y[:] = twice(x)\n", "", 0},
                 {"lib.py:twice#2", "  def twice(x):\r\n    # doubled\r\n    return x * 2  \r\n", "", 0}};
  return debug;
}

TEST(SourceText, LinesCountFromTheDef) {
  const DebugInfo debug = Sample();
  EXPECT_EQ(LineOf(debug.files[0], 1), "def k(x, y):");
  EXPECT_EQ(LineOf(debug.files[0], 2), "    y[:] = twice(x)");
  EXPECT_EQ(LineOf(debug.files[1], 3), "    return x * 2");
  for (const int32_t line : {-1, 0, 4, 1000}) EXPECT_EQ(LineOf(debug.files[1], line), "") << line;
  EXPECT_EQ(LineOf({}, 1), "");
}

TEST(SourceText, PointsAtTheFileThatThisProcessHas) {
  DebugInfo debug = Sample();
  debug.files[0].path = "/home/a/k.py";
  debug.files[0].def_line = 30;
  debug.files[1].path = "/home/a/lib.py";
  debug.files[1].def_line = 7;
  EXPECT_EQ(PointAt(debug, kMultiply),
            "\n  File \"/home/a/k.py\", line 31, column 11\n    y[:] = twice(x)\n          ^");
  EXPECT_EQ(PointAt(debug, kHelper),
            "\n  File \"/home/a/lib.py\", line 9, column 12, in twice\n    return x * 2\n           ^");
  EXPECT_EQ(LocationOf(debug, kHelper).file, "/home/a/lib.py");
  EXPECT_EQ(LocationOf(debug, kHelper).line, 9);
}

TEST(SourceText, ColumnsCountCharacters) {
  DebugInfo debug;
  debug.files = {{"k.py", "def k(x, y):\n    é = 'äö'; y[:] = x\n", "", 0}};
  EXPECT_EQ(PointAt(debug, {0, 2, 18}),
            "\n  File \"k.py\", line 2, column 15, counted from its def\n    é = 'äö'; y[:] = x\n              ^");
}

TEST(SourceText, WithoutThatFileItSaysWhereLinesCountFrom) {
  const DebugInfo debug = Sample();
  EXPECT_EQ(PointAt(debug, kHelper),
            "\n  File \"lib.py:twice#2\", line 3, column 12, counted from its def\n    return x * 2\n           ^");
  EXPECT_EQ(LocationOf(debug, kHelper).line, 3);
}

TEST(SourceText, ColumnsAndTextsThatAreUnknownAreLeftOut) {
  const DebugInfo debug = Sample();
  EXPECT_EQ(PointAt(debug, {0, 2, 0}), "\n  File \"k.py\", line 2, counted from its def\n    y[:] = twice(x)");
  EXPECT_EQ(PointAt(debug, {0, 2, 99}),
            "\n  File \"k.py\", line 2, column 99, counted from its def\n    y[:] = twice(x)");
  EXPECT_EQ(PointAt(debug, {0, 2, 3}),
            "\n  File \"k.py\", line 2, column 3, counted from its def\n    y[:] = twice(x)");
  EXPECT_EQ(PointAt(debug, {0, 50, 3}), "\n  File \"k.py\", line 50, column 3, counted from its def");
  EXPECT_EQ(PointAt(debug, {0, 0, 3}), "");
  EXPECT_EQ(PointAt(debug, {2, 1, 3}), "");
  EXPECT_EQ(LocationOf(debug, {2, 1, 3}).line, 0);
}

}  // namespace
}  // namespace pypto::program
