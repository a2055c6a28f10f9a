// Our own declarations of the ACL C interface: handles, enumerations, structures that are ABI, magics and flags.
//
// Type names follow the public interface so that signatures read the same; constants are our kNames, because the
// vendor's are macros in part. Everything is in a namespace of its own: a vendor header may stand in the same file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pypto::acl_abi {

using aclError = int;

// Handles. The interface makes all of them void*, so the compiler never catches a mix-up; the acl library wraps them.
using aclrtContext = void*;
using aclrtStream = void*;
using aclrtEvent = void*;
using aclrtBinary = void*;
using aclrtBinHandle = void*;
using aclrtFuncHandle = void*;
using aclrtArgsHandle = void*;
using aclrtParamHandle = void*;

struct aclrtExceptionInfo;  // opaque

using aclrtExceptionInfoCallback = void (*)(aclrtExceptionInfo* info);
using aclrtHostFunc = void (*)(void* args);
using aclrtCallback = void (*)(void* user_data);

enum aclLogLevel : uint32_t { kLogDebug = 0, kLogInfo = 1, kLogWarning = 2, kLogError = 3 };

enum aclrtLastErrLevel : uint32_t { kLastErrorOfThread = 0 };

enum aclrtRunMode : uint32_t { kRunModeDevice = 0, kRunModeHost = 1 };

enum aclrtDeviceStatus : uint32_t { kDeviceNormal = 0, kDeviceAbnormal = 1 };

enum aclrtDevAttr : uint32_t {
  kDevAttrAiCpuCount = 1,
  kDevAttrAiCoreCount = 101,
  kDevAttrCubeCoreCount = 102,
  kDevAttrVectorCoreCount = 201,
  kDevAttrUnifiedBufferBytes = 204,
  kDevAttrTotalMemoryBytes = 301,
  kDevAttrL2CacheBytes = 302,
  kDevAttrIsVirtual = 501,
  kDevAttrNpuArch = 601,
};

// Values of kDevAttrNpuArch.
enum NpuArch : int64_t {
  kNpuArch910 = 1001,
  kNpuArch310P = 2002,
  kNpuArch910B = 2201,  // and A3
  kNpuArch310B = 3002,
  kNpuArch950 = 3510,
};

enum aclrtMemcpyKind : uint32_t {
  kMemcpyHostToHost = 0,
  kMemcpyHostToDevice = 1,
  kMemcpyDeviceToHost = 2,
  kMemcpyDeviceToDevice = 3,
  kMemcpyDefault = 4,               // by pointer
  kMemcpyHostToBufferToDevice = 5,  // captures the host bytes at call time
  kMemcpyInnerDeviceToDevice = 6,   // refused by the plain copies
  kMemcpyInterDeviceToDevice = 7,   // refused by the plain copies
};

// The three flags at the end may be or-ed in.
enum aclrtMemMallocPolicy : uint32_t {
  kMallocHugeFirst = 0,
  kMallocHugeOnly = 1,
  kMallocNormalOnly = 2,
  kMallocHugeFirstPeer = 3,
  kMallocHugeOnlyPeer = 4,
  kMallocNormalOnlyPeer = 5,
  kMallocHuge1GOnly = 6,
  kMallocHuge1GOnlyPeer = 7,
  kMallocLowBand = 0x100,
  kMallocHighBand = 0x1000,
  kMallocUserSpaceReadOnly = 0x100000,
};

enum aclrtMemAttr : uint32_t {
  kMemDdr = 0,
  kMemHbm = 1,
  kMemDdrHuge = 2,
  kMemDdrNormal = 3,
  kMemHbmHuge = 4,
  kMemHbmNormal = 5,
  kMemDdrHugePeer = 6,
  kMemDdrNormalPeer = 7,
  kMemHbmHugePeer = 8,
  kMemHbmNormalPeer = 9,
  kMemHbm1G = 10,
  kMemHbm1GPeer = 11,
  kMemAnyNormal = 12,
  kMemAnyHuge = 13,
  kMemAny1G = 14,
  kMemAnyNormalPeer = 15,
  kMemAnyHugePeer = 16,
  kMemAny1GPeer = 17,
};

enum aclrtMemLocationType : uint32_t {
  kLocationHost = 0,
  kLocationDevice = 1,
  kLocationUnregistered = 2,
  kLocationHostNuma = 4,
};

// The three status enumerations disagree about which value means done.
enum aclrtStreamStatus : uint32_t { kStreamComplete = 0, kStreamNotReady = 1 };
enum aclrtEventRecordedStatus : uint32_t { kEventRecordedNotReady = 0, kEventRecordedComplete = 1 };
enum aclrtEventWaitStatus : uint32_t { kEventWaitComplete = 0, kEventWaitNotReady = 1 };

enum aclrtStreamAttr : uint32_t {
  kStreamAttrFailureMode = 1,
  kStreamAttrFloatOverflow = 2,
  kStreamAttrUserTag = 3,
  kStreamAttrCacheOpInfo = 4,
  kStreamAttrPriority = 5,
};

enum aclrtCallbackBlockType : uint32_t { kCallbackNoBlock = 0, kCallbackBlock = 1 };

enum aclrtBinaryLoadOptionType : uint32_t {
  kBinaryLoadLazy = 1,
  kBinaryLoadMagic = 2,
  kBinaryLoadCpuKernelMode = 3,
};

enum aclrtLaunchKernelAttrId : uint32_t {
  kLaunchAttrScheduleMode = 1,
  kLaunchAttrDynamicUnifiedBuffer = 2,
  kLaunchAttrEngineType = 3,
  kLaunchAttrBlockDimOffset = 4,
  kLaunchAttrBlockTaskPrefetch = 5,
  kLaunchAttrDataDump = 6,
  kLaunchAttrTimeout = 7,  // seconds; not together with the next
  kLaunchAttrTimeoutUs = 8,
};

enum aclrtEngineType : uint32_t { kEngineCube = 0, kEngineVector = 1 };

enum aclrtFuncAttribute : uint32_t {
  kFuncAttrKernelType = 1,
  kFuncAttrKernelRatio = 2,
  kFuncAttrScheduleMode = 3,
};

// Values of kFuncAttrKernelType.
enum aclrtKernelType : uint32_t {
  kKernelAiCore = 0,
  kKernelCube = 1,
  kKernelVector = 2,
  kKernelMix = 3,
  kKernelAiCpu = 100,
};

enum aclrtMallocAttrType : uint32_t {
  kMallocAttrReserved = 0,
  kMallocAttrModuleId = 1,
  kMallocAttrDeviceId = 2,
  kMallocAttrVaFlag = 3,
};

inline constexpr uint32_t kStreamFastLaunch = 0x1;
inline constexpr uint32_t kStreamFastSync = 0x2;
inline constexpr uint32_t kStreamPersistent = 0x4;
inline constexpr uint32_t kStreamHuge = 0x8;
inline constexpr uint32_t kStreamCpuSchedule = 0x10;
inline constexpr uint32_t kStreamDeviceUseOnly = 0x20;

inline constexpr uint32_t kEventSync = 0x1;
inline constexpr uint32_t kEventCaptureStreamProgress = 0x2;
inline constexpr uint32_t kEventTimeLine = 0x8;
inline constexpr uint32_t kEventDeviceUseOnly = 0x10;
inline constexpr uint32_t kEventExternal = 0x20;
inline constexpr uint32_t kEventIpc = 0x40;

inline constexpr uint32_t kHostRegisterMapped = 0x2;
inline constexpr uint32_t kHostRegisterIo = 0x4;
inline constexpr uint32_t kHostRegisterReadOnly = 0x8;
inline constexpr uint32_t kHostRegisterPinned = 0x10000000;

inline constexpr uint64_t kFailureModeContinue = 0;
inline constexpr uint64_t kFailureModeStop = 1;

inline constexpr uint32_t kBinaryMagicAiCore = 0x43554245;
inline constexpr uint32_t kBinaryMagicVector = 0x41415246;
inline constexpr uint32_t kBinaryMagicCube = 0x41494343;

inline constexpr uint16_t kModuleIdApp = 33;

// Structures that are ABI. Make a union with {} before setting one member: the library may read more of it, and the
// member that covers all of it stands first, so that {} zeroes the whole.

union aclrtBinaryLoadOptionValue {
  uint32_t rsv[4];
  uint32_t isLazyLoad;
  uint32_t magic;
  int32_t cpuKernelMode;
};

struct aclrtBinaryLoadOption {
  aclrtBinaryLoadOptionType type;
  aclrtBinaryLoadOptionValue value;
};

struct aclrtBinaryLoadOptions {
  aclrtBinaryLoadOption* options;
  size_t numOpt;
};

struct aclrtTimeoutUs {
  uint32_t timeoutLow;
  uint32_t timeoutHigh;
};

union aclrtLaunchKernelAttrValue {
  uint32_t rsv[4];
  uint8_t schemMode;
  uint32_t dynUBufSize;
  aclrtEngineType engineType;
  uint32_t blockDimOffset;
  uint8_t isBlockTaskPrefetch;
  uint8_t isDataDump;
  uint16_t timeout;
  aclrtTimeoutUs timeoutUs;
};

struct aclrtLaunchKernelAttr {
  aclrtLaunchKernelAttrId id;
  aclrtLaunchKernelAttrValue value;
};

struct aclrtLaunchKernelCfg {
  aclrtLaunchKernelAttr* attrs;
  size_t numAttrs;
};

// Both offsets count from the start of the argument block.
struct aclrtPlaceHolderInfo {
  uint32_t addrOffset;  // where the pointer sits
  uint32_t dataOffset;  // where its data sits
};

struct aclrtMemLocation {
  uint32_t id;
  aclrtMemLocationType type;
};

struct aclrtPtrAttributes {
  aclrtMemLocation location;
  uint32_t pageSize;
  uint32_t rsv[4];
};

union aclrtMallocAttrValue {
  uint8_t rsv[8];
  uint16_t moduleId;
  uint32_t deviceId;
  uint32_t vaFlag;
};

struct aclrtMallocAttribute {
  aclrtMallocAttrType attr;
  aclrtMallocAttrValue value;
};

struct aclrtMallocConfig {
  aclrtMallocAttribute* attrs;
  size_t numAttrs;
};

union aclrtStreamAttrValue {
  uint32_t reserve[4];
  uint64_t failureMode;
  uint32_t overflowSwitch;
  uint32_t userCustomTag;
  uint32_t cacheOpInfoSwitch;
};

struct aclrtMemUsageInfo {
  char name[32];
  uint64_t curMemSize;
  uint64_t memPeakSize;
  size_t reserved[8];
};

static_assert(sizeof(aclrtBinaryLoadOption) == 20);
static_assert(sizeof(aclrtBinaryLoadOptions) == 16);
static_assert(sizeof(aclrtLaunchKernelAttr) == 20);
static_assert(sizeof(aclrtLaunchKernelCfg) == 16);
static_assert(sizeof(aclrtPlaceHolderInfo) == 8);
static_assert(sizeof(aclrtPtrAttributes) == 28);
static_assert(offsetof(aclrtPtrAttributes, pageSize) == 8);
static_assert(sizeof(aclrtMallocAttrValue) == 8 && sizeof(aclrtMallocAttribute) == 12);
static_assert(sizeof(aclrtMallocConfig) == 16);
static_assert(sizeof(aclrtStreamAttrValue) == 16 && alignof(aclrtStreamAttrValue) == 8);
static_assert(sizeof(aclrtMemUsageInfo) == 112);
static_assert(sizeof(aclrtMemcpyKind) == 4 && sizeof(aclrtMemMallocPolicy) == 4);

}  // namespace pypto::acl_abi
