// Lines of functions, and marks under them.
#include "pypto/program/source_text.h"

#include <algorithm>
#include <string_view>

#include "pypto/base/status.h"

namespace pypto::program {
namespace {

constexpr std::string_view kBlanks = " \t";

const SourceFile* FileOf(const DebugInfo& debug, const SourcePlace& place) {
  return place.line > 0 && place.file < debug.files.size() ? &debug.files[place.file] : nullptr;
}

// Columns count bytes of UTF-8; readers count characters.
size_t CharactersOf(std::string_view bytes) {
  return static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

Location LocationOf(const DebugInfo& debug, const SourcePlace& place) {
  const SourceFile* file = FileOf(debug, place);
  if (file == nullptr) return {};
  if (file->def_line > 0) return {file->path, file->def_line + place.line - 1, true};
  return {file->name, place.line, false};
}

std::string LineOf(const SourceFile& file, int32_t line) {
  std::string_view rest = file.text;
  for (int32_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    if (number == line) return std::string(text.substr(0, text.find_last_not_of(" \t\r") + 1));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {};
}

std::string PointAt(const DebugInfo& debug, const SourcePlace& place) {
  const SourceFile* file = FileOf(debug, place);
  if (file == nullptr) return {};
  const Location location = LocationOf(debug, place);
  const std::string line = LineOf(*file, place.line);
  size_t column = place.column > 0 ? static_cast<size_t>(place.column) : 0;
  const bool inside = column > 0 && column <= line.size();
  if (inside) column = CharactersOf(std::string_view(line).substr(0, column - 1)) + 1;
  std::string text = base::Format("\n  File \"%s\", line %d", location.file.c_str(), location.line);
  if (column > 0) text += base::Format(", column %zu", column);
  const size_t colon = file->name.rfind(':');
  if (location.in_file && colon != std::string::npos) {
    text += ", in " + file->name.substr(colon + 1, file->name.rfind('#') - colon - 1);
  }
  if (!location.in_file) text += ", counted from its def";
  const size_t indent = line.find_first_not_of(kBlanks);
  if (indent == std::string::npos) return text;
  text += "\n    " + line.substr(indent);
  if (inside && column > indent) text += "\n    " + std::string(column - 1 - indent, ' ') + "^";
  return text;
}

}  // namespace pypto::program
