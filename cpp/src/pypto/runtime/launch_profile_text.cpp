// A profile as a table, and as a trace for the viewers of browsers.
#include <algorithm>

#include "pypto/runtime/launch_profile.h"

namespace pypto::runtime {
namespace {

using base::Format;

unsigned long long Print(uint64_t value) { return value; }

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// As the inside of a JSON string.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += Format("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string Where(const std::string& file, int32_t line) {
  return line > 0 ? Format("%s:%d", file.c_str(), line) : "?";
}

std::string NameOf(const ProfileLeaf& leaf) {
  std::vector<std::string> names;
  for (const ProfileOperation& operation : leaf.operations) {
    if (std::find(names.begin(), names.end(), operation.name) == names.end()) names.push_back(operation.name);
  }
  return Joined(names);
}

}  // namespace

std::string LaunchProfile::ToText() const {
  constexpr double kMiB = 1024.0 * 1024.0;
  const double core_ns = device_ns * cores;
  const double busy = core_ns > 0 ? 100 * busy_ns / core_ns : 0;
  std::string text = Format(
      "%s: %.1f us on the device, %u %s %.0f %% busy, %llu root instances in %llu %s, %llu tiles\n"
      "%7s%12s%10s%12s%9s  %-24s %s",
      kernel.c_str(), device_ns / 1e3, cores, cores == 1 ? "core" : "cores", busy, Print(root_instances),
      Print(device_tasks), device_tasks == 1 ? "task" : "tasks", Print(leaf_tiles), "share", "us", "tiles", "MiB",
      "GB/s", "line", "operations");
  for (const ProfileLine& line : lines) {
    const double share = busy_ns > 0 ? 100 * line.ns / busy_ns : 0;
    const auto bytes = static_cast<double>(line.bytes);
    text +=
        Format("\n%5.1f %%%12.1f%10llu%12.2f%9.2f  %-24s %s", share, line.ns / 1e3, Print(line.tiles), bytes / kMiB,
               line.ns > 0 ? bytes / line.ns : 0, Where(line.file, line.line).c_str(), Joined(line.operations).c_str());
    if (!line.text.empty()) text += "  | " + line.text;
  }
  if (dropped_runs != 0) text += Format("\n%llu runs are in the sums only", Print(dropped_runs));
  return text;
}

std::string LaunchProfile::ToChromeTrace() const {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (uint32_t core = 0; core < cores; ++core) {
    text += Format("%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":%u,\"args\":{\"name\":\"core %u\"}}",
                   core == 0 ? "" : ",\n", core, core);
  }
  std::vector<const ProfileLeaf*> by_number;
  for (const ProfileLeaf& leaf : leaves) {
    by_number.resize(leaf.leaf + size_t{1});
    by_number[leaf.leaf] = &leaf;
  }
  for (const ProfileRun& run : runs) {
    const ProfileLeaf* leaf = run.leaf < by_number.size() ? by_number[run.leaf] : nullptr;
    if (leaf == nullptr) continue;
    text += Format(
        ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{"
        "\"line\":\"%s\",\"root\":\"%s\",\"task\":%u,\"leaf\":%u,\"tiles\":%llu,\"bytes\":%llu}}",
        run.core, run.begin_ns / 1e3, run.ns / 1e3, leaf->kind.c_str(), Escaped(NameOf(*leaf)).c_str(),
        Escaped(Where(leaf->file, leaf->line)).c_str(), Escaped(leaf->root).c_str(), run.task, run.leaf,
        Print(run.tiles), Print(run.bytes));
  }
  return text + "]}\n";
}

}  // namespace pypto::runtime
