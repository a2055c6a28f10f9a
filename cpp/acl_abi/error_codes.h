// Error codes of ACL: 100xxx, 200xxx, 500xxx come from the ACL layer, 107xxx, 207xxx, 507xxx from the runtime below.
#pragma once

#include "pypto/acl_abi/types.h"

namespace pypto::acl_abi {

inline constexpr aclError kSuccess = 0;

// 1xxxxx: the caller's fault, or the environment.
inline constexpr aclError kErrorInvalidParam = 100000;
inline constexpr aclError kErrorUninitialize = 100001;
inline constexpr aclError kErrorRepeatInitialize = 100002;
inline constexpr aclError kErrorInvalidFile = 100003;
inline constexpr aclError kErrorParseFile = 100006;
inline constexpr aclError kErrorConfigLast = 100010;
inline constexpr aclError kErrorKernelNotFound = 100029;
inline constexpr aclError kErrorRepeatFinalize = 100037;
inline constexpr aclError kErrorCompilingStubMode = 100039;
inline constexpr aclError kErrorRtParamInvalid = 107000;
inline constexpr aclError kErrorRtInvalidDeviceId = 107001;
inline constexpr aclError kErrorRtContextNull = 107002;
inline constexpr aclError kErrorRtStreamContext = 107003;
inline constexpr aclError kErrorRtEventStampInvalid = 107006;
inline constexpr aclError kErrorRtEventStampReversed = 107007;
inline constexpr aclError kErrorRtAddrUnaligned = 107008;
inline constexpr aclError kErrorRtThreadNotSubscribed = 107012;
inline constexpr aclError kErrorRtNoCallbackStream = 107015;
inline constexpr aclError kErrorRtWrongMemoryType = 107016;
inline constexpr aclError kErrorRtInvalidHandle = 107017;
inline constexpr aclError kErrorRtWrongMallocType = 107018;
inline constexpr aclError kErrorRtWaitTimeout = 107019;
inline constexpr aclError kErrorRtTaskTimeout = 107020;
inline constexpr aclError kErrorRtDeviceAbort = 107022;
inline constexpr aclError kErrorRtStreamAbort = 107023;
inline constexpr aclError kErrorRtCaptureUnjoined = 107025;
inline constexpr aclError kErrorRtStreamCaptured = 107027;
inline constexpr aclError kErrorRtEventCaptured = 107028;
inline constexpr aclError kErrorRtNotCaptured = 107029;
inline constexpr aclError kErrorRtCaptureForbidden = 107030;
inline constexpr aclError kErrorRtCaptureDefaultStream = 107031;
inline constexpr aclError kErrorRtAborted = 107035;
inline constexpr aclError kErrorRtCapturePageable = 107041;
inline constexpr aclError kErrorRtSymbolNotFound = 107042;
inline constexpr aclError kErrorRtInvalidSymbol = 107043;
inline constexpr aclError kErrorRtInvalidDeviceFunction = 107044;

// 2xxxxx: resources.
inline constexpr aclError kErrorBadAlloc = 200000;
inline constexpr aclError kErrorUnsupported = 200001;
inline constexpr aclError kErrorUnalignedAddress = 200003;
inline constexpr aclError kErrorBadHandle = 200005;
inline constexpr aclError kErrorFlagUnsupported = 200006;
inline constexpr aclError kErrorRtFeatureNotSupported = 207000;
inline constexpr aclError kErrorRtMemoryAllocation = 207001;
inline constexpr aclError kErrorRtNoDevice = 207004;
inline constexpr aclError kErrorRtNoResource = 207005;
inline constexpr aclError kErrorRtNoEventResource = 207007;
inline constexpr aclError kErrorRtNoStreamResource = 207008;
inline constexpr aclError kErrorRtNoNotifyResource = 207009;
inline constexpr aclError kErrorRtNoModelResource = 207010;
inline constexpr aclError kErrorRtDeviceOom = 207018;
inline constexpr aclError kErrorRtTimeout = 207020;

// 3xxxxx: business limits.
inline constexpr aclError kErrorStorageOverLimit = 300000;

// 5xxxxx: internal, or the device.
inline constexpr aclError kErrorInternal = 500000;
inline constexpr aclError kErrorFailure = 500001;
inline constexpr aclError kErrorGeFailure = 500002;
inline constexpr aclError kErrorRtFailure = 500003;
inline constexpr aclError kErrorDriverFailure = 500004;
inline constexpr aclError kErrorProfilingFailure = 500005;
inline constexpr aclError kErrorRtInternal = 507000;
inline constexpr aclError kErrorRtScheduler = 507001;
inline constexpr aclError kErrorRtEventNotRecorded = 507006;
inline constexpr aclError kErrorRtSocVersion = 507008;
inline constexpr aclError kErrorRtLostHeartbeat = 507010;
inline constexpr aclError kErrorRtModelExecute = 507011;
inline constexpr aclError kErrorRtReportTimeout = 507012;
inline constexpr aclError kErrorRtSystemDma = 507013;
inline constexpr aclError kErrorRtAiCoreTimeout = 507014;
inline constexpr aclError kErrorRtAiCoreException = 507015;
inline constexpr aclError kErrorRtAiCoreTrap = 507016;
inline constexpr aclError kErrorRtAiCpuTimeout = 507017;
inline constexpr aclError kErrorRtAiCpuException = 507018;
inline constexpr aclError kErrorRtModelAbort = 507023;
inline constexpr aclError kErrorRtKernelLookup = 507027;
inline constexpr aclError kErrorRtDeviceSetup = 507033;
inline constexpr aclError kErrorRtVectorCoreTimeout = 507034;
inline constexpr aclError kErrorRtVectorCoreException = 507035;
inline constexpr aclError kErrorRtVectorCoreTrap = 507036;
inline constexpr aclError kErrorRtAiCoreTrapRead = 507042;
inline constexpr aclError kErrorRtAiCoreTrapWrite = 507043;
inline constexpr aclError kErrorRtVectorTrapRead = 507044;
inline constexpr aclError kErrorRtVectorTrapWrite = 507045;
inline constexpr aclError kErrorRtStreamSyncTimeout = 507046;
inline constexpr aclError kErrorRtEventSyncTimeout = 507047;
inline constexpr aclError kErrorRtFftsTimeout = 507048;
inline constexpr aclError kErrorRtFftsException = 507049;
inline constexpr aclError kErrorRtFftsTrap = 507050;
inline constexpr aclError kErrorRtDeviceMemory = 507053;
inline constexpr aclError kErrorRtMultiBitEcc = 507054;
inline constexpr aclError kErrorRtSuspectedMemory = 507055;
inline constexpr aclError kErrorRtLink = 507056;
inline constexpr aclError kErrorRtSuspectedRemote = 507057;
inline constexpr aclError kErrorRtDriverInternal = 507899;
inline constexpr aclError kErrorRtSocketClose = 507901;
inline constexpr aclError kErrorRtCaptureInvalidated = 507903;
inline constexpr aclError kErrorRtHostRegistered = 507910;
inline constexpr aclError kErrorRtHostNotRegistered = 507911;

}  // namespace pypto::acl_abi
