// Start and end of the library's state: initialisation, exit, fork. Objects are in instance_objects.cpp.
#include "pypto/mock_acl/instance.h"

#include <pthread.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "pypto/base/process.h"
#include "pypto/mock_acl/clock.h"
#include "pypto/mock_acl/interception.h"
#include "pypto/mock_acl/mock_log.h"

namespace pypto::mock {

using namespace acl_abi;

constinit ForkSafe<Instance> Instance::current_;

namespace {

constinit std::atomic<bool> forked{false};

// The file's text; 100003 when it cannot be read, 100006 when it is no JSON object.
aclError ReadConfig(const char* path, std::string* text) {
  std::ifstream file(path);
  if (!file) return Fail(kErrorInvalidFile, "cannot read the configuration file '%s'", path);
  text->assign(std::istreambuf_iterator<char>(file), {});
  const auto first = text->find_first_not_of(" \t\r\n");
  const auto last = text->find_last_not_of(" \t\r\n");
  if (first == std::string::npos || (*text)[first] != '{' || (*text)[last] != '}') {
    return Fail(kErrorParseFile, "the configuration file '%s' holds no JSON object", path);
  }
  return kSuccess;
}

}  // namespace

// The handlers are registered with the first instance: after the static objects of this library were made.
Instance::Instance() {
  static const bool handlers = [] {
    pthread_atfork(nullptr, nullptr, [] { ForgetInForkedChild(); });
    std::atexit([] {
      base::MarkProcessExiting();
      if (Instance* instance = current_.IfMade()) instance->StopForExit();
    });
    return true;
  }();
  static_cast<void>(handlers);
}

void Instance::ForgetInForkedChild() noexcept {
  // Locks of the parent may be held and its threads are not here: everything is left behind.
  if (current_.Forget()) forked.store(true, std::memory_order_relaxed);
  ForgetThreadsInForkedChild();
  ForgetInterceptionInForkedChild();
}

aclError NotInitialized() {
  if (forked.load(std::memory_order_relaxed)) {
    return Fail(kErrorUninitialize, "this process was forked from one that used ACL and must call aclInit itself");
  }
  return Fail(kErrorUninitialize, "aclInit was not called");
}

aclError NoContext() {
  if (!Instance::Get().initialized()) return NotInitialized();
  return Fail(kErrorRtContextNull,
              "no context is current in this thread: call aclrtSetDevice or aclrtSetCurrentContext");
}

aclError Instance::Initialize(const char* config_path) {
  std::string config;
  if (config_path != nullptr && *config_path != '\0') {
    const aclError code = ReadConfig(config_path, &config);
    if (code != kSuccess) return code;
  }
  std::lock_guard lock(life_);
  if (init_count_ > 0) {
    ++init_count_;
    return Fail(kErrorRepeatInitialize, "aclInit was called before (now %llu times)",
                static_cast<unsigned long long>(init_count_));
  }
  if (first_config_known_ && config != first_config_) {
    return Fail(kErrorInvalidParam, "aclInit after aclFinalize must be given the configuration of the first time");
  }
  first_config_known_ = true;
  first_config_ = std::move(config);
  settings_ = Settings::FromEnvironment();
  for (uint32_t id = 0; id < settings_.devices; ++id) {
    devices_.push_back(std::make_unique<Device>(static_cast<int32_t>(id), settings_));
  }
  init_count_ = 1;
  initialized_.store(true, std::memory_order_release);
  return kSuccess;
}

aclError Instance::Finalize(bool whatever_the_count, uint64_t* left) {
  {
    std::lock_guard lock(life_);
    if (init_count_ == 0) {
      return Fail(kErrorRepeatFinalize, "aclFinalize without a matching aclInit");
    }
    init_count_ = whatever_the_count ? 0 : init_count_ - 1;
    if (left != nullptr) *left = init_count_;
    if (init_count_ > 0) return kSuccess;
    initialized_.store(false, std::memory_order_release);
  }
  ReportLeaks();
  CloseAll();
  return kSuccess;
}

void Instance::CloseAll() {
  for (Context* context : contexts.RetireIf([](const Context&) { return true; })) EndContext(*context, false);
  host_memory.Clear();
  copies.Stop();
  std::lock_guard lock(life_);
  devices_.clear();
}

void Instance::GiveBackPages() {
  std::lock_guard lock(life_);
  for (const auto& device : devices_) {
    if (device->started()) device->memory().Purge();
  }
  host_memory.Purge();
}

void Instance::ReportLeaks() const {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  for (const auto& device : devices_) {
    if (!device->started()) continue;
    blocks += device->memory().live_blocks();
    bytes += device->memory().live_bytes();
  }
  uint64_t own_streams = 0;
  streams.ForEachLive([&](const Stream& stream) { own_streams += stream.counted ? 1 : 0; });
  const uint64_t host_blocks = host_memory.live_blocks();
  if (blocks + own_streams + events.live() + binaries.live() + host_blocks == 0) return;
  MockLog(
      log::Level::kWarning,
      "aclFinalize with objects alive: %llu device blocks (%llu bytes), %llu host blocks, %llu streams, %llu events, "
      "%llu binaries",
      static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(bytes),
      static_cast<unsigned long long>(host_blocks), static_cast<unsigned long long>(own_streams),
      static_cast<unsigned long long>(events.live()), static_cast<unsigned long long>(binaries.live()));
}

void Instance::Reset() {
  {
    std::lock_guard lock(life_);
    init_count_ = 0;
    initialized_.store(false, std::memory_order_release);
  }
  CloseAll();
  std::lock_guard lock(life_);
  first_config_known_ = false;
  first_config_.clear();
  next_stream_id_ = 0;
  guard_violations_.store(0, std::memory_order_relaxed);
  DeviceClock::Reset();
}

void Instance::StopForExit() noexcept {
  for (Stream* stream : streams.Live()) stream->AbandonForExit();
  constexpr auto kPatience = std::chrono::milliseconds(200);
  const auto deadline = SteadyClock::now() + kPatience;
  for (Stream* stream : streams.Live()) {
    while (stream->executing() && SteadyClock::now() < deadline) std::this_thread::yield();
  }
}

}  // namespace pypto::mock
