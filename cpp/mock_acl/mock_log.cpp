// Formats the mock's own records.
#include "pypto/mock_acl/mock_log.h"

#include <cstdarg>
#include <cstdio>

namespace pypto::mock {

bool MockLogEnabled(log::Level level) { return level >= log::EnvironmentLevelOf("ASCENDCL"); }

void MockLog(log::Level level, const char* format, ...) {
  if (!MockLogEnabled(level)) return;
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  log::WriteAs("ASCENDCL", level, nullptr, 0, text);
}

}  // namespace pypto::mock
