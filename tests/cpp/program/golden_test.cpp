// Program files of each format version, kept in the tree: they are read, and written again byte for byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "pypto/program/image.h"

namespace pypto::program {
namespace {

TEST(GoldenFiles, EachIsReadAndWrittenTheSame) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PYPTO_TEST_DATA "/program_v3")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    const auto read = ReadImage(bytes);
    ASSERT_TRUE(read.ok()) << entry.path() << ": " << read.status().ToString();
    const Image& image = **read;
    EXPECT_EQ(image.plan.name, entry.path().stem().string());
    const auto written = MakeImage(image.platform, image.plan, image.debug, image.binaries);
    EXPECT_EQ(written->bytes, bytes) << entry.path();
    EXPECT_EQ(written->fingerprint, image.fingerprint);
    const std::vector<SectionInfo> sections = ListSections(image);
    ASSERT_EQ(sections.size(), 2 + image.binaries.size());
    EXPECT_EQ(sections[0].name, "plan");
    EXPECT_EQ(SourceHash(image.debug).size(), image.debug.files.empty() ? 0u : 64u);
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace pypto::program
