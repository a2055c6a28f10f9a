// From the engine's entries to names, lines and nanoseconds.
#include "pypto/runtime/launch_profile.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "pypto/program/op_table.h"
#include "pypto/program/source_text.h"

namespace pypto::runtime {
namespace {

using base::MakeStatus;
using base::Result;
using base::StatusCode;
using program::LeafEntry;
using program::OpEntry;
using program::ProfileHeader;
using program::RunEntry;

const char* KindName(program::LeafKind kind) {
  switch (kind) {
    case program::LeafKind::kVector: return "vector";
    case program::LeafKind::kCube: return "cube";
    case program::LeafKind::kWhole: break;
  }
  return "whole";
}

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// Turns the entries of one launch into a profile; lives for one call of ReadProfile.
class Reader {
 public:
  Reader(const program::Image& image, const program::LaunchStatistics& statistics, std::span<const std::byte> bytes)
      : image_(image), statistics_(statistics), bytes_(bytes) {
    if (statistics.ticks_per_second > 0) ns_per_tick_ = 1e9 / statistics.ticks_per_second;
  }

  Result<LaunchProfile> Read() {
    ProfileHeader header;
    if (!Take(&header, 1)) return Misfit();
    leaves_.resize(header.leaves);
    operations_.resize(header.operations);
    const uint64_t whole = program::ProfileBytes(header.leaves, header.operations, header.runs);
    if (whole > bytes_.size() || !Take(leaves_.data(), header.leaves) || !Take(operations_.data(), header.operations)) {
      return Misfit();
    }
    runs_.resize(header.runs);
    if (!Take(runs_.data(), header.runs)) return Misfit();
    out_.kernel = image_.plan.name;
    out_.device_ns = Nanoseconds(statistics_.end_ticks - statistics_.begin_ticks);
    out_.cores = header.cores;
    out_.root_instances = statistics_.root_instances;
    out_.device_tasks = statistics_.device_tasks;
    out_.leaf_tiles = statistics_.leaf_tiles;
    out_.dropped_runs = header.dropped;
    if (!AddLeaves()) return Misfit();
    AddRuns();
    SumLines();
    return std::move(out_);
  }

 private:
  static base::Status Misfit() {
    return MakeStatus(StatusCode::kProgramFormat, "the profile that the device wrote does not fit the program");
  }

  template <typename T>
  bool Take(T* to, uint64_t count) {
    const uint64_t bytes = count * sizeof(T);
    if (bytes > bytes_.size() - at_) return false;
    if (bytes != 0) std::memcpy(to, bytes_.data() + at_, bytes);
    at_ += bytes;
    return true;
  }

  double Nanoseconds(uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick_; }

  template <typename Located>
  void Locate(uint32_t index, Located* to) {
    const program::DebugInfo& debug = image_.debug;
    if (index >= debug.places.size()) return;
    const program::SourcePlace& place = debug.places[index];
    const program::Location location = program::LocationOf(debug, place);
    if (location.line <= 0) return;
    to->file = location.file.substr(location.file.find_last_of("/\\") + 1);
    to->line = location.line;
    if constexpr (requires { to->path; }) {
      if (location.in_file) to->path = location.file;
      texts_.try_emplace(LineKey(*to), Trimmed(program::LineOf(debug.files[place.file], place.line)));
    }
  }

  using Key = std::tuple<std::string, std::string, int32_t>;
  static Key LineKey(const ProfileOperation& operation) { return {operation.file, operation.path, operation.line}; }

  bool AddLeaves() {
    size_t number = 0;
    for (const program::RootFunction& root : image_.plan.roots) {
      for (const program::Leaf& leaf : root.leaves) {
        if (number == leaves_.size()) return false;
        const LeafEntry& entry = leaves_[number];
        if (uint64_t{entry.first_operation} + entry.operations > operations_.size()) return false;
        if (entry.instances != 0) AddLeaf(static_cast<uint32_t>(number), root, leaf, entry);
        ++number;
      }
    }
    return number == leaves_.size();
  }

  void AddLeaf(uint32_t number, const program::RootFunction& root, const program::Leaf& leaf, const LeafEntry& entry) {
    ProfileLeaf to;
    to.leaf = number;
    to.root = root.name;
    to.kind = KindName(leaf.kind);
    to.instances = entry.instances;
    to.tiles = entry.tiles;
    to.ns = Nanoseconds(entry.ticks);
    Locate(leaf.place, &to);
    const std::span<const OpEntry> entries(operations_.data() + entry.first_operation, entry.operations);
    uint64_t ticks = 0;
    for (const OpEntry& from : entries) ticks += from.ticks;
    for (const OpEntry& from : entries) {
      ProfileOperation operation;
      const program::OpInfo* info = program::FindOperation(static_cast<program::OpCode>(from.code));
      if (info != nullptr) operation.name = info->name;
      Locate(from.place, &operation);
      operation.ns = ticks != 0 ? to.ns * static_cast<double>(from.ticks) / static_cast<double>(ticks)
                                : to.ns / static_cast<double>(entries.size());
      operation.bytes = from.bytes;
      to.bytes += from.bytes;
      to.operations.push_back(std::move(operation));
    }
    out_.busy_ns += to.ns;
    out_.leaves.push_back(std::move(to));
  }

  void AddRuns() {
    out_.runs.reserve(runs_.size());
    for (const RunEntry& run : runs_) {
      out_.runs.push_back({run.leaf, run.task, run.number, run.core,
                           Nanoseconds(run.begin_ticks - statistics_.begin_ticks),
                           Nanoseconds(run.end_ticks - run.begin_ticks), run.tiles, run.bytes});
    }
  }

  void SumLines() {
    std::map<Key, ProfileLine> lines;
    for (const ProfileLeaf& leaf : out_.leaves) {
      std::vector<const ProfileLine*> of_leaf;
      for (const ProfileOperation& operation : leaf.operations) {
        ProfileLine& line = lines[LineKey(operation)];
        line.ns += operation.ns;
        line.bytes += operation.bytes;
        auto& names = line.operations;
        if (std::find(names.begin(), names.end(), operation.name) == names.end()) names.push_back(operation.name);
        if (std::find(of_leaf.begin(), of_leaf.end(), &line) != of_leaf.end()) continue;
        of_leaf.push_back(&line);
        line.tiles += leaf.tiles;
      }
    }
    for (auto& [place, line] : lines) {
      std::tie(line.file, line.path, line.line) = place;
      line.text = texts_[place];
      out_.lines.push_back(std::move(line));
    }
    std::stable_sort(out_.lines.begin(), out_.lines.end(),
                     [](const ProfileLine& a, const ProfileLine& b) { return a.ns > b.ns; });
  }

  const program::Image& image_;
  const program::LaunchStatistics& statistics_;
  const std::span<const std::byte> bytes_;
  size_t at_ = 0;
  double ns_per_tick_ = 0;
  std::vector<LeafEntry> leaves_;
  std::vector<OpEntry> operations_;
  std::vector<RunEntry> runs_;
  std::map<Key, std::string> texts_;  // of lines
  LaunchProfile out_;
};

}  // namespace

uint64_t ProfileBytesOf(const program::Plan& plan) noexcept {
  uint64_t leaves = 0;
  uint64_t operations = 0;
  for (const program::RootFunction& root : plan.roots) {
    leaves += root.leaves.size();
    for (const program::Leaf& leaf : root.leaves) operations += leaf.ops.size();
  }
  return program::ProfileBytes(leaves, operations, kMostProfiledRuns);
}

Result<LaunchProfile> ReadProfile(const program::Image& image, const program::LaunchStatistics& statistics,
                                  std::span<const std::byte> bytes) {
  return Reader(image, statistics, bytes).Read();
}

}  // namespace pypto::runtime
