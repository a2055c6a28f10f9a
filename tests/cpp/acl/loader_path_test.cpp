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

TEST(LoaderPath, SimulatorsDoNotSearch) {
  const auto table = LoadFor(PlatformKind::kSimulator, LoadOptions());
  EXPECT_FALSE(table.ok());
}

}  // namespace
}  // namespace pypto::acl
