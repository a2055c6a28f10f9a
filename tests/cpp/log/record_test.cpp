// FormattedRecord: layout, length limit, cutting, control characters.
#include "pypto/log/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>

namespace pypto::log {
namespace {

std::string Line(const RecordPlace& place, std::string_view text) {
  FormattedRecord record;
  record.FormatText(place, text);
  return std::string(record.line());
}

[[gnu::format(printf, 2, 3)]] std::string Print(const RecordPlace& place, const char* format, ...) {
  FormattedRecord record;
  va_list args;
  va_start(args, format);
  record.Format(place, format, args);
  va_end(args);
  return std::string(record.line());
}

const RecordPlace kPlace = {"PYPTO", Level::kInfo, "pool.cc", 88};

TEST(Record, LayoutWithPlace) {
  const std::string process = "\\(" + std::to_string(getpid()) + "," + program_invocation_short_name + "\\)";
  EXPECT_THAT(Print(kPlace, "wanted %d of %s", 4096, "x"),
              testing::MatchesRegex("\\[INFO\\] PYPTO" + process +
                                    ":[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}\\.[0-9]{3} "
                                    "\\[pool\\.cc:88\\]wanted 4096 of x\n"));
}

TEST(Record, LayoutWithoutPlace) {
  EXPECT_THAT(Line({"APP", Level::kWarning, nullptr, 0}, "Step:loop.cpp:140: \"full\""),
              testing::MatchesRegex("\\[WARNING\\] APP\\([0-9]+,[^)]+\\):[-0-9:.]+ Step:loop\\.cpp:140: \"full\"\n"));
}

TEST(Record, LevelNames) {
  EXPECT_THAT(Line({"PYPTO", Level::kDebug, "a", 1}, ""), testing::StartsWith("[DEBUG] "));
  EXPECT_THAT(Line({"PYPTO", Level::kWarning, "a", 1}, ""), testing::StartsWith("[WARNING] "));
  EXPECT_THAT(Line({"PYPTO", Level::kError, "a", 1}, ""), testing::StartsWith("[ERROR] "));
}

TEST(Record, TextIsWhatWasSaid) {
  FormattedRecord record;
  record.FormatText(kPlace, "hello");
  EXPECT_EQ(record.text(), "hello");
  record.FormatText(kPlace, "");
  EXPECT_EQ(record.text(), "");
}

TEST(Record, AtMost1024BytesWithTheNewline) {
  const size_t prefix = Line(kPlace, "").size() - 1;
  const size_t room = kMaxRecordBytes - 1 - prefix;
  for (const size_t length : {room - 1, room, room + 1, room + 100, size_t{100'000}}) {
    const std::string text(length, 'x');
    for (const std::string& line : {Line(kPlace, text), Print(kPlace, "%s", text.c_str())}) {
      EXPECT_EQ(line.size(), prefix + std::min(length, room) + 1) << length;
      EXPECT_EQ(line.back(), '\n');
      EXPECT_EQ(line.find('\n'), line.size() - 1);
    }
  }
}

TEST(Record, TheCutFallsBetweenCharacters) {
  const size_t room = kMaxRecordBytes - Line(kPlace, "").size();
  for (const std::string character : {"\u00e9", "\u2026", "\U0001F600"}) {
    for (size_t lead = 0; lead < 4; ++lead) {
      std::string text(lead, 'x');
      while (text.size() <= room) text += character;
      const std::string line = Line(kPlace, text);
      const size_t kept = line.size() - 1 - (kMaxRecordBytes - 1 - room);
      EXPECT_EQ((kept - lead) % character.size(), 0U);
      EXPECT_GT(kept + character.size(), room);
    }
  }
}

TEST(Record, Utf8PrefixKeepsWholeAndInvalidBytes) {
  EXPECT_EQ(WholeUtf8Prefix("abc", 3), 3U);
  EXPECT_EQ(WholeUtf8Prefix("", 0), 0U);
  EXPECT_EQ(WholeUtf8Prefix("a\xC3\xA9", 3), 3U);
  EXPECT_EQ(WholeUtf8Prefix("a\xC3", 2), 1U);
  EXPECT_EQ(WholeUtf8Prefix("a\xE2\x80", 3), 1U);
  EXPECT_EQ(WholeUtf8Prefix("\x80\x80\x80\x80\x80", 5), 5U);
}

TEST(Record, ControlCharactersBecomeSpaces) {
  EXPECT_THAT(Print(kPlace, "a\nb\rc\td%ce\x7F", 0), testing::EndsWith("]a b c d e \n"));
}

TEST(Record, AnEndlessFileNameIsCut) {
  const std::string name(5000, 'f');
  const std::string line = Line({"PYPTO", Level::kInfo, name.c_str(), 1}, "text");
  EXPECT_EQ(line.size(), kMaxRecordBytes);
  EXPECT_EQ(line.back(), '\n');
}

TEST(LocalTime, AgreesWithTheCLibrary) {
  for (int64_t seconds = 86'400; seconds < 4'000'000'000; seconds += 12'345'678) {
    const time_t time = seconds;
    tm expected{};
    localtime_r(&time, &expected);
    const LocalTime local = ToLocalTime(seconds * 1'000'000 + 42'917);
    EXPECT_EQ(OffsetFromUtc(seconds), expected.tm_gmtoff);
    EXPECT_EQ(local.year, expected.tm_year + 1900);
    EXPECT_EQ(local.month, expected.tm_mon + 1);
    EXPECT_EQ(local.day, expected.tm_mday);
    EXPECT_EQ(local.hour, expected.tm_hour);
    EXPECT_EQ(local.minute, expected.tm_min);
    EXPECT_EQ(local.second, expected.tm_sec);
    EXPECT_EQ(local.millisecond, 42);
    EXPECT_EQ(local.microsecond, 917);
  }
}

TEST(Level, BaseNameIsThePartBehindTheLastSlash) {
  EXPECT_STREQ(BaseName("a/b/c.cpp"), "c.cpp");
  EXPECT_STREQ(BaseName("c.cpp"), "c.cpp");
  EXPECT_STREQ(BaseName("a/"), "");
}

}  // namespace
}  // namespace pypto::log
