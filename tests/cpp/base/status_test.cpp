// Status: contexts, later errors, details, and values through Result.
#include "pypto/base/status.h"

#include <gtest/gtest.h>

namespace pypto::base {
namespace {

TEST(Status, ContextsReadFromTheOutside) {
  Status status = MakeStatus(StatusCode::kInvalidArgument, "size %d is not positive", -3);
  status = std::move(status).WithContext("while allocating").WithContext("while registering 'x'");
  EXPECT_EQ(status.ToString(), "while registering 'x': while allocating: size -3 is not positive");
  EXPECT_EQ(status.message(), "size -3 is not positive");
}

TEST(Status, TheFirstErrorIsKeptAndLaterOnesAreAttached) {
  Status status = Status(StatusCode::kAcl, "copy failed");
  status.Attach(Status(StatusCode::kInternal, "free failed"));
  EXPECT_EQ(status.code(), StatusCode::kAcl);
  EXPECT_EQ(status.ToString(), "copy failed; then free failed");
  Status fine;
  fine.Attach(status);
  EXPECT_EQ(fine.code(), StatusCode::kAcl);
}

TEST(Status, DetailsSurviveCopies) {
  Status status = Status(StatusCode::kOutOfDeviceMemory, "no room")
                      .WithAclFailure({207001, "aclrtMalloc", "EE1011", "out_of_memory"})
                      .WithMemoryShortage({100, 10, 50, "w"});
  const Status copy = status;
  ASSERT_NE(copy.acl_failure(), nullptr);
  EXPECT_EQ(copy.acl_failure()->code, 207001);
  EXPECT_EQ(copy.memory_shortage()->asked, 100U);
}

Result<int> Half(int value) {
  if (value % 2 != 0) return MakeStatus(StatusCode::kInvalidArgument, "%d is odd", value);
  return value / 2;
}

Result<int> Quarter(int value) {
  PYPTO_ASSIGN_OR_RETURN(const int half, Half(value));
  PYPTO_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(Result, ValueOrStatus) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
}

}  // namespace
}  // namespace pypto::base
