// Argument lists of the thread.
#include "pypto/mock_acl/entry.h"
#include "pypto/mock_acl/resolve.h"

namespace pypto::acl_abi {

using mock::ArgumentList;
using mock::CallId;
using mock::Enter;
using mock::Fail;
using mock::Function;
using mock::Instance;
using mock::ResolveList;
using mock::ThreadState;

extern "C" {

aclError aclrtKernelArgsInit(aclrtFuncHandle function, aclrtArgsHandle* list) {
  return Enter(
      CallId::aclrtKernelArgsInit,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(function);
        MOCK_REQUIRE(list);
        Function* found = Instance::Get().functions.Find(function);
        if (found == nullptr) return Fail(kErrorRtInvalidHandle, "the function's binary is not loaded");
        if (thread.arguments == nullptr) thread.arguments = std::make_shared<ArgumentList>();
        thread.arguments->Begin(found);
        *list = thread.arguments->handle();
        return kSuccess;
      },
      function, list);
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle list, void* value, size_t bytes, aclrtParamHandle* parameter) {
  return Enter(
      CallId::aclrtKernelArgsAppend,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(list);
        MOCK_REQUIRE(value);
        MOCK_REQUIRE(parameter);
        ArgumentList* found = nullptr;
        const aclError code = ResolveList(thread, list, &found);
        return code == kSuccess ? found->Append(value, bytes, parameter) : code;
      },
      list, value, bytes, parameter);
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle list, aclrtParamHandle* parameter) {
  return Enter(
      CallId::aclrtKernelArgsAppendPlaceHolder,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(list);
        MOCK_REQUIRE(parameter);
        ArgumentList* found = nullptr;
        const aclError code = ResolveList(thread, list, &found);
        return code == kSuccess ? found->AppendPlaceHolder(parameter) : code;
      },
      list, parameter);
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle list, aclrtParamHandle parameter, size_t bytes,
                                             void** buffer) {
  return Enter(
      CallId::aclrtKernelArgsGetPlaceHolderBuffer,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(list);
        MOCK_REQUIRE(parameter);
        MOCK_REQUIRE(buffer);
        ArgumentList* found = nullptr;
        const aclError code = ResolveList(thread, list, &found);
        return code == kSuccess ? found->PlaceHolderBuffer(parameter, bytes, buffer) : code;
      },
      list, parameter, bytes, buffer);
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle list, aclrtParamHandle parameter, void* value, size_t bytes) {
  return Enter(
      CallId::aclrtKernelArgsParaUpdate,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(list);
        MOCK_REQUIRE(parameter);
        MOCK_REQUIRE(value);
        ArgumentList* found = nullptr;
        const aclError code = ResolveList(thread, list, &found);
        return code == kSuccess ? found->Update(parameter, value, bytes) : code;
      },
      list, parameter, value, bytes);
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle list) {
  return Enter(
      CallId::aclrtKernelArgsFinalize,
      [&](ThreadState& thread) {
        MOCK_REQUIRE(list);
        ArgumentList* found = nullptr;
        const aclError code = ResolveList(thread, list, &found);
        if (code != kSuccess) return code;
        uint64_t sync_address = 0;
        if (found->has_hidden_slot()) {
          sync_address = Instance::Get().HardwareSyncAddress(*found->function()->context->device);
          if (sync_address == 0) return Fail(kErrorRtMemoryAllocation, "no room for the synchronisation word");
        }
        found->Finish(sync_address);
        return kSuccess;
      },
      list);
}

}  // extern "C"

}  // namespace pypto::acl_abi
