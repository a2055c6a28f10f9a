// Numbers and names of the functions.
#include "pypto/acl/call_ids.h"

#include <gtest/gtest.h>

#include "pypto/acl/table.h"

namespace pypto::acl {
namespace {

TEST(CallIds, NamesAndNumbersAgree) {
  EXPECT_EQ(CallName(CallId::aclrtMalloc), "aclrtMalloc");
  EXPECT_EQ(FindCall("aclrtFree"), CallId::aclrtFree);
  EXPECT_FALSE(FindCall("aclrtNothing").has_value());
  for (size_t i = 0; i < kCallCount; ++i) EXPECT_EQ(FindCall(CallName(static_cast<CallId>(i))), static_cast<CallId>(i));
}

TEST(CallIds, ErrorTextComesFirst) { EXPECT_EQ(Slots()[0].id, CallId::aclGetRecentErrMsg); }

}  // namespace
}  // namespace pypto::acl
