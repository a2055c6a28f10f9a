// Streams and events: creation by what the library offers, waiting, state.
#include <gtest/gtest.h>

#include <thread>

#include "acl/fake_library.h"
#include "pypto/acl/event.h"
#include "pypto/acl/stream.h"

namespace pypto::acl {
namespace {

TEST(Stream, IsMadeWithFastFlagsWhereThereAreFlags) {
  const auto table = LoadFake();
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  const auto stream = Stream::Create(*table);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(ControlOf(*table).stream_flags, acl_abi::kStreamFastLaunch | acl_abi::kStreamFastSync);
}

TEST(Stream, IsMadeInAnOlderLibraryToo) {
  const auto table = LoadFake("older.so");
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  auto stream = Stream::Create(*table);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(ControlOf(*table).live.size(), 1U);
  EXPECT_TRUE(SynchronizeStream(*table, *stream).ok());
  // No function with a time limit: said, not ignored.
  EXPECT_EQ(SynchronizeStream(*table, *stream, 10).acl_failure()->failure_class, "not_supported");
}

TEST(Stream, WaitsAndQueries) {
  const auto table = LoadFake();
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  const auto stream = Stream::Create(*table);
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE(*QueryStream(*table, *stream));
  EXPECT_TRUE(SynchronizeStream(*table, *stream, 5).ok());
  ControlOf(*table).busy = true;
  EXPECT_FALSE(*QueryStream(*table, *stream));
  EXPECT_EQ(SynchronizeStream(*table, *stream, 5).code(), base::StatusCode::kTimeout);
  EXPECT_TRUE(AbortStream(*table, *stream).ok());
  EXPECT_TRUE(SynchronizeStream(*table, StreamView()).ok());
}

TEST(Event, RecordsWaitsAndMeasures) {
  const auto table = LoadFake();
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  const auto stream = Stream::Create(*table);
  const auto start = Event::Create(*table);
  const auto end = Event::Create(*table);
  ASSERT_TRUE(stream.ok() && start.ok() && end.ok());
  EXPECT_EQ(ControlOf(*table).event_flags, acl_abi::kEventSync | acl_abi::kEventTimeLine);
  EXPECT_TRUE(RecordEvent(*table, *start, *stream).ok());
  EXPECT_TRUE(WaitForEvent(*table, *stream, *start).ok());
  EXPECT_TRUE(*QueryEvent(*table, *start));
  EXPECT_TRUE(SynchronizeEvent(*table, *end).ok());
  ControlOf(*table).busy = true;
  EXPECT_FALSE(*QueryEvent(*table, *start));
  EXPECT_EQ(SynchronizeEvent(*table, *end, 5).code(), base::StatusCode::kTimeout);
  EXPECT_FLOAT_EQ(*ElapsedMilliseconds(*table, *start, *end), 1.5F);
}

TEST(Event, IsMadeInAnOlderLibraryToo) {
  const auto table = LoadFake("older.so");
  ASSERT_EQ(table->aclrtSetDevice(0), 0);
  EXPECT_TRUE(Event::Create(*table).ok());
  EXPECT_EQ(ControlOf(*table).event_flags, 0U);
}

TEST(StreamAndEvent, CreationNeedsAContext) {
  const auto table = LoadFake();
  std::thread([&] {
    const auto stream = Stream::Create(*table);
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(stream.status().acl_failure()->code, acl_abi::kErrorRtContextNull);
    EXPECT_FALSE(Event::Create(*table).ok());
  }).join();
}

}  // namespace
}  // namespace pypto::acl
