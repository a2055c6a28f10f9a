// The sinks that come with the library.
#include "pypto/log/sink.h"

#include <unistd.h>

#include <utility>

namespace pypto::log {
namespace {

class CallbackSink final : public Sink {
 public:
  CallbackSink(std::function<void(const RecordView&)> callback, Level lowest)
      : Sink(lowest), callback_(std::move(callback)) {}

  // A callback that throws loses the record and nothing else.
  void Write(const RecordView& record) noexcept override {
    try {
      callback_(record);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
  }

 private:
  std::function<void(const RecordView&)> callback_;
};

class StderrSink final : public Sink {
 public:
  using Sink::Sink;

  void Write(const RecordView& record) noexcept override {
    static_cast<void>(!write(STDERR_FILENO, record.formatted.data(), record.formatted.size()));
  }
};

}  // namespace

Sink::~Sink() = default;

std::shared_ptr<Sink> MakeCallbackSink(std::function<void(const RecordView&)> callback, Level lowest) {
  return std::make_shared<CallbackSink>(std::move(callback), lowest);
}

std::shared_ptr<Sink> MakeStderrSink(Level lowest) { return std::make_shared<StderrSink>(lowest); }

}  // namespace pypto::log
