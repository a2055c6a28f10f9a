// Reading environment variables and finding PYPTO_ names that mean nothing.
#include "pypto/base/environment.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace pypto::base {
namespace {

TEST(Environment, IntegerOutsideItsRangeOrMalformedIsNothing) {
  setenv("PYPTO_MOCK_CORES", "8", 1);
  EXPECT_EQ(GetEnvironmentInt("PYPTO_MOCK_CORES", 1, 64), 8);
  EXPECT_FALSE(GetEnvironmentInt("PYPTO_MOCK_CORES", 9, 64));
  setenv("PYPTO_MOCK_CORES", "8x", 1);
  EXPECT_FALSE(GetEnvironmentInt("PYPTO_MOCK_CORES", 1, 64));
  unsetenv("PYPTO_MOCK_CORES");
  EXPECT_FALSE(GetEnvironmentInt("PYPTO_MOCK_CORES", 1, 64));
}

TEST(Environment, UnknownPyptoNamesAreFound) {
  setenv("PYPTO_MOCK_COERS", "8", 1);
  setenv("PYPTO_SIMD", "plain", 1);
  EXPECT_THAT(UnknownPyptoVariables(), testing::Contains("PYPTO_MOCK_COERS"));
  EXPECT_THAT(UnknownPyptoVariables(), testing::Not(testing::Contains("PYPTO_SIMD")));
  unsetenv("PYPTO_MOCK_COERS");
  unsetenv("PYPTO_SIMD");
}

}  // namespace
}  // namespace pypto::base
