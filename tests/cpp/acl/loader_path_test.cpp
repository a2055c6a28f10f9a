// The search in the loader's own path: a link stub under the first vendor name is passed over.
#include <gtest/gtest.h>

#include "acl/fake_library.h"
#include "pypto/acl/loader.h"

namespace pypto::acl {
namespace {

TEST(LoaderPath, TheSearchGoesOnBehindALinkStub) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", nullptr);
  const ScopedEnvironment home("ASCEND_HOME_PATH", nullptr);
  const auto table = LoadFor(PlatformKind::kHardware, LoadOptions());
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("stub_first/libacl_rt.so"));
  EXPECT_TRUE(HardwareLibraryFound(LoadOptions()));
}

TEST(LoaderPath, OfTwoUsableLibrariesTheFirstIsTakenAndTheProbeTellsOfBoth) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", nullptr);
  const ScopedEnvironment home("ASCEND_HOME_PATH", FakePath("home").c_str());
  const auto table = LoadFor(PlatformKind::kHardware, LoadOptions());
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("stub_first/libacl_rt.so"));
  const std::vector<LibraryTrial> trials = ProbeLibraries(PlatformKind::kHardware, LoadOptions());
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_FALSE(trials[0].usable);
  EXPECT_NE(trials[0].reason.find("is a link stub of the toolkit (its functions answer 100039)"), std::string::npos);
  EXPECT_TRUE(trials[1].usable);
  EXPECT_EQ(trials[1].path, FakePath("stub_first/libacl_rt.so"));
  EXPECT_TRUE(trials[2].absent);
  EXPECT_TRUE(trials[3].usable);
  EXPECT_EQ(trials[3].path, FakePath("home/lib64/libacl_rt.so"));
  EXPECT_EQ(trials[3].route, LaunchRoute::kHostArgs);
  EXPECT_TRUE(trials[3].missing_optional.empty());
}

TEST(LoaderPath, ANamedLibraryWinsOverWhatTheSearchWouldFind) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", FakePath("complete.so").c_str());
  const auto table = LoadFor(PlatformKind::kHardware, LoadOptions());
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("complete.so"));
  EXPECT_EQ(ProbeLibraries(PlatformKind::kHardware, LoadOptions()).size(), 1u);
}

TEST(LoaderPath, SimulatorsDoNotSearch) {
  const auto table = LoadFor(PlatformKind::kSimulator, LoadOptions());
  EXPECT_FALSE(table.ok());
}

}  // namespace
}  // namespace pypto::acl
