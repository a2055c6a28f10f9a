// Owners and views.
#include "pypto/acl/handle.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

#include "acl/fake_library.h"
#include "pypto/acl/event.h"
#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/stream.h"
#include "pypto/base/process.h"

namespace pypto::acl {
namespace {

static_assert(!std::is_constructible_v<StreamView, std::nullptr_t>);
static_assert(!std::is_constructible_v<StreamView, int>);
static_assert(!std::is_constructible_v<Stream, const Table&, std::nullptr_t>);
static_assert(!std::is_convertible_v<StreamView, EventView>);
static_assert(!std::is_copy_constructible_v<Stream> && std::is_nothrow_move_constructible_v<Stream>);
static_assert(std::is_trivially_copyable_v<StreamView> && sizeof(StreamView) == sizeof(void*));

class Handle : public testing::Test {
 protected:
  Handle() : table_(LoadFake("complete.so", "fault")), control_(ControlOf(*table_)) {
    EXPECT_EQ(table_->aclrtSetDevice(0), 0);
  }
  FaultInjectionLayer& faults() { return *table_->FindLayer<FaultInjectionLayer>(); }

  std::unique_ptr<Table> table_;
  fake_acl::Control& control_;
};

TEST_F(Handle, GoesWithItsOwner) {
  {
    auto stream = Stream::Create(*table_);
    ASSERT_TRUE(stream.ok());
    EXPECT_TRUE(stream->is_open());
    EXPECT_EQ(control_.live.size(), 1U);
  }
  EXPECT_TRUE(control_.live.empty());
}

TEST_F(Handle, MovesWithoutBeingDestroyed) {
  auto first = Stream::Create(*table_);
  ASSERT_TRUE(first.ok());
  void* raw = first->raw();
  Stream second = *std::move(first);
  EXPECT_EQ(second.raw(), raw);
  EXPECT_FALSE(first->is_open());  // NOLINT(bugprone-use-after-move): what a moved-from owner holds
  auto third = Stream::Create(*table_);
  ASSERT_TRUE(third.ok());
  second = *std::move(third);
  EXPECT_NE(second.raw(), raw);
  EXPECT_TRUE(second.Close().ok());
}

TEST_F(Handle, CloseIsIdempotent) {
  auto stream = Stream::Create(*table_);
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE(stream->Close().ok());
  EXPECT_FALSE(stream->is_open());
  EXPECT_TRUE(stream->Close().ok());
  EXPECT_TRUE(Stream().Close().ok());
}

TEST_F(Handle, AFailedCloseKeepsTheHandleForTheDestructor) {
  {
    auto stream = Stream::Create(*table_);
    ASSERT_TRUE(stream.ok());
    faults().Fail(CallId::aclrtDestroyStream, 0, acl_abi::kErrorRtStreamContext);
    const base::Status status = stream->Close();
    EXPECT_EQ(status.acl_failure()->code, acl_abi::kErrorRtStreamContext);
    EXPECT_TRUE(stream->is_open());
  }
  EXPECT_TRUE(control_.live.empty());
}

TEST_F(Handle, TheDestructorTriesTwice) {
  {
    auto stream = Stream::Create(*table_);
    ASSERT_TRUE(stream.ok());
    faults().Fail(CallId::aclrtDestroyStream, 0, acl_abi::kErrorRtInternal);
  }
  EXPECT_EQ(faults().fired(), 1U);
  EXPECT_TRUE(control_.live.empty());
}

TEST_F(Handle, ADestructorThatCannotDestroyDoesNotLoopOrCrash) {
  {
    auto stream = Stream::Create(*table_);
    ASSERT_TRUE(stream.ok());
    control_.destroy_code = acl_abi::kErrorRtLostHeartbeat;
  }
  ASSERT_EQ(control_.live.size(), 1U);
  std::free(control_.live.begin()->first);  // as the library allocated it
  control_ = fake_acl::Control();
}

TEST_F(Handle, ReleaseGivesTheHandleAway) {
  void* raw = nullptr;
  {
    auto stream = Stream::Create(*table_);
    ASSERT_TRUE(stream.ok());
    raw = stream->Release();
  }
  EXPECT_EQ(control_.live.count(raw), 1U);
  EXPECT_TRUE(DestroyHandle(*table_, HandleKind::kStream, raw).ok());
}

TEST_F(Handle, FunctionsCannotBeDestroyed) {
  int marker = 0;
  EXPECT_EQ(DestroyHandle(*table_, HandleKind::kFunction, &marker).code(), base::StatusCode::kInternal);
}

TEST_F(Handle, EveryKindHasAName) {
  EXPECT_EQ(HandleKindName(HandleKind::kDeviceMemory), "device memory");
  EXPECT_EQ(HandleKindName(HandleKind::kFunction), "function");
}

// Runs in a fresh process: the flag cannot be taken back.
TEST(HandleDeathTest, DestructorsCallNothingWhileTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto table = LoadFake();
        static_cast<void>(table->aclrtSetDevice(0));
        {
          auto stream = Stream::Create(*table);
          base::MarkProcessExiting();
        }
        _exit(ControlOf(*table).live.size() == 1 ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace pypto::acl
