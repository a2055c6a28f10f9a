// Functions that are computed in FP64 and rounded once: their accuracy over all magnitudes, every half and the special
// values, in every set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "device/simd_tables.h"

namespace pypto::device::simd {
namespace {

constexpr double kUlps = 0.51;
constexpr double kExp2Ulps = 1.0;  // computed in FP32

// Signs of zeros count.
double UlpsFrom(double exact, float value) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded)) return std::isnan(value) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || rounded == 0) {
    return value == rounded && std::signbit(value) == std::signbit(rounded) ? 0 : HUGE_VAL;
  }
  return std::fabs(value - exact) / std::ldexp(1.0, std::max(std::ilogb(rounded), -126) - 23);
}

// Bits spread over all floats, every half, numbers near those where formulas change, and special values.
std::vector<float> Arguments() {
  std::vector<float> values = {0.0F,    -0.0F, 1.0F, -1.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e-45F,
                               -1e-45F, 2.0F,  8.0F, 27.0F, 10.0F,     1000.0F,    3.4028235e38F, -3.4028235e38F};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 20011) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  const Selection plain = SelectKernels("plain");
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    values.push_back(std::bit_cast<float>(bits << 16));
    const auto half = static_cast<uint16_t>(bits);
    float value = 0;
    plain.table->load[kF16](&value, &half, 1, 1);
    values.push_back(value);
  }
  for (int i = -30000; i <= 30000; ++i) values.push_back(static_cast<float>(i) * 3.7e-4F);
  for (const float edge : {0.5F, 1.0F, 0.41421357F, 2.4142137F, 9.765625e-4F, 9.536743e-7F, 0.34657359F, 1.5707964F,
                           10.0540619F, 88.72284F, 89.41599F, 128.0F, 149.0F, 4194304.0F, 0.70710677F, 1.4142135F}) {
    const auto bits = std::bit_cast<int32_t>(edge);
    for (int32_t step = -200; step <= 200; ++step) {
      const auto near = std::bit_cast<float>(bits + step);
      values.push_back(near);
      values.push_back(-near);
    }
  }
  return values;
}

TEST(WideFunctions, AreRoundedOnceEverywhere) {
  const struct {
    ElementwiseKernel kernel;
    double (*reference)(double);
  } functions[] = {{kElementwiseTan, std::tan},     {kElementwiseAsin, std::asin},   {kElementwiseAcos, std::acos},
                   {kElementwiseAtan, std::atan},   {kElementwiseSinh, std::sinh},   {kElementwiseCosh, std::cosh},
                   {kElementwiseAsinh, std::asinh}, {kElementwiseAcosh, std::acosh}, {kElementwiseAtanh, std::atanh},
                   {kElementwiseCbrt, std::cbrt},   {kElementwiseErfc, std::erfc},   {kElementwiseExpm1, std::expm1},
                   {kElementwiseExp2, std::exp2},   {kElementwiseLog1p, std::log1p}, {kElementwiseLog2, std::log2},
                   {kElementwiseLog10, std::log10}};
  const std::vector<float> in = Arguments();
  std::vector<double> exact(in.size());
  for (const auto& function : functions) {
    for (size_t i = 0; i < in.size(); ++i) exact[i] = function.reference(static_cast<double>(in[i]));
    for (const KernelTable* table : Tables()) {
      const std::vector<float> out = Apply(*table, function.kernel, in);
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        const double error = UlpsFrom(exact[i], out[i]);
        if (error > worst) worst = error, at = i;
      }
      EXPECT_LE(worst, function.kernel == kElementwiseExp2 ? kExp2Ulps : kUlps)
          << table->name << " kernel " << int{function.kernel} << " of " << in[at] << " is " << out[at] << ", not "
          << exact[at];
    }
  }
}

TEST(WideFunctions, OfTwoAreRoundedOnceEverywhere) {
  const float specials[] = {0.0F,     -0.0F,  1.0F,    -1.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 3.4e38F,
                            -3.4e38F, 1e-45F, -1e-45F, 3.0F,  -4.0F,     2.4142137F, 0.41421357F};
  std::vector<float> x;
  std::vector<float> y;
  for (const float left : specials) {
    for (const float right : specials) {
      x.push_back(left);
      y.push_back(right);
    }
  }
  uint32_t state = 3;
  const auto next = [&state] { return state = state * 1664525U + 1013904223U; };
  const auto number = [&next] { return static_cast<float>(static_cast<int32_t>(next()) >> 8) * 1e-6F; };
  for (int i = 0; i < 200000; ++i) {
    x.push_back(i % 3 == 0 ? std::bit_cast<float>(next()) : number());
    y.push_back(i % 3 == 1 ? std::bit_cast<float>(next()) : number());
  }
  const struct {
    ElementwiseKernel kernel;
    double (*reference)(double, double);
  } functions[] = {{kElementwiseAtan2, std::atan2}, {kElementwiseHypot, std::hypot}};
  for (const KernelTable* table : Tables()) {
    for (const auto& function : functions) {
      const std::vector<float> out = Apply(*table, function.kernel, x, y);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = function.reference(static_cast<double>(x[i]), static_cast<double>(y[i]));
        ASSERT_LE(UlpsFrom(exact, out[i]), kUlps) << table->name << " kernel " << int{function.kernel} << " of " << x[i]
                                                  << ", " << y[i] << " is " << out[i] << ", not " << exact;
      }
    }
  }
}

}  // namespace
}  // namespace pypto::device::simd
