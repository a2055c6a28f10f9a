// Runs a fuzz target without libFuzzer: every file of the corpus folder, and mutations of it from a fixed seed, in
// rounds. Later rounds change more at a time and cross files; the same round always tries the same inputs. When the
// target fails, standard error names the round.
// replay <folder> <mutations per file and round> [seconds: further rounds until they have passed]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kSeed = 20260;
constexpr size_t kLongest = 65536;

struct Seed {
  std::string name;
  Bytes bytes;
};

// What runs, for the handler of a failure.
char running[256];

void NameWhatRan(int signal) {
  static_cast<void>(write(STDERR_FILENO, running, std::strlen(running)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// A few bytes changed, taken out, doubled, or replaced by extreme numbers; the kind in front stays.
void Mutate(Bytes& bytes, std::mt19937_64& random) {
  static constexpr uint8_t kExtremes[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % std::max<size_t>(limit, 1)); };
  for (size_t i = 1 + below(4); i > 0 && bytes.size() > 2; --i) {
    const size_t at = 1 + below(bytes.size() - 1);
    const size_t run = std::min(1 + below(8), bytes.size() - at);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(run);
    switch (below(4)) {
      case 0: bytes[at] ^= static_cast<uint8_t>(1U << below(8)); break;
      case 1: std::fill(begin, end, kExtremes[below(std::size(kExtremes))]); break;
      case 2: bytes.erase(begin, end); break;
      default: {
        const Bytes copy(begin, end);
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(1 + below(bytes.size() - 1)), copy.begin(),
                     copy.end());
      }
    }
  }
}

// The front of one file with the end of another; the kind in front stays.
Bytes Cross(const Bytes& front, const Bytes& back, std::mt19937_64& random) {
  if (front.empty() || back.empty()) return front;
  const size_t kept = 1 + random() % front.size();
  const size_t from = random() % back.size();
  Bytes bytes(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(kept));
  bytes.insert(bytes.end(), back.begin() + static_cast<std::ptrdiff_t>(from), back.end());
  if (bytes.size() > kLongest) bytes.resize(kLongest);
  return bytes;
}

std::vector<Seed> ReadCorpus(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Seed> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.push_back({path.filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  return seeds;
}

// Round 0 changes the files themselves, later ones changed or crossed files once more.
void RunRound(const std::vector<Seed>& seeds, long round, long mutations) {
  std::mt19937_64 random(kSeed + static_cast<uint64_t>(round));
  for (const Seed& seed : seeds) {
    std::snprintf(running, sizeof(running), "failed in round %ld, from file %s\n", round, seed.name.c_str());
    if (round == 0) LLVMFuzzerTestOneInput(seed.bytes.data(), seed.bytes.size());
    for (long i = 0; i < mutations; ++i) {
      Bytes bytes = seed.bytes;
      if (round > 0 && random() % 4 == 0) bytes = Cross(bytes, seeds[random() % seeds.size()].bytes, random);
      for (long again = 0; again <= round % 4; ++again) Mutate(bytes, random);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3 && count != 4) return 2;
  const std::vector<Seed> seeds = ReadCorpus(arguments[1]);
  const long mutations = std::strtol(arguments[2], nullptr, 10);
  const long seconds = count == 4 ? std::strtol(arguments[3], nullptr, 10) : 0;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, NameWhatRan);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  long rounds = 0;
  do {
    RunRound(seeds, rounds++, mutations);
  } while (!seeds.empty() && Clock::now() < end);
  std::printf("%zu files, %ld rounds, %ld mutations\n", seeds.size(), rounds,
              rounds * mutations * static_cast<long>(seeds.size()));
  return seeds.empty() ? 1 : 0;
}
