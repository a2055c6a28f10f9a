// Remainders, whole quotients and rounding at a decimal: bit for bit what FP64 gives element by element, in every set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "device/simd_tables.h"

namespace pypto::device::simd {
namespace {

float Remainder(float x, float y) {
  double rest = std::fmod(static_cast<double>(x), static_cast<double>(y));
  if (rest != 0 && (rest < 0) != (y < 0)) rest += static_cast<double>(y);
  return static_cast<float>(rest);
}
float Fmod(float x, float y) { return static_cast<float>(std::fmod(static_cast<double>(x), static_cast<double>(y))); }
float FloorDiv(float x, float y) {
  if (y == 0) return x / y;
  const double rest = std::fmod(static_cast<double>(x), static_cast<double>(y));
  double quotient = (static_cast<double>(x) - rest) / static_cast<double>(y);
  if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0F, std::signbit(x) == std::signbit(y) ? 1.0F : -1.0F);
  return static_cast<float>(std::round(quotient));
}
float RoundAt(float x, float places) {
  const double scale = std::pow(10.0, std::fabs(static_cast<double>(places)));
  const double wide = static_cast<double>(x);
  const double shifted = places >= 0 ? wide * scale : wide / scale;
  if (!(std::fabs(shifted) < 0x1p52)) return x;
  const double whole = std::copysign(std::nearbyint(shifted), wide);
  return static_cast<float>(places >= 0 ? whole / scale : whole * scale);
}

struct Pairs {
  std::vector<float> x;
  std::vector<float> y;
  void Add(float left, float right) {
    x.push_back(left);
    y.push_back(right);
  }
};

// Zeros, infinities and NaN with each other; any bits; quotients next to integers; multiples; divisors of all sizes.
Pairs MakePairs() {
  Pairs pairs;
  const float inf = HUGE_VALF;
  const std::vector<float> specials = {
      0.0F,   -0.0F,   1.0F,   -1.0F,   inf,      -inf,       std::nanf(""), 3.0F,       -3.0F,       0.1F,       -0.1F,
      1e-45F, -1e-45F, 1e-38F, 3.4e38F, -3.4e38F, 4194304.0F, 4194303.0F,    8388607.0F, 16777215.0F, 0.33333334F};
  for (const float x : specials) {
    for (const float y : specials) pairs.Add(x, y);
  }
  uint32_t state = 1;
  const auto next = [&state] { return state = state * 1664525U + 1013904223U; };
  const auto number = [&next](float scale) { return static_cast<float>(static_cast<int32_t>(next()) >> 8) * scale; };
  for (int i = 0; i < 40000; ++i) {
    pairs.Add(std::bit_cast<float>(next()), std::bit_cast<float>(next()));
    pairs.Add(number(1e-6F), number(1e-6F));
    pairs.Add(number(1e-3F), number(1e-9F));
    const float divisor = number(1e-5F);
    const float near = divisor * std::rint(number(1e-3F));
    for (int step = -1; step <= 1; ++step) {
      pairs.Add(std::bit_cast<float>(std::bit_cast<uint32_t>(near) + static_cast<uint32_t>(step)), divisor);
    }
    pairs.Add(std::rint(number(1e-2F)), std::rint(number(1e-5F)));
    pairs.Add(std::bit_cast<float>(next() & 0x80ffffffU), std::bit_cast<float>(next() & 0x80ffffffU));
  }
  return pairs;
}

void ExpectSame(const KernelTable& table, float got, float expected, float x, float y) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(got)) << table.name << ": " << x << ", " << y << " is " << got;
    return;
  }
  ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
      << table.name << ": " << x << ", " << y << " is " << got << ", not " << expected;
}

TEST(Division, FloatsAreWhatFp64Gives) {
  const Pairs pairs = MakePairs();
  const struct {
    ElementwiseKernel kernel;
    float (*reference)(float, float);
  } functions[] = {{kElementwiseFmod, Fmod}, {kElementwiseRemainder, Remainder}, {kElementwiseFloorDiv, FloorDiv}};
  for (const KernelTable* table : Tables()) {
    for (const auto& function : functions) {
      SCOPED_TRACE(int{function.kernel});
      const std::vector<float> out = Apply(*table, function.kernel, pairs.x, pairs.y);
      for (size_t i = 0; i < out.size(); ++i) {
        ExpectSame(*table, out[i], function.reference(pairs.x[i], pairs.y[i]), pairs.x[i], pairs.y[i]);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Division, IntegersFloorWrapAndTakeZeroDivisors) {
  constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
  const std::vector<int32_t> specials = {0, 1, -1, 2, -2, 3, -7, 46341, kLowest, kLowest + 1, -(kLowest + 1), 1 << 30};
  std::vector<int32_t> x;
  std::vector<int32_t> y;
  uint32_t state = 7;
  const auto next = [&state] { return static_cast<int32_t>(state = state * 1664525U + 1013904223U); };
  for (const int32_t left : specials) {
    for (const int32_t right : specials) x.push_back(left), y.push_back(right);
  }
  for (int i = 0; i < 50000; ++i) x.push_back(next()), y.push_back(next() >> (i % 31));
  for (const KernelTable* table : Tables()) {
    const auto floors = Apply(*table, kElementwiseFloorDiv, x, y);
    const auto ceils = Apply(*table, kElementwiseCeilDiv, x, y);
    const auto rests = Apply(*table, kElementwiseRemainder, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t a = x[i];
      const int64_t b = y[i] == 0 ? 1 : y[i];
      const int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      const int64_t ceil = a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
      const bool zero = y[i] == 0;
      ASSERT_EQ(floors[i], zero ? 0 : static_cast<int32_t>(floor)) << table->name << ": " << a << " by " << y[i];
      ASSERT_EQ(ceils[i], zero ? 0 : static_cast<int32_t>(ceil)) << table->name << ": " << a << " by " << y[i];
      ASSERT_EQ(rests[i], zero ? 0 : static_cast<int32_t>(a - floor * b)) << table->name << ": " << a << " by " << y[i];
    }
  }
}

// FP32 whose products with a power of ten are next to a tie, up to where every FP32 is whole.
TEST(Division, RoundingNextToTiesIsWhatFp64Gives) {
  double power = 1;
  for (int places = 0; places <= 12; ++places, power *= 10) {
    std::vector<float> x;
    for (int32_t n = 0; n < 1 << 25; n += n < 4000 ? 1 : 2039) {
      const auto tie = static_cast<float>((n + 0.5) / power);
      for (int32_t step = -1; step <= 1; ++step) {
        x.push_back(std::bit_cast<float>(std::bit_cast<int32_t>(tie) + step));
        x.push_back(-x.back());
      }
    }
    for (const KernelTable* table : Tables()) {
      const std::vector<float> out = Apply(*table, kElementwiseRoundAt, x, {static_cast<float>(places)});
      for (size_t i = 0; i < out.size(); ++i) {
        ExpectSame(*table, out[i], RoundAt(x[i], static_cast<float>(places)), x[i], static_cast<float>(places));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Division, RoundingAtADecimalIsWhatFp64Gives) {
  std::vector<float> x = MakePairs().x;
  // Ties, and what lies next to them.
  for (int i = -3000; i <= 3000; ++i) {
    const float tie = static_cast<float>(i) * 0.125F;
    for (int step = -1; step <= 1; ++step) {
      x.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(tie) + static_cast<uint32_t>(step)));
    }
    x.push_back(static_cast<float>(i) * 5.0F);
    x.push_back(static_cast<float>(i) * 0.005F);
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) x.push_back(std::bit_cast<float>(bits << 16));
  for (const KernelTable* table : Tables()) {
    for (const float places : {0.0F, 1.0F, 2.0F, 3.0F, 7.0F, 10.0F, 11.0F, 15.0F, 22.0F, 23.0F, 40.0F, -1.0F, -2.0F,
                               -5.0F, -22.0F, -23.0F, -40.0F}) {
      const std::vector<float> out = Apply(*table, kElementwiseRoundAt, x, {places});
      for (size_t i = 0; i < out.size(); ++i) {
        ExpectSame(*table, out[i], RoundAt(x[i], places), x[i], places);
        if (HasFatalFailure()) return;
      }
    }
    // Places of their own for each element.
    const std::vector<float> mixed = {1.0F, -1.0F, 0.0F, 2.0F, 3.0F};
    const std::vector<float> out =
        Apply(*table, kElementwiseRoundAt, {12.345F, 12.345F, 12.345F, 12.345F, 12.345F}, mixed);
    for (size_t i = 0; i < out.size(); ++i) ExpectSame(*table, out[i], RoundAt(12.345F, mixed[i]), 12.345F, mixed[i]);
  }
}

}  // namespace
}  // namespace pypto::device::simd
