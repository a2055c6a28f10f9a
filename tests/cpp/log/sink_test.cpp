// Sinks: levels, order, batches, removal, recursion, exceptions.
#include "pypto/log/sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pypto/log/sink_list.h"

namespace pypto::log {
namespace {

RecordView View(Level level, std::string_view text) { return {level, "PYPTO", "a.cc", 1, text, text}; }

std::shared_ptr<Sink> Collect(std::vector<std::string>* texts, Level lowest) {
  return MakeCallbackSink([texts](const RecordView& record) { texts->emplace_back(record.text); }, lowest);
}

void Send(SinkList& list, Level level, std::string_view text) {
  const RecordView record = View(level, text);
  list.Dispatch({&record, 1});
}

TEST(SinkList, ASinkGetsRecordsFromItsLevelUpwards) {
  SinkList list;
  std::vector<std::string> all;
  std::vector<std::string> bad;
  list.Add(Collect(&all, Level::kDebug));
  list.Add(Collect(&bad, Level::kWarning));
  Send(list, Level::kInfo, "i");
  Send(list, Level::kWarning, "w");
  Send(list, Level::kError, "e");
  EXPECT_THAT(all, testing::ElementsAre("i", "w", "e"));
  EXPECT_THAT(bad, testing::ElementsAre("w", "e"));
}

TEST(SinkList, ABatchArrivesInOrder) {
  SinkList list;
  std::vector<std::string> texts;
  list.Add(Collect(&texts, Level::kInfo));
  const std::vector<RecordView> records = {View(Level::kInfo, "1"), View(Level::kDebug, "2"), View(Level::kError, "3")};
  list.Dispatch(records);
  EXPECT_THAT(texts, testing::ElementsAre("1", "3"));
}

TEST(SinkList, RemovedSinksGetNothing) {
  SinkList list;
  std::vector<std::string> texts;
  const uint64_t id = list.Add(Collect(&texts, Level::kDebug));
  EXPECT_FALSE(list.empty());
  EXPECT_TRUE(list.Remove(id));
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.Remove(id));
  EXPECT_FALSE(list.Remove(12345));
  Send(list, Level::kError, "e");
  EXPECT_TRUE(texts.empty());
}

TEST(SinkList, NullIsNotAdded) {
  SinkList list;
  EXPECT_EQ(list.Add(nullptr), 0U);
  EXPECT_TRUE(list.empty());
}

TEST(SinkList, ARecordMadeInsideASinkReachesNoSink) {
  SinkList list;
  int calls = 0;
  list.Add(MakeCallbackSink(
      [&](const RecordView&) {
        ++calls;
        Send(list, Level::kError, "again");
      },
      Level::kDebug));
  Send(list, Level::kError, "once");
  EXPECT_EQ(calls, 1);
  Send(list, Level::kError, "twice");
  EXPECT_EQ(calls, 2);
}

TEST(SinkList, ASinkMayRemoveItself) {
  SinkList list;
  uint64_t id = 0;
  int calls = 0;
  id = list.Add(MakeCallbackSink(
      [&](const RecordView&) {
        ++calls;
        EXPECT_TRUE(list.Remove(id));
      },
      Level::kDebug));
  Send(list, Level::kError, "a");
  Send(list, Level::kError, "b");
  EXPECT_EQ(calls, 1);
}

TEST(SinkList, RemovalWaitsForTheCallUnderWay) {
  SinkList list;
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::atomic<bool> left{false};
  const uint64_t id = list.Add(MakeCallbackSink(
      [&](const RecordView&) {
        inside = true;
        inside.notify_all();
        leave.wait(false);
        left = true;
      },
      Level::kDebug));
  std::thread writer([&] { Send(list, Level::kError, "slow"); });
  inside.wait(false);
  std::atomic<bool> left_when_removed{false};
  std::thread remover([&] {
    EXPECT_TRUE(list.Remove(id));
    left_when_removed = left.load();
  });
  while (!list.empty()) std::this_thread::yield();  // the remover is past the list and waits for the call
  leave = true;
  leave.notify_all();
  remover.join();
  writer.join();
  EXPECT_TRUE(left_when_removed.load());
}

TEST(SinkList, AThrowingCallbackLosesItsRecordOnly) {
  SinkList list;
  std::vector<std::string> texts;
  list.Add(MakeCallbackSink([](const RecordView&) { throw std::runtime_error("no"); }, Level::kDebug));
  list.Add(Collect(&texts, Level::kDebug));
  Send(list, Level::kError, "e");
  EXPECT_THAT(texts, testing::ElementsAre("e"));
}

TEST(StderrSink, WritesTheWholeRecord) {
  testing::internal::CaptureStderr();
  MakeStderrSink(Level::kInfo)->Write({Level::kError, "PYPTO", "a.cc", 1, "text", "[ERROR] whole text\n"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[ERROR] whole text\n");
}

TEST(SinkList, AddingAndRemovingWhileOthersWrite) {
  SinkList list;
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      while (!stop.load()) Send(list, Level::kError, "e");
    });
  }
  for (int i = 0; i < 300; ++i) {
    auto alive = std::make_shared<std::atomic<bool>>(true);
    const uint64_t id = list.Add(MakeCallbackSink(
        [&calls, alive](const RecordView&) {
          EXPECT_TRUE(alive->load());
          ++calls;
        },
        Level::kDebug));
    EXPECT_TRUE(list.Remove(id));
    *alive = false;  // no call may see this
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace pypto::log
