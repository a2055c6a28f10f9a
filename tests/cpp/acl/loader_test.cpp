// Which library is taken, which is refused, and what is said about it.
#include "pypto/acl/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acl/fake_library.h"
#include "pypto/acl/layers/call_log.h"
#include "pypto/acl/layers/validation.h"

namespace pypto::acl {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Failure {
  std::string text;
  std::string failure_class;
  std::string symbol;
};

Failure FailToLoad(PlatformKind kind, const LoadOptions& options) {
  const auto table = LoadFor(kind, options);
  EXPECT_FALSE(table.ok());
  if (table.ok()) return {};
  EXPECT_EQ(table.status().code(), base::StatusCode::kDeviceUnavailable);
  return {table.status().ToString(), table.status().acl_failure()->failure_class, table.status().acl_failure()->call};
}

TEST(Loader, ACompleteLibraryIsTakenWithItsRealPath) {
  const auto table = LoadFor(PlatformKind::kHardware, FakeOptions("../fake_acl/complete.so"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("complete.so"));
  EXPECT_FALSE((*table)->is_mock());
}

TEST(Loader, TheVariableNamesTheLibrary) {
  const ScopedEnvironment variable("PYPTO_ACL_LIBRARY", FakePath("second.so").c_str());
  const auto table = LoadFor(PlatformKind::kHardware, LoadOptions());
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("second.so"));
  EXPECT_TRUE(HardwareLibraryFound(LoadOptions()));
}

TEST(Loader, NothingFoundNamesEveryPlaceAndTheSimulator) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", nullptr);
  const ScopedEnvironment home("ASCEND_HOME_PATH", "/nonexistent/ascend");
  const Failure failure = FailToLoad(PlatformKind::kHardware, LoadOptions());
  EXPECT_EQ(failure.failure_class, "library_not_found");
  EXPECT_THAT(failure.text, HasSubstr("libascendcl.so: not in the loader's path"));
  EXPECT_THAT(failure.text, HasSubstr("libacl_rt.so: not in the loader's path"));
  EXPECT_THAT(failure.text, HasSubstr("/nonexistent/ascend/lib64/libascendcl.so: no such file"));
  EXPECT_THAT(failure.text, HasSubstr("platform 'a2a3'"));
  EXPECT_THAT(failure.text, HasSubstr("'a2a3sim' runs the same program on the CPU"));
  EXPECT_THAT(failure.text, HasSubstr("PYPTO_ACL_LIBRARY"));
  EXPECT_FALSE(HardwareLibraryFound(LoadOptions()));
}

TEST(Loader, AnUnsetHomeIsMentioned) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", nullptr);
  const ScopedEnvironment home("ASCEND_HOME_PATH", nullptr);
  EXPECT_THAT(FailToLoad(PlatformKind::kHardware, LoadOptions()).text, HasSubstr("$ASCEND_HOME_PATH is not set"));
}

TEST(Loader, TheHomeOfTheToolkitIsSearched) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", nullptr);
  const ScopedEnvironment home("ASCEND_HOME_PATH", FakePath("home").c_str());
  const auto table = LoadFor(PlatformKind::kHardware, LoadOptions());
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("home/lib64/libacl_rt.so"));
  EXPECT_TRUE(HardwareLibraryFound(LoadOptions()));
}

TEST(Loader, AMockThatNobodyNamedDoesNotServeHardware) {
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", nullptr);
  const ScopedEnvironment home("ASCEND_HOME_PATH", FakePath("mock_home").c_str());
  const Failure failure = FailToLoad(PlatformKind::kHardware, LoadOptions());
  EXPECT_EQ(failure.failure_class, "wrong_library");
  EXPECT_THAT(failure.text, HasSubstr(FakePath("mock_home/lib64/libascendcl.so") + ": is pypto's mock"));
  EXPECT_FALSE(HardwareLibraryFound(LoadOptions()));
}

TEST(Loader, AMockThatIsNamedServesHardware) {
  const auto table = LoadFor(PlatformKind::kHardware, FakeOptions("mock.so"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_TRUE((*table)->is_mock());
}

TEST(Loader, ANamedLibraryThatIsMissingIsNotReplaced) {
  const Failure failure = FailToLoad(PlatformKind::kHardware, FakeOptions("absent.so"));
  EXPECT_EQ(failure.failure_class, "library_not_found");
  EXPECT_THAT(failure.text, HasSubstr(FakePath("absent.so") + ": no such file (named by the caller)"));
  EXPECT_THAT(failure.text, Not(HasSubstr("libascendcl")));
}

TEST(Loader, ALinkStubIsAWrongLibrary) {
  const Failure failure = FailToLoad(PlatformKind::kHardware, FakeOptions("stub.so"));
  EXPECT_EQ(failure.failure_class, "wrong_library");
  EXPECT_THAT(failure.text, HasSubstr(FakePath("stub.so") + ": is a link stub"));
}

TEST(Loader, MissingRequiredSymbolsAreNamed) {
  const Failure failure = FailToLoad(PlatformKind::kHardware, FakeOptions("without_malloc.so"));
  EXPECT_EQ(failure.failure_class, "symbol_missing");
  EXPECT_EQ(failure.symbol, "aclrtMalloc");
  EXPECT_THAT(failure.text, HasSubstr(FakePath("without_malloc.so") + ": lacks aclrtMalloc, aclrtMemcpy"));
}

TEST(Loader, ALibraryThatCannotLaunchIsRefused) {
  const Failure failure = FailToLoad(PlatformKind::kHardware, FakeOptions("no_route.so"));
  EXPECT_EQ(failure.failure_class, "symbol_missing");
  EXPECT_THAT(failure.text, HasSubstr("can launch no kernel"));
}

TEST(Loader, AnUnrelatedLibraryIsRefused) {
  const Failure failure = FailToLoad(PlatformKind::kHardware, FakeOptions("unrelated.so"));
  EXPECT_EQ(failure.failure_class, "wrong_library");
  EXPECT_THAT(failure.text, HasSubstr("is not an ACL library"));
}

TEST(Loader, AMissingDependencyIsNotAMissingLibrary) {
  const Failure failure = FailToLoad(PlatformKind::kHardware, FakeOptions("needs.so"));
  EXPECT_EQ(failure.failure_class, "wrong_library");
  EXPECT_THAT(failure.text, HasSubstr("cannot be opened (libneeded_by_fake.so"));
}

TEST(Loader, AnOlderInterfaceIsEnough) {
  const auto table = LoadFor(PlatformKind::kHardware, FakeOptions("older.so"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_FALSE((*table)->Has(CallId::aclrtLaunchKernelWithHostArgs));
}

TEST(Loader, AnOlderInterfaceLaunchesThroughArgumentLists) {
  LoadOptions options = FakeOptions("older.so");
  const auto table = LoadFor(PlatformKind::kHardware, options);
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->launch_route(), LaunchRoute::kKernelArgs);
  EXPECT_EQ((*LoadFor(PlatformKind::kHardware, FakeOptions("complete.so")))->launch_route(), LaunchRoute::kHostArgs);
  const std::vector<LibraryTrial> trials = ProbeLibraries(PlatformKind::kHardware, options);
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_EQ(trials[0].route, LaunchRoute::kKernelArgs);
  EXPECT_THAT(trials[0].missing_optional, testing::Contains("aclrtLaunchKernelWithHostArgs"));
}

TEST(Loader, TheProbeSaysWhyEachCandidateIsRefused) {
  const auto reason = [](const char* file) {
    const std::vector<LibraryTrial> trials = ProbeLibraries(PlatformKind::kHardware, FakeOptions(file));
    EXPECT_EQ(trials.size(), 1u);
    EXPECT_FALSE(trials[0].usable);
    return trials[0];
  };
  EXPECT_TRUE(reason("absent.so").absent);
  EXPECT_FALSE(reason("stub.so").absent);
  EXPECT_THAT(reason("stub.so").reason, HasSubstr("is a link stub"));
  EXPECT_THAT(reason("without_malloc.so").reason, HasSubstr("lacks aclrtMalloc, aclrtMemcpy"));
  EXPECT_THAT(reason("no_route.so").reason, HasSubstr("can launch no kernel"));
  EXPECT_THAT(reason("needs.so").reason, HasSubstr("cannot be opened"));
}

TEST(Loader, SimulatorsTakeOnlyTheMock) {
  // The variable is about hardware platforms.
  const ScopedEnvironment library("PYPTO_ACL_LIBRARY", FakePath("complete.so").c_str());
  LoadOptions options;
  options.mock_path = FakePath("mock.so");
  const auto table = LoadFor(PlatformKind::kSimulator, options);
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ((*table)->library_path(), FakePath("mock.so"));

  options.mock_path = FakePath("complete.so");
  EXPECT_THAT(FailToLoad(PlatformKind::kSimulator, options).text, HasSubstr("is not pypto's mock"));
  options.mock_path = FakePath("absent.so");
  const Failure absent = FailToLoad(PlatformKind::kSimulator, options);
  EXPECT_EQ(absent.failure_class, "library_not_found");
  EXPECT_THAT(absent.text, HasSubstr("'a2a3sim' is served by the mock ACL library of the package"));
  options.mock_path = "";
  EXPECT_THAT(FailToLoad(PlatformKind::kSimulator, options).text, HasSubstr("no path is given"));
}

TEST(Loader, LayersComeFromTheVariableAndTheCallWins) {
  const ScopedEnvironment variable("PYPTO_ACL_LAYERS", "validation, log");
  LoadOptions options = FakeOptions("complete.so");
  options.layers.reset();
  const auto from_variable = LoadFor(PlatformKind::kHardware, options);
  ASSERT_TRUE(from_variable.ok()) << from_variable.status().ToString();
  EXPECT_NE((*from_variable)->FindLayer<ValidationLayer>(), nullptr);
  EXPECT_NE((*from_variable)->FindLayer<CallLogLayer>(), nullptr);
  options.layers = "log";
  const auto from_call = LoadFor(PlatformKind::kHardware, options);
  ASSERT_TRUE(from_call.ok());
  EXPECT_EQ((*from_call)->FindLayer<ValidationLayer>(), nullptr);
}

TEST(Loader, AnUnknownLayerIsAnErrorThatNamesTheVariable) {
  const ScopedEnvironment variable("PYPTO_ACL_LAYERS", "validation,tracer");
  LoadOptions options = FakeOptions("complete.so");
  options.layers.reset();
  const auto table = LoadFor(PlatformKind::kHardware, options);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), base::StatusCode::kInvalidArgument);
  EXPECT_THAT(table.status().ToString(), HasSubstr("PYPTO_ACL_LAYERS"));
  EXPECT_THAT(table.status().ToString(), HasSubstr("'tracer': the layers are validation, fault and log"));
}

}  // namespace
}  // namespace pypto::acl
