// Runs a fuzz target without libFuzzer: every file of the corpus folder, and mutations of it from a fixed seed.
// replay <folder> <mutations per file>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

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

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  const long mutations = std::strtol(arguments[2], nullptr, 10);
  std::mt19937_64 random(20260);
  long runs = 0;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const Bytes seed{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    for (long i = 0; i < mutations; ++i, ++runs) {
      Bytes bytes = seed;
      Mutate(bytes, random);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
  std::printf("%zu files, %ld mutations\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
