// Log level, log callbacks, timing marks.
#include <string>

#include "fence.h"
#include "pypto/log/log.h"
#include "pypto/runtime/trace.h"

using namespace pypto::capi;  // NOLINT(google-build-using-namespace)
using pypto::log::Level;

namespace {

// Runs a callback of the user; what it throws is dropped.
template <typename Call>
void RunCallback(Call&& call) {
  try {
    const CallbackScope scope;
    call();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {  // nobody is there to tell
  }
}

pypto_status CheckLevel(int32_t level) {
  if (level >= PYPTO_LOG_DEBUG && level <= PYPTO_LOG_NONE) return PYPTO_OK;
  return Refuse("log level %d is none of 0 (debug) to 4 (nothing)", level);
}

void GiveRecord(pypto_log_callback callback, void* user, const pypto::log::RecordView& record) {
  RunCallback([&] {
    const std::string module(record.module);
    const std::string text(record.text);
    pypto_log_record value{};
    value.struct_size = sizeof(value);
    value.level = static_cast<int32_t>(record.level);
    value.line = record.line;
    value.module = module.c_str();
    value.file = record.file != nullptr ? record.file : "";
    value.text = text.c_str();
    callback(user, &value);
  });
}

}  // namespace

extern "C" {

pypto_status pypto_log_set_level(int32_t level) {
  return Fence([&] {
    const pypto_status status = CheckLevel(level);
    if (status == PYPTO_OK) pypto::log::SetLevel(static_cast<Level>(level));
    return status;
  });
}

int32_t pypto_log_get_level(void) {
  int32_t level = PYPTO_LOG_ERROR;
  static_cast<void>(Fence([&] {
    level = static_cast<int32_t>(pypto::log::GetLevel());
    return PYPTO_OK;
  }));
  return level;
}

pypto_status pypto_log_reset_level(void) {
  return Fence([] {
    pypto::log::ResetLevel();
    return PYPTO_OK;
  });
}

pypto_status pypto_log_set_root(const char* path) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(path);
    pypto::log::SetLogRoot(path);
    return PYPTO_OK;
  });
}

pypto_status pypto_log_set_stdout(int32_t on) {
  return Fence([&] {
    pypto::log::SetPrintToStdout(on != 0);
    return PYPTO_OK;
  });
}

pypto_status pypto_log_get_file(char* buffer, size_t capacity, size_t* needed) {
  return Fence([&] { return WriteText(pypto::log::CurrentLogFile(), buffer, capacity, needed); });
}

pypto_status pypto_log_add_callback(pypto_log_callback callback, void* user, int32_t lowest, uint64_t* id) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(callback);
    PYPTO_REQUIRE(id);
    const pypto_status status = CheckLevel(lowest);
    if (status != PYPTO_OK) return status;
    *id = pypto::log::AddSink(pypto::log::MakeCallbackSink(
        [callback, user](const pypto::log::RecordView& record) { GiveRecord(callback, user, record); },
        static_cast<Level>(lowest)));
    return PYPTO_OK;
  });
}

pypto_status pypto_log_remove_callback(uint64_t id) {
  return Fence([&]() -> pypto_status {
    if (pypto::log::RemoveSink(id)) return PYPTO_OK;
    return Report(pypto::base::MakeStatus(pypto::base::StatusCode::kNotFound,
                                          "no log callback has the number %llu: it was removed, or never added",
                                          static_cast<unsigned long long>(id)));
  });
}

pypto_status pypto_trace_set(const char* target) {
  return Fence([&]() -> pypto_status {
    PYPTO_REQUIRE(target);
    return Report(pypto::runtime::SetTrace(target));
  });
}

pypto_status pypto_trace_set_callback(pypto_trace_callback callback, void* user) {
  return Fence([&] {
    std::function<void(std::string_view)> function;
    if (callback != nullptr) {
      function = [callback, user](std::string_view record) {
        RunCallback([&] { callback(user, std::string(record).c_str()); });
      };
    }
    pypto::runtime::SetTraceCallback(std::move(function));
    return PYPTO_OK;
  });
}

}  // extern "C"
