// Codes as status: class, code, text.
#include "pypto/acl/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acl/fake_library.h"

namespace pypto::acl {
namespace {

using testing::HasSubstr;

TEST(Errors, ClassesOfTheKnownCodes) {
  const std::pair<FailureClass, std::vector<aclError>> expected[] = {
      {FailureClass::kNone, {0}},
      {FailureClass::kUsage, {100000, 100002, 107000, 107002, 107017, 107042, 148046}},
      {FailureClass::kNotSupported, {200001, 200006, 207000}},
      {FailureClass::kOutOfMemory, {200000, 207001, 207018}},
      {FailureClass::kLimit, {207005, 207007, 207008, 207010}},
      {FailureClass::kTimeout, {107019, 107020, 207020, 507014, 507017, 507034, 507046, 507047, 507048}},
      {FailureClass::kKernelFault, {507015, 507016, 507018, 507035, 507036, 507042, 507045, 507049, 507050}},
      {FailureClass::kDeviceLost, {507001, 507010, 507013, 507033, 507053, 507057, 507899, 507901}},
      {FailureClass::kCancelled, {107022, 107023, 107035, 507023}},
      {FailureClass::kCapture, {107024, 107031, 107041, 107046, 507903}},
      {FailureClass::kInternal, {500000, 507000, 507900, 42}},
  };
  for (const auto& [failure_class, codes] : expected) {
    for (const aclError code : codes) {
      EXPECT_EQ(FailureClassName(ClassifyError(code)), FailureClassName(failure_class)) << code;
    }
  }
}

TEST(Errors, WhichCodesBreakAContext) {
  for (const aclError code : {507015, 507014, 507034, 507010, 507899, 107020}) EXPECT_TRUE(BreaksContext(code)) << code;
  for (const aclError code : {0, 507046, 507047, 207001, 107000, 107023}) EXPECT_FALSE(BreaksContext(code)) << code;
}

TEST(Errors, DescriptionsAreSortedAndFound) {
  EXPECT_EQ(DescribeError(100000).name, "ACL_ERROR_INVALID_PARAM");
  EXPECT_EQ(DescribeError(507911).advice, "the host memory is not registered");
  EXPECT_EQ(DescribeError(507010).name, "ACL_ERROR_RT_LOST_HEARTBEAT");
  EXPECT_EQ(DescribeError(123).name, "");
  aclError last = 0;
#define PYPTO_ACL_ERROR(number, vendor_name, what_to_do) \
  EXPECT_LT(last, number);                               \
  EXPECT_EQ(DescribeError(number).name, vendor_name);    \
  EXPECT_FALSE(DescribeError(number).advice.empty());    \
  last = number;
#include "pypto/acl/error_table.inc"
}

TEST(Errors, SuccessIsOkAndTakesNoMessage) {
  const auto table = LoadFake();
  ControlOf(*table).message = "left alone";
  EXPECT_TRUE(ToStatus(*table, 0, CallId::aclrtMalloc).ok());
  EXPECT_EQ(ControlOf(*table).message, "left alone");
}

TEST(Errors, AStatusHasEverythingTheLibrarySaid) {
  const auto table = LoadFake();
  ControlOf(*table).message = "EZ9999: vector core\nexception \n";
  const base::Status status = ToStatus(*table, 507035, CallId::aclrtSynchronizeStream);
  EXPECT_EQ(status.code(), base::StatusCode::kAcl);
  ASSERT_NE(status.acl_failure(), nullptr);
  EXPECT_EQ(status.acl_failure()->code, 507035);
  EXPECT_EQ(status.acl_failure()->call, "aclrtSynchronizeStream");
  EXPECT_EQ(status.acl_failure()->text, "EZ9999: vector core exception");
  EXPECT_EQ(status.acl_failure()->failure_class, "kernel_fault");
  EXPECT_THAT(status.ToString(), HasSubstr("aclrtSynchronizeStream failed with code 507035 "
                                           "(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, kernel_fault): EZ9999"));
  EXPECT_THAT(status.ToString(), HasSubstr("close the worker"));
}

TEST(Errors, StatusCodesByKind) {
  const auto table = LoadFake();
  EXPECT_EQ(ToStatus(*table, 207001, CallId::aclrtMalloc).code(), base::StatusCode::kOutOfDeviceMemory);
  EXPECT_EQ(ToStatus(*table, 207018, CallId::aclrtMalloc).code(), base::StatusCode::kOutOfDeviceMemory);
  EXPECT_EQ(ToStatus(*table, 200000, CallId::aclrtMalloc).code(), base::StatusCode::kAcl);
  EXPECT_EQ(ToStatus(*table, 507046, CallId::aclrtSynchronizeStream).code(), base::StatusCode::kTimeout);
  EXPECT_EQ(ToStatus(*table, 77, CallId::aclrtMalloc).acl_failure()->text, "");
}

}  // namespace
}  // namespace pypto::acl
