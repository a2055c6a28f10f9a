// Opening and closing a device, and the walk through every failing call on the way.
#include "pypto/acl/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acl/fake_library.h"
#include "pypto/acl/binary.h"
#include "pypto/acl/layers/fault_injection.h"
#include "pypto/acl/layers/validation.h"
#include "pypto/acl/memory.h"
#include "pypto/acl/stream.h"

namespace pypto::acl {
namespace {

using testing::HasSubstr;

class DeviceTest : public testing::Test {
 protected:
  // Leaves the raw pointers of the layers and the library behind for the test.
  Session OpenSession() {
    auto table = LoadFake("complete.so", "validation,fault");
    control_ = &ControlOf(*table);
    faults_ = table->FindLayer<FaultInjectionLayer>();
    static_cast<void>(TakeLeakReports());
    auto session = Session::Adopt(std::move(table));
    EXPECT_TRUE(session.ok());
    return *std::move(session);
  }
  fake_acl::Control* control_ = nullptr;
  FaultInjectionLayer* faults_ = nullptr;
};

TEST_F(DeviceTest, OpensAndClosesEverything) {
  auto device = Device::Open(OpenSession(), 1);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_EQ(device->id(), 1);
  EXPECT_EQ(device->SocName(), "Ascend910B3");
  EXPECT_TRUE(device->context());
  EXPECT_EQ(control_->device_sets[1], 1);
  EXPECT_TRUE(device->Close().ok());
  EXPECT_FALSE(device->is_open());
  EXPECT_EQ(control_->device_sets[1], 0);
  EXPECT_EQ(control_->reference_finalize_calls, 1);
  EXPECT_TRUE(device->Close().ok());
  EXPECT_EQ(TakeLeakReports(), "");
}

TEST_F(DeviceTest, GoesWithItsOwnerAndMoves) {
  {
    auto opened = Device::Open(OpenSession(), 0);
    ASSERT_TRUE(opened.ok());
    Device device = *std::move(opened);
    Device other;
    other = std::move(device);
    EXPECT_TRUE(other.is_open());
    EXPECT_EQ(control_->device_sets[0], 1);
  }
  EXPECT_EQ(control_->device_sets[0], 0);
  EXPECT_EQ(control_->reference_finalize_calls, 1);
}

TEST_F(DeviceTest, TheFormerContextStaysCurrent) {
  Session session = OpenSession();
  const Session keep = session.Share();
  ASSERT_EQ(session.table().aclrtSetDevice(0), 0);
  const ContextView former = *CurrentContext(session.table());
  {
    const auto device = Device::Open(std::move(session), 1);
    ASSERT_TRUE(device.ok());
    EXPECT_NE(device->context(), former);
    EXPECT_EQ(*CurrentContext(device->table()), former);
  }
  EXPECT_EQ(keep.table().aclrtResetDevice(0), 0);
}

TEST_F(DeviceTest, ANumberOutsideTheCountNamesTheCount) {
  for (const int32_t id : {2, -1}) {
    const auto device = Device::Open(OpenSession(), id);
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.status().code(), base::StatusCode::kInvalidArgument);
    EXPECT_THAT(device.status().ToString(), HasSubstr("is out of range: 2 devices are visible (0 to 1)"));
    EXPECT_EQ(control_->reference_finalize_calls, 1);
  }
}

TEST_F(DeviceTest, NoDeviceIsUnavailable) {
  Session session = OpenSession();
  control_->device_count = 0;
  const auto device = Device::Open(std::move(session), 0);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), base::StatusCode::kDeviceUnavailable);
  EXPECT_THAT(device.status().ToString(), HasSubstr("shows no device"));
  EXPECT_EQ(device.status().acl_failure()->code, acl_abi::kErrorRtNoDevice);
}

TEST_F(DeviceTest, TheLibraryHidesWhatTheVariableDoesNotName) {
  {
    const ScopedEnvironment visible("ASCEND_RT_VISIBLE_DEVICES", "1");
    EXPECT_TRUE(Device::Open(OpenSession(), 0).ok());
    const auto hidden = Device::Open(OpenSession(), 1);
    ASSERT_FALSE(hidden.ok());
    EXPECT_THAT(hidden.status().ToString(), HasSubstr("device_id 1 is out of range: 1 device is visible (0)"));
  }
  const ScopedEnvironment none("ASCEND_RT_VISIBLE_DEVICES", "");
  const auto device = Device::Open(OpenSession(), 0);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), base::StatusCode::kDeviceUnavailable);
  EXPECT_THAT(device.status().ToString(), HasSubstr("check npu-smi info and ASCEND_RT_VISIBLE_DEVICES"));
}

TEST_F(DeviceTest, ADeviceThatCannotBeSetUpIsUnavailable) {
  Session session = OpenSession();
  control_->device_code = acl_abi::kErrorRtDeviceSetup;
  const auto device = Device::Open(std::move(session), 0);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), base::StatusCode::kDeviceUnavailable);
  EXPECT_THAT(device.status().ToString(), HasSubstr("device 0 cannot be opened"));
  EXPECT_THAT(device.status().ToString(), HasSubstr("occupied or broken"));
}

TEST_F(DeviceTest, AFailedResetIsReportedAndTriedAgain) {
  {
    auto device = Device::Open(OpenSession(), 0);
    ASSERT_TRUE(device.ok());
    faults_->Fail(CallId::aclrtResetDevice, 0, acl_abi::kErrorRtInternal);
    EXPECT_FALSE(device->Close().ok());
    EXPECT_TRUE(device->is_open());
  }
  EXPECT_EQ(control_->device_sets[0], 0);
  EXPECT_EQ(control_->reference_finalize_calls, 1);
}

// Everything that a worker opens, in order; the first failure ends it.
base::Status OpenAWorker(Session session) {
  PYPTO_ASSIGN_OR_RETURN(const Device device, Device::Open(std::move(session), 0));
  const Table& table = device.table();
  PYPTO_ASSIGN_OR_RETURN(const Context context, Context::Create(table, 0));
  const ContextScope scope(table, context);
  PYPTO_RETURN_IF_ERROR(scope.status());
  PYPTO_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(table));
  PYPTO_ASSIGN_OR_RETURN(const Event event, Event::Create(table));
  PYPTO_ASSIGN_OR_RETURN(const DeviceMemory memory, DeviceMemory::Allocate(table, 64));
  PYPTO_ASSIGN_OR_RETURN(const HostMemory staging, HostMemory::Allocate(table, 64));
  const std::byte image[8] = {};
  PYPTO_ASSIGN_OR_RETURN(const Binary binary, Binary::LoadFromData(table, image, acl_abi::kBinaryMagicVector));
  PYPTO_RETURN_IF_ERROR(binary.Function("kernel").status());
  PYPTO_RETURN_IF_ERROR(RecordEvent(table, event, stream));
  return SynchronizeStream(table, stream);
}

TEST_F(DeviceTest, WhicheverCallFailsNothingIsLeft) {
  uint64_t n = 0;
  for (;; ++n) {
    ASSERT_LT(n, 100U);
    Session session = OpenSession();
    faults_->FailAny(n, acl_abi::kErrorRtInternal);
    FaultInjectionLayer* const faults = faults_;
    const Session keep = session.Share();  // the layer lives until it was asked
    const base::Status status = OpenAWorker(std::move(session));
    const uint64_t fired = faults->fired();
    EXPECT_TRUE(control_->live.empty()) << "call " << n << ": " << CallName(*faults->last_fired());
    EXPECT_EQ(control_->device_sets[0], 0) << "call " << n;
    if (fired == 0) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      break;
    }
    faults->Clear();
  }
  EXPECT_GT(n, 20U);
  EXPECT_EQ(TakeLeakReports(), "");
}

}  // namespace
}  // namespace pypto::acl
