// Records collected for one write().
#include "pypto/log/log.h"
#include "pypto/log/logger.h"
#include "pypto/log/record.h"

namespace pypto::log {

RecordBatch::RecordBatch() = default;

RecordBatch::~RecordBatch() { Write(); }

void RecordBatch::Add(Level level, const char* file, int line, const char* format, ...) {
  FormattedRecord record;
  va_list args;
  va_start(args, format);
  record.Format({"PYPTO", level, file, line}, format, args);
  va_end(args);
  Keep(level, file, line, record);
}

void RecordBatch::AddText(Level level, const char* file, int line, std::string_view text) {
  FormattedRecord record;
  record.FormatText({"PYPTO", level, file, line}, text);
  Keep(level, file, line, record);
}

void RecordBatch::Keep(Level level, const char* file, int line, const FormattedRecord& record) {
  if (level == Level::kNull) return;
  const size_t begin = buffer_.size();
  if (buffer_.capacity() == 0) buffer_.reserve(4 * kMaxRecordBytes);
  buffer_ += record.line();
  items_.push_back({level, file, line, begin, begin + record.text_begin(), buffer_.size()});
}

void RecordBatch::Write() noexcept {
  if (items_.empty()) return;
  const std::string_view all = buffer_;
  std::vector<RecordView> views;
  if (Logger::Get().HasSinks()) {
    views.reserve(items_.size());
    for (const Item& item : items_) {
      views.push_back({item.level, "PYPTO", item.file, item.line, all.substr(item.text, item.end - 1 - item.text),
                       all.substr(item.begin, item.end - item.begin)});
    }
  }
  Logger::Get().Emit(all, views);
  items_.clear();
  buffer_.clear();
}

}  // namespace pypto::log
