// Kernel tables: choice, accuracy over the whole range, agreement between instruction sets.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "device/simd_tables.h"
#include "pypto/device/engine.h"
#include "pypto/device/halves.h"

namespace pypto::device::simd {
namespace {

TEST(Simd, NamesChooseTables) {
  EXPECT_STREQ(SelectKernels("plain").table->name, "plain");
  ASSERT_NE(SelectKernels("").table, nullptr);
  const Selection unknown = SelectKernels("avx9000");
  EXPECT_EQ(unknown.table, nullptr);
  EXPECT_NE(unknown.error.find("PYPTO_SIMD=avx9000 names no set of kernels; unset it, or choose one of plain"),
            std::string::npos)
      << unknown.error;
  // The best set is the last one there is.
  EXPECT_EQ(SelectKernels("").table, Tables().back());
}

TEST(Simd, TheEnvironmentForcesASet) {
  const char* forced = std::getenv("PYPTO_SIMD");
  if (forced == nullptr || *forced == '\0') GTEST_SKIP() << "PYPTO_SIMD is not set";
  ASSERT_NE(ActiveKernels().table, nullptr) << ActiveKernels().error;
  EXPECT_STREQ(ActiveKernels().table->name, forced);
}

TEST(Simd, AnUnknownSetIsSaidByEveryLaunch) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto refused = [] {
    setenv("PYPTO_SIMD", "avx9000", 1);
    class NoMemory final : public AddressMap {
      std::byte* Translate(uint64_t, uint64_t) const noexcept override { return nullptr; }
    };
    class NoProgram final : public Executable {
      std::string_view entry() const noexcept override { return ""; }
      std::string_view platform() const noexcept override { return "a2a3sim"; }
    };
    const LaunchOutcome outcome = Engine::Make({})->Run(NoProgram(), {}, NoMemory(), nullptr);
    std::fprintf(stderr, "%s\n", outcome.message.c_str());
    std::exit(outcome.acl_code == 507015 ? 3 : 1);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(3), "PYPTO_SIMD=avx9000 names no set of kernels");
}

std::vector<float> Apply(const KernelTable& table, ElementwiseKernel kernel, const std::vector<float>& in) {
  std::vector<float> out(in.size());
  const RowArgs args{1, static_cast<int64_t>(in.size()), out.data(), 0, in.data(), 0, 1, nullptr, 0, 0, nullptr, 0, 0};
  table.rows[kKindF32][kernel](&args);
  return out;
}

// Bit patterns spread over all floats, NaN and infinities included.
std::vector<float> Patterns() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 16411) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const float special : {0.0F, -0.0F, 1.0F, -1.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 88.722839F, 88.72284F,
                              -103.97F, -103.98F, -87.33655F, 1e-40F, 3.9F, 4.1F, 0.65F, 0.935F}) {
    values.push_back(special);
  }
  return values;
}

double Sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

float HalfValue(uint16_t bits) {
  float value = 0;
  SelectKernels("plain").table->load[kF16](&value, &bits, 1, 1);
  return value;
}

struct Function {
  ElementwiseKernel kernel;
  double (*reference)(double);
  double ulps;
};

TEST(Simd, FunctionsAreAccurateEverywhere) {
  const std::vector<Function> functions = {
      {kElementwiseExp, std::exp, 1.0},
      {kElementwiseLog, std::log, 1.0},
      {kElementwiseTanh, std::tanh, 2.0},
      {kElementwiseErf, std::erf, 2.0},
      {kElementwiseSqrt, std::sqrt, 0.5},
      {kElementwiseAbs, std::fabs, 0},
      {kElementwiseReciprocal, [](double x) { return 1 / x; }, 0.5},
      {kElementwiseRsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5},
      {kElementwiseSigmoid, Sigmoid, 2.5},
      {kElementwiseSin, std::sin, 0.51},
      {kElementwiseCos, std::cos, 0.51},
  };
  std::vector<float> in = Patterns();
  // Every value of FP16 and BF16.
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    in.push_back(std::bit_cast<float>(bits << 16));
    in.push_back(HalfValue(static_cast<uint16_t>(bits)));
  }
  for (const KernelTable* table : Tables()) {
    for (const Function& function : functions) {
      const std::vector<float> out = Apply(*table, function.kernel, in);
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        const double exact = function.reference(in[i]);
        const auto rounded = static_cast<float>(exact);
        if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0) {
          const bool same = std::isnan(rounded) ? std::isnan(out[i]) : out[i] == rounded;
          ASSERT_TRUE(same) << table->name << " kernel " << int{function.kernel} << " of " << in[i] << " is " << out[i];
          continue;
        }
        const double ulp = std::ldexp(1.0, std::max(std::ilogb(rounded), -126) - 23);
        const double error = std::fabs(out[i] - exact) / ulp;
        if (error > worst) {
          worst = error;
          at = i;
        }
      }
      EXPECT_LE(worst, function.ulps) << table->name << " kernel " << int{function.kernel} << " at " << in[at];
    }
  }
}

double UlpsFrom(double exact, float value) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded)) return std::isnan(value) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || rounded == 0) {
    return value == rounded && std::signbit(value) == std::signbit(rounded) ? 0 : HUGE_VAL;
  }
  return std::fabs(value - exact) / std::ldexp(1.0, std::max(std::ilogb(rounded), -126) - 23);
}

TEST(Simd, PowersAreAccurateEverywhere) {
  const float specials[] = {
      0.0F,  -0.0F,  1.0F,  -1.0F,   HUGE_VALF,   -HUGE_VALF,   std::nanf(""), 2.0F,       -2.0F,  3.0F,   -3.0F,  0.5F,
      -0.5F, 1e-45F, 3e38F, -1e-45F, 16777216.0F, -16777215.0F, 0.9999999F,    1.0000001F, -35.0F, 1e-20F, -1e-20F};
  std::vector<float> x;
  std::vector<float> y;
  for (const float base : specials) {
    for (const float exponent : specials) {
      x.push_back(base);
      y.push_back(exponent);
    }
  }
  uint32_t state = 1;
  const auto next = [&state] { return state = state * 1664525U + 1013904223U; };
  for (int i = 0; i < 200000; ++i) {
    const float near_one = 1.0F + static_cast<float>(static_cast<int32_t>(next()) >> 8) * 1e-8F;
    x.push_back(i % 3 == 0 ? near_one : std::bit_cast<float>(next()));
    const float exponent = static_cast<float>(static_cast<int32_t>(next()) >> 8) * (i % 2 == 0 ? 4e-8F : 1e-5F);
    y.push_back(i % 5 == 0 ? std::rint(exponent) : exponent);
  }
  for (const KernelTable* table : Tables()) {
    const std::vector<float> out = Apply(*table, kElementwisePow, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
      ASSERT_LE(UlpsFrom(exact, out[i]), 0.51) << table->name << ": " << x[i] << " to the power " << y[i];
    }
  }
}

TEST(Simd, RunningSumsAreKeptInFp64) {
  for (const KernelTable* table : Tables()) {
    for (const int64_t n : {1, 3, 8, 17, 200}) {
      std::vector<float> data(static_cast<size_t>(n));
      for (size_t i = 0; i < data.size(); ++i) data[i] = 0.1F * static_cast<float>(i % 7) - 0.2F;
      std::vector<float> out(data.size() + 1, 5.0F);
      double sum = 3;
      table->running_sum(out.data(), data.data(), n, &sum);
      double exact = 3;
      for (size_t i = 0; i < data.size(); ++i) {
        exact += static_cast<double>(data[i]);
        EXPECT_EQ(out[i], static_cast<float>(exact)) << table->name << " " << n;
      }
      EXPECT_NEAR(sum, exact, 1e-12);
      EXPECT_EQ(out.back(), 5.0F);
    }
  }
}

TEST(Simd, RunningSumsOfColumnsAreThoseOfEachAlone) {
  constexpr size_t kRows = 9;
  for (const KernelTable* table : Tables()) {
    for (const int64_t n : {1, 3, 8, 17, 100}) {
      const auto columns = static_cast<size_t>(n);
      std::vector<double> sums(columns + 1, 0.25);
      std::vector<double> exact(columns, 0.25);
      for (size_t row = 0; row < kRows; ++row) {
        std::vector<float> cells(columns + 1, 5.0F);
        for (size_t i = 0; i < columns; ++i) cells[i] = 0.1F * static_cast<float>((row * 31 + i) % 7) - 0.2F;
        for (size_t i = 0; i < columns; ++i) exact[i] += static_cast<double>(cells[i]);
        table->running_sums(cells.data(), cells.data(), sums.data(), n);
        for (size_t i = 0; i < columns; ++i) {
          ASSERT_EQ(cells[i], static_cast<float>(exact[i])) << table->name << " " << n;
          ASSERT_EQ(sums[i], exact[i]);
        }
        ASSERT_EQ(cells.back(), 5.0F);
        ASSERT_EQ(sums.back(), 0.25);
      }
    }
  }
}

TEST(Simd, SignsOfZeroAreKept) {
  for (const KernelTable* table : Tables()) {
    for (const ElementwiseKernel kernel : {kElementwiseTanh, kElementwiseErf, kElementwiseSqrt, kElementwiseSin}) {
      const std::vector<float> out = Apply(*table, kernel, {-0.0F, 0.0F});
      EXPECT_TRUE(std::signbit(out[0])) << table->name << " kernel " << int{kernel};
      EXPECT_FALSE(std::signbit(out[1]));
    }
    // One value for a whole row keeps it too.
    std::vector<float> out(40);
    const float zero = -0.0F;
    const RowArgs args{1, 40, out.data(), 0, &zero, 0, 0, nullptr, 0, 0, nullptr, 0, 0};
    table->rows[kKindF32][kElementwiseSqrt](&args);
    EXPECT_TRUE(std::signbit(out[39]));
  }
}

TEST(Simd, ConversionsAgreeBitForBit) {
  const std::vector<float> in = Patterns();
  const auto tables = Tables();
  for (const Format format : {kF16, kBf16}) {
    std::vector<uint16_t> expected(in.size());
    tables[0]->store[format](expected.data(), 1, in.data(), static_cast<int64_t>(in.size()));
    std::vector<float> expected_back(in.size());
    tables[0]->load[format](expected_back.data(), expected.data(), 1, static_cast<int64_t>(in.size()));
    for (const KernelTable* table : tables) {
      std::vector<uint16_t> out(in.size());
      table->store[format](out.data(), 1, in.data(), static_cast<int64_t>(in.size()));
      std::vector<float> back(in.size());
      table->load[format](back.data(), out.data(), 1, static_cast<int64_t>(in.size()));
      for (size_t i = 0; i < in.size(); ++i) {
        if (std::isnan(in[i])) {
          ASSERT_TRUE(std::isnan(back[i])) << table->name;
          continue;
        }
        ASSERT_EQ(out[i], expected[i]) << table->name << " " << in[i];
        ASSERT_EQ(back[i], expected_back[i]) << table->name << " " << in[i];
      }
    }
  }
}

TEST(Simd, CodesOfEightBitsKeepTheirValuesInEverySet) {
  const std::vector<float> in = Patterns();
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  const auto tables = Tables();
  for (const Format format : {kE4m3, kE5m2, kE8m0, kHf8}) {
    std::vector<uint8_t> expected(in.size());
    tables[0]->store[format](expected.data(), 1, in.data(), static_cast<int64_t>(in.size()));
    for (const KernelTable* table : tables) {
      std::vector<float> values(256);
      table->load[format](values.data(), codes.data(), 1, 256);
      std::vector<uint8_t> back(512, 0xee);
      table->store[format](back.data(), 2, values.data(), 256);
      for (size_t i = 0; i < 256; ++i) {
        ASSERT_EQ(back[2 * i + 1], 0xee);
        if (std::isnan(values[i])) continue;
        ASSERT_EQ(back[2 * i], i) << table->name << " format " << int{format};
      }
      std::vector<uint8_t> out(in.size());
      table->store[format](out.data(), 1, in.data(), static_cast<int64_t>(in.size()));
      ASSERT_EQ(out, expected) << table->name << " format " << int{format};
      std::vector<float> fitted = in;
      table->fit[format](fitted.data(), static_cast<int64_t>(in.size()));
      for (size_t i = 0; i < in.size(); ++i) {
        const float value = values[out[i]];
        ASSERT_TRUE(std::isnan(value) ? std::isnan(fitted[i]) : fitted[i] == value) << table->name << " " << in[i];
      }
    }
  }
}

TEST(Simd, EveryLengthTouchesItsElementsOnly) {
  for (const KernelTable* table : Tables()) {
    for (int64_t n = 1; n < 70; ++n) {
      std::vector<float> a(80, 2.0F);
      std::vector<float> b(80, 3.0F);
      std::vector<float> out(80, -1.0F);
      for (const int64_t a_step : {0, 1}) {
        for (const int64_t b_step : {0, 1}) {
          const RowArgs args{1, n, out.data(), 0, a.data(), 0, a_step, b.data(), 0, b_step, nullptr, 0, 0};
          table->rows[kKindF32][kElementwiseMul](&args);
          for (int64_t i = 0; i < 80; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i < n ? 6.0F : -1.0F);
          std::fill(out.begin(), out.end(), -1.0F);
        }
      }
      ASSERT_EQ(table->reduce_f32[kReduceSum](a.data(), n), 2.0F * static_cast<float>(n));
      table->reduce_columns_f32[kReduceSum](out.data(), a.data(), 1, 3, n);
      for (int64_t i = 0; i < 80; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i < n ? 6.0F : -1.0F);
    }
  }
}

template <typename Element>
void CheckGemm(GemmKind kind, Format format, Element (*narrow)(int)) {
  constexpr int64_t kRows = 29;
  constexpr int64_t kColumns = 45;
  constexpr int64_t kTerms = 101;
  std::vector<int> a(kRows * kTerms);
  std::vector<int> b(kTerms * kColumns);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i * 7 % 17) - 8;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int>(i * 5 % 13) - 6;
  std::vector<Element> left(a.size());
  std::vector<Element> right(b.size());
  std::vector<Element> lines(b.size());
  for (size_t i = 0; i < a.size(); ++i) left[i] = narrow(a[i]);
  for (size_t i = 0; i < b.size(); ++i) right[i] = narrow(b[i]);
  for (size_t i = 0; i < b.size(); ++i) lines[i % kColumns * kTerms + i / kColumns] = right[i];
  for (const KernelTable* table : Tables()) {
    const GemmKernels& gemm = table->gemm[kind];
    const auto up = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
    const int64_t row_units = std::max(table->dot_row_units, kGemmRowUnits);
    std::vector<int32_t> packed_a(static_cast<size_t>(up(kRows, table->most_stream_rows) * row_units));
    std::vector<int32_t> heads(kRows);
    std::vector<int32_t> packed_b(static_cast<size_t>(up(kColumns, table->gemm_columns) * (kTerms + kGemmPanelGap)));
    const bool integers = kind == kGemmInt8;
    const auto value = [&](int32_t bits) { return integers ? bits : static_cast<int>(std::bit_cast<float>(bits)); };
    gemm.pack_b(packed_b.data(), right.data(), format, 1, kColumns, kColumns, kTerms);
    const GemmAsk asks[kGemmAsks] = {{right.data(), 48, 3, 100}, {}};
    const PackFunction packs[] = {gemm.pack_a, gemm.pack_few, gemm.pack_lines, gemm.copy_rows, gemm.pack_fours};
    const int64_t most[] = {kRows, table->most_stream_rows, gemm.most_dot_rows, kRows, gemm.most_fours_rows};
    for (const int way : {0, 1, 2, 3, 4}) {  // panels, rows of B, lines of B, rows of A, lines of B with fours of rows
      const int64_t rows = std::min(kRows, most[way]);
      if (rows == 0) continue;
      std::vector<int32_t> c(static_cast<size_t>(kRows * kColumns), 77);
      packs[way](packed_a.data(), left.data(), format, kTerms, 1, rows, kTerms);
      const int64_t row_bytes = kTerms * static_cast<int64_t>(sizeof(Element));
      if (gemm.row_heads != nullptr) gemm.row_heads(heads.data(), left.data(), row_bytes, rows, kTerms);
      for (const bool more : {false, true}) {
        const GemmOutput out{more ? c.data() : nullptr, kColumns, c.data(), kColumns, integers ? kI32 : kF32};
        if (way == 0) gemm.multiply(&out, packed_a.data(), packed_b.data(), rows, kColumns, kTerms, asks);
        const GemmRows copies{packed_a.data(), kGemmRowUnits * 4, heads.data()};
        if (way == 3) gemm.multiply_rows(&out, &copies, packed_b.data(), rows, kColumns, kTerms, asks);
        if (way == 1) gemm.stream(&out, packed_a.data(), right.data(), format, kColumns, rows, kColumns, kTerms);
        if (way == 2) gemm.dot(&out, packed_a.data(), lines.data(), format, kTerms, rows, kColumns, kTerms);
        if (way == 4) gemm.fours(&out, packed_a.data(), lines.data(), format, kTerms, rows, kColumns, kTerms);
      }
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < kColumns; ++column) {
          int sum = 0;
          for (int64_t k = 0; k < kTerms; ++k) {
            sum += a[static_cast<size_t>(row * kTerms + k)] * b[static_cast<size_t>(k * kColumns + column)];
          }
          ASSERT_EQ(value(c[static_cast<size_t>(row * kColumns + column)]), 2 * sum)
              << table->name << " row " << row << " column " << column << " way " << way;
        }
      }
      for (size_t i = static_cast<size_t>(rows * kColumns); i < c.size(); ++i) ASSERT_EQ(c[i], 77) << table->name;
    }
  }
}

TEST(Simd, PlacesOfLargeKeysAreFoundInOrder) {
  std::vector<int32_t> keys(203);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i * 37 % 101) - 50;
  keys[0] = keys[202] = INT32_MAX;
  keys[7] = INT32_MIN;
  for (const KernelTable* table : Tables()) {
    for (const int64_t n : {0, 1, 15, 16, 64, 203}) {
      for (const int32_t threshold : {INT32_MIN, -50, 0, 45, 50, INT32_MAX}) {
        std::vector<int32_t> expected;
        for (int64_t i = 0; i < n; ++i) {
          if (keys[static_cast<size_t>(i)] >= threshold) expected.push_back(static_cast<int32_t>(i));
        }
        const auto count = static_cast<int64_t>(expected.size());
        std::vector<int32_t> places(expected.size() + 1, -1);
        ASSERT_EQ(table->places_from(places.data(), keys.data(), n, threshold, count), count) << table->name;
        expected.push_back(-1);
        ASSERT_EQ(places, expected) << table->name << " from " << threshold << " of " << n;
        if (count > 0) {
          ASSERT_EQ(table->places_from(places.data(), keys.data(), n, threshold, count - 1), count) << table->name;
        }
      }
    }
  }
}

TEST(Simd, KeysCountThoseThatStandBeforeThem) {
  std::array<int32_t, kOrderedKeys> keys;
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i * 37 % 23) - 11;
  keys[0] = keys[9] = keys[63] = INT32_MAX;
  keys[7] = keys[8] = INT32_MIN;
  for (const KernelTable* table : Tables()) {
    for (const size_t n : {0, 1, 2, 15, 16, 17, 48, 63, 64}) {
      std::array<int32_t, kOrderedKeys> before;
      table->count_before(before.data(), keys.data(), static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) {
        int32_t expected = 0;
        for (size_t j = 0; j < n; ++j) expected += keys[j] > keys[i] || (keys[j] == keys[i] && j < i) ? 1 : 0;
        ASSERT_EQ(before[i], expected) << table->name << ": key " << i << " of " << n;
      }
    }
  }
}

TEST(Simd, SetsAgreeOnMatrixProducts) {
  CheckGemm<float>(kGemmFloat, kF32, [](int x) { return static_cast<float>(x); });
  CheckGemm<uint16_t>(kGemmBf16, kBf16, [](int x) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16);
  });
  CheckGemm<int8_t>(kGemmInt8, kI8, [](int x) { return static_cast<int8_t>(x); });
}

// Elements one by one come out as rows do.
TEST(Simd, SingleHalvesAreThoseOfTheTables) {
  const auto same = [](uint16_t a, uint16_t b, float value) { return std::isnan(value) || a == b; };
  for (const KernelTable* table : Tables()) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      float values[2];
      table->load[kF16](&values[0], &half, 1, 1);
      table->load[kBf16](&values[1], &half, 1, 1);
      const float single[] = {FromFp16(half), FromBf16(half)};
      for (int i = 0; i < 2; ++i) {
        if (std::isnan(values[i])) {
          ASSERT_TRUE(std::isnan(single[i]));
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(single[i]), std::bit_cast<uint32_t>(values[i])) << table->name << bits;
        }
      }
    }
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) {
      const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      uint16_t halves[2];
      table->store[kF16](&halves[0], 1, &value, 1);
      table->store[kBf16](&halves[1], 1, &value, 1);
      ASSERT_TRUE(same(ToFp16(value), halves[0], value)) << table->name << " " << value;
      ASSERT_TRUE(same(ToBf16(value), halves[1], value)) << table->name << " " << value;
    }
  }
}

}  // namespace
}  // namespace pypto::device::simd
