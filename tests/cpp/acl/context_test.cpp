// Contexts and the scope that puts the former one back.
#include "pypto/acl/context.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "acl/fake_library.h"
#include "pypto/acl/layers/fault_injection.h"

namespace pypto::acl {
namespace {

class ContextTest : public testing::Test {
 protected:
  ContextTest() : table_(LoadFake("complete.so", "fault")) {
    EXPECT_EQ(table_->aclrtSetDevice(0), 0);
    primary_ = *CurrentContext(*table_);
  }
  FaultInjectionLayer& faults() { return *table_->FindLayer<FaultInjectionLayer>(); }

  std::unique_ptr<Table> table_;
  ContextView primary_;
};

TEST_F(ContextTest, CreatingOneLeavesTheCurrentOneCurrent) {
  auto context = Context::Create(*table_, 0);
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(*CurrentContext(*table_), primary_);
  EXPECT_TRUE(context->Close().ok());
  EXPECT_TRUE(ControlOf(*table_).live.empty());
}

TEST_F(ContextTest, TheScopePutsTheFormerOneBack) {
  const auto context = Context::Create(*table_, 0);
  ASSERT_TRUE(context.ok());
  {
    const ContextScope scope(*table_, *context);
    ASSERT_TRUE(scope.status().ok());
    EXPECT_EQ(*CurrentContext(*table_), context->view());
    {
      const ContextScope same(*table_, *context);
      EXPECT_TRUE(same.status().ok());
    }
    EXPECT_EQ(*CurrentContext(*table_), context->view());
  }
  EXPECT_EQ(*CurrentContext(*table_), primary_);
}

TEST_F(ContextTest, OneOfOurOwnIsNotPutBack) {
  auto first = Context::Create(*table_, 0);
  auto second = Context::Create(*table_, 0);
  ASSERT_TRUE(first.ok() && second.ok());
  RememberOwnContext(*table_, *first);
  ASSERT_EQ(table_->aclrtSetCurrentContext(first->raw()), 0);
  {
    const ContextScope scope(*table_, *second, ContextScope::Back::kAlways);
    EXPECT_EQ(*CurrentContext(*table_), second->view());
  }
  EXPECT_EQ(*CurrentContext(*table_), first->view());
  {
    const ContextScope scope(*table_, *second);
  }
  EXPECT_EQ(*CurrentContext(*table_), second->view());
  {
    const ContextScope scope(*table_, *first);
  }
  EXPECT_EQ(*CurrentContext(*table_), second->view()) << "the second was not remembered";
  EXPECT_EQ(AnyOwnContext(*table_), first->view());
  ForgetOwnContext(*table_, *first);
  EXPECT_FALSE(AnyOwnContext(*table_));
  ASSERT_EQ(table_->aclrtSetCurrentContext(first->raw()), 0);
  {
    const ContextScope scope(*table_, *second);
  }
  EXPECT_EQ(*CurrentContext(*table_), first->view());
  ASSERT_EQ(table_->aclrtSetCurrentContext(primary_.raw()), 0);
}

TEST_F(ContextTest, MoreContextsThanAreRememberedArePutBack) {
  const auto context = Context::Create(*table_, 0);
  ASSERT_TRUE(context.ok());
  std::vector<char> names(200);
  for (char& name : names) RememberOwnContext(*table_, ContextView(&name));
  RememberOwnContext(*table_, primary_);
  {
    const ContextScope scope(*table_, *context);
  }
  EXPECT_EQ(*CurrentContext(*table_), primary_);
  for (char& name : names) ForgetOwnContext(*table_, ContextView(&name));
  ForgetOwnContext(*table_, primary_);
}

TEST_F(ContextTest, AThreadWithoutContextKeepsTheNewOne) {
  std::thread([this] {
    EXPECT_FALSE(*CurrentContext(*table_));
    {
      const ContextScope scope(*table_, primary_);
    }
    EXPECT_EQ(*CurrentContext(*table_), primary_);
  }).join();
}

TEST_F(ContextTest, FailuresOfTheScopeAreAskedFor) {
  const auto context = Context::Create(*table_, 0);
  ASSERT_TRUE(context.ok());
  faults().Fail(CallId::aclrtSetCurrentContext, 0, acl_abi::kErrorRtStreamContext);
  {
    const ContextScope scope(*table_, *context);
    EXPECT_FALSE(scope.status().ok());
  }
  EXPECT_EQ(*CurrentContext(*table_), primary_);
  faults().Fail(CallId::aclrtGetCurrentContext, 0, acl_abi::kErrorRtInternal);
  const ContextScope scope(*table_, *context);
  EXPECT_EQ(scope.status().acl_failure()->code, acl_abi::kErrorRtInternal);
}

TEST_F(ContextTest, PuttingBackIsTriedTwice) {
  const auto context = Context::Create(*table_, 0);
  ASSERT_TRUE(context.ok());
  {
    const ContextScope scope(*table_, *context);
    faults().Fail(CallId::aclrtSetCurrentContext, 0, acl_abi::kErrorRtInternal);
  }
  EXPECT_EQ(*CurrentContext(*table_), primary_);
}

TEST_F(ContextTest, AFormerOneThatIsGoneIsNotMissed) {
  faults().Fail(CallId::aclrtSetCurrentContext, 0, acl_abi::kErrorRtInvalidHandle);
  auto context = Context::Create(*table_, 0);
  EXPECT_EQ(faults().fired(), 1U);
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  EXPECT_EQ(*CurrentContext(*table_), context->view());
  EXPECT_EQ(table_->aclrtSetCurrentContext(primary_.raw()), 0);
  EXPECT_TRUE(context->Close().ok());
}

TEST_F(ContextTest, AFailedCreateLeavesNothing) {
  for (uint64_t n = 0;; ++n) {
    faults().Clear();
    faults().FailAny(n, acl_abi::kErrorRtInternal);
    {
      const auto context = Context::Create(*table_, 0);
      if (faults().fired() == 0) {
        EXPECT_TRUE(context.ok());
        EXPECT_GE(n, 3U);
        break;
      }
      EXPECT_FALSE(context.ok());
    }
    EXPECT_TRUE(ControlOf(*table_).live.empty()) << "call " << n;
    faults().Clear();
    EXPECT_EQ(table_->aclrtSetCurrentContext(primary_.raw()), 0);
  }
  faults().Clear();
}

}  // namespace
}  // namespace pypto::acl
