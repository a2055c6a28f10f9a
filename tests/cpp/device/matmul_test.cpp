// Matrix products.
#include <gtest/gtest.h>

#include <cmath>

#include "device/plan_maker.h"
#include "device/reference.h"
#include "pypto/device/executable.h"
#include "pypto/device/matrix.h"
#include "pypto/device/scratch.h"
#include "pypto/device/simd/select.h"
#include "pypto/device/task.h"

namespace pypto::device::testing {
namespace {

struct Types {
  DType input;
  DType output;
};
const std::vector<Types> kTypes = {{DType::kFp32, DType::kFp32}, {DType::kFp16, DType::kFp32},
                                   {DType::kFp16, DType::kFp16}, {DType::kBf16, DType::kFp32},
                                   {DType::kBf16, DType::kBf16}, {DType::kInt8, DType::kInt32}};

struct Problem {
  int64_t m, n, k;
  bool a_trans = false;
  bool b_trans = false;
  int64_t tile_m = 128;
  int64_t tile_n = 128;
};

void CheckProduct(const Problem& p, const Types& types, uint32_t cores = 1) {
  PlanMaker maker;
  const uint32_t a = maker.Parameter(types.input, p.a_trans ? Dims{p.k, p.m} : Dims{p.m, p.k});
  const uint32_t b = maker.Parameter(types.input, p.b_trans ? Dims{p.n, p.k} : Dims{p.k, p.n});
  const uint32_t c = maker.Parameter(types.output, {p.m, p.n});
  LeafMaker leaf = maker.Cube({p.m, p.n}, {std::min(p.m, p.tile_m), std::min(p.n, p.tile_n)}, p.k);
  const ValueRef left = leaf.Strided(a, maker.Const(0), p.a_trans ? Dims{1, p.m} : Dims{p.k, 1}, {p.m, p.k}, {});
  const ValueRef right = leaf.Strided(b, maker.Const(0), p.b_trans ? Dims{1, p.k} : Dims{p.n, 1}, {p.k, p.n}, {});
  leaf.Op(OpCode::kMatmul, {left, right}, leaf.Access(c));
  const auto count = [](int64_t x, int64_t y) { return static_cast<size_t>(x * y); };
  const double error = types.input == DType::kInt8 ? 0 : std::ldexp(9.0 * static_cast<double>(p.k), -22);
  CheckAgainstReference(SingleLeaf(&maker, leaf),
                        {{RandomValues(types.input, count(p.m, p.k), -3, 3, 1)},
                         {RandomValues(types.input, count(p.k, p.n), -3, 3, 2)},
                         {std::vector<double>(count(p.m, p.n))}},
                        {}, 1, error, cores);
}

TEST(Matmul, SmallAndOddSizes) {
  for (const Types& types : kTypes) {
    for (const int64_t size : {1, 2, 3, 5, 7, 12, 13, 16, 17, 31, 32, 33, 64, 65, 127, 130}) {
      CheckProduct({size, size, size}, types);
      CheckProduct({1, size, size}, types);
      CheckProduct({size, 1, size}, types);
      CheckProduct({size, size, 1}, types);
    }
  }
}

TEST(Matmul, TransposesAreStrides) {
  for (const Types& types : kTypes) {
    for (const bool a_trans : {false, true}) {
      for (const bool b_trans : {false, true}) {
        CheckProduct({37, 50, 29, a_trans, b_trans}, types);
        CheckProduct({37, 50, 29, a_trans, b_trans, 16, 8}, types);
      }
    }
  }
}

TEST(Matmul, LongSumsGoBlockByBlock) {
  for (const Types& types : kTypes) {
    CheckProduct({9, 40, 255}, types);
    CheckProduct({9, 40, 256}, types);
    CheckProduct({9, 40, 257}, types);
    CheckProduct({20, 33, 1500, false, true}, types);
  }
}

// Few rows read B where it lies: by rows, or by lines when its terms are neighbours.
TEST(Matmul, FewRows) {
  for (const Types& types : kTypes) {
    for (const bool b_trans : {false, true}) {
      for (const int64_t rows : {1, 2, 3, 5, 8, 9, 12, 16, 19, 24, 31, 32, 33}) {
        CheckProduct({rows, 300, 77, false, b_trans}, types);
        CheckProduct({rows, 131, 300, true, b_trans, 128, 64}, types, 3);
      }
      for (const int64_t columns : {1, 15, 17, 63, 65, 128}) {
        for (const int64_t k : {1, 2, 5, 8, 33}) CheckProduct({3, columns, k, false, b_trans}, types);
      }
      CheckProduct({1, 4500, 20, false, b_trans, 1, 4500}, types);
      CheckProduct({2, 9, 4500, false, b_trans}, types);
    }
  }
}

// The bits of `rows` rows of a product with lines of B.
std::vector<double> ProductWithLines(const Types& types, int64_t rows, int64_t columns, int64_t terms, int64_t tile,
                                     uint32_t cores) {
  constexpr int64_t kMostRows = 40;
  PlanMaker maker;
  const uint32_t a = maker.Parameter(types.input, {rows, terms});
  const uint32_t b = maker.Parameter(types.input, {columns, terms});
  const uint32_t c = maker.Parameter(types.output, {rows, columns});
  LeafMaker leaf = maker.Cube({rows, columns}, {rows, std::min(tile, columns)}, terms);
  leaf.Op(OpCode::kMatmul,
          {leaf.Strided(a, maker.Const(0), {terms, 1}, {rows, terms}, {}),
           leaf.Strided(b, maker.Const(0), {1, terms}, {terms, columns}, {})},
          leaf.Access(c));
  std::vector<double> left = RandomValues(types.input, static_cast<size_t>(kMostRows * terms), -3, 3, 1);
  left.resize(static_cast<size_t>(rows * terms));
  const std::vector<double> right = RandomValues(types.input, static_cast<size_t>(terms * columns), -3, 3, 2);
  const std::vector<double> empty(static_cast<size_t>(rows * columns));
  return RunImage(SingleLeaf(&maker, leaf), {{left}, {right}, {empty}}, {}, cores)[2];
}

// Adding up the lanes of a short sum takes longer than turning lines into panels, whose bits it has then.
TEST(Matmul, LinesOfFewTermsArePacked) {
  const simd::GemmKernels& gemm = simd::ActiveKernels().table->gemm[simd::kGemmFloat];
  const int64_t rows = gemm.most_fours_rows + 4;
  const int64_t terms = rows * gemm.dot_terms;
  const std::vector<double> panels = ProductWithLines(kTypes[0], 40, 70, terms, 70, 1);
  const std::vector<double> few = ProductWithLines(kTypes[0], rows, 70, terms, 70, 1);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), panels.begin()));
}

// Eight rows and fewer meet such lines by fours. Neither their number nor tiles and cores change a bit.
TEST(Matmul, FewRowsWithLinesOfFewTermsGiveTheSameBits) {
  for (const Types& types : kTypes) {
    for (const int64_t terms : {1, 3, 16, 31, 64, 77}) {
      for (const int64_t rows : {8, 5}) {
        const std::vector<double> all = ProductWithLines(types, rows, 75, terms, 75, 1);
        EXPECT_EQ(ProductWithLines(types, rows, 75, terms, 13, 3), all) << rows << " rows, " << terms << " terms";
        if (terms > simd::ActiveKernels().table->gemm[simd::kGemmFloat].dot_terms) continue;
        for (const int64_t fewer : {4, 3, 1}) {
          const std::vector<double> some = ProductWithLines(types, fewer, 75, terms, 75, 1);
          EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << fewer << " rows, " << terms << " terms";
        }
      }
    }
  }
}

// Rows of B that are not packed, panels of few rows, and blocks of all of them give the same bits. Lines of B with many
// terms give others, which are the same for any few rows.
TEST(Matmul, SumsDoNotDependOnHowManyRowsAreComputedTogether) {
  constexpr int64_t kColumns = 70;
  constexpr int64_t kTerms = 1400;
  const int64_t most = simd::ActiveKernels().table->gemm[simd::kGemmFloat].most_dot_rows;
  for (const Types& types : kTypes) {
    for (const bool b_trans : {false, true}) {
      std::vector<double> all;
      for (const int64_t rows : {40, 33, 32, 25, 23, 17, 16, 13, 12, 9, 8, 7, 5, 4, 3, 2, 1}) {
        if (b_trans && rows > most) continue;
        PlanMaker maker;
        const uint32_t a = maker.Parameter(types.input, {rows, kTerms});
        const uint32_t b = maker.Parameter(types.input, {kTerms, kColumns});
        const uint32_t c = maker.Parameter(types.output, {rows, kColumns});
        LeafMaker leaf = maker.Cube({rows, kColumns}, {rows, kColumns}, kTerms);
        const Dims strides = b_trans ? Dims{1, kTerms} : Dims{kColumns, 1};
        leaf.Op(OpCode::kMatmul,
                {leaf.Strided(a, maker.Const(0), {kTerms, 1}, {rows, kTerms}, {}),
                 leaf.Strided(b, maker.Const(0), strides, {kTerms, kColumns}, {})},
                leaf.Access(c));
        std::vector<double> left = RandomValues(types.input, 40 * kTerms, -3, 3, 1);
        left.resize(static_cast<size_t>(rows * kTerms));
        const std::vector<double> right = RandomValues(types.input, kTerms * kColumns, -3, 3, 2);
        const std::vector<double> empty(static_cast<size_t>(rows * kColumns));
        const auto got = RunImage(SingleLeaf(&maker, leaf), {{left}, {right}, {empty}})[2];
        if (all.empty()) all = got;
        ASSERT_TRUE(std::equal(got.begin(), got.end(), all.begin())) << rows << " rows";
      }
    }
  }
}

// Strips that are multiplied while the next one is made, more of them than one chunk holds, and what is left over.
TEST(Matmul, RowsThatReadTheWeightInStripsGiveTheBitsOfPackedPanels) {
  constexpr int64_t kColumns = 1100;
  constexpr int64_t kTerms = 300;
  for (const Types& types : kTypes) {
    std::vector<double> all;
    for (const int64_t rows : {40, 32, 27, 24, 18, 16, 12, 9}) {
      PlanMaker maker;
      const uint32_t a = maker.Parameter(types.input, {rows, kTerms});
      const uint32_t b = maker.Parameter(types.input, {kTerms, kColumns});
      const uint32_t c = maker.Parameter(types.output, {rows, kColumns});
      LeafMaker leaf = maker.Cube({rows, kColumns}, {rows, kColumns}, kTerms);
      leaf.Op(OpCode::kMatmul,
              {leaf.Strided(a, maker.Const(0), {kTerms, 1}, {rows, kTerms}, {}),
               leaf.Strided(b, maker.Const(0), {kColumns, 1}, {kTerms, kColumns}, {})},
              leaf.Access(c));
      std::vector<double> left = RandomValues(types.input, 40 * kTerms, -3, 3, 1);
      left.resize(static_cast<size_t>(rows * kTerms));
      const std::vector<double> right = RandomValues(types.input, kTerms * kColumns, -3, 3, 2);
      const std::vector<double> empty(static_cast<size_t>(rows * kColumns));
      const auto got = RunImage(SingleLeaf(&maker, leaf), {{left}, {right}, {empty}})[2];
      if (all.empty()) all = got;
      ASSERT_TRUE(std::equal(got.begin(), got.end(), all.begin())) << rows << " rows";
    }
  }
}

// Rows of A that are read where they lie, rows that crowd in the cache, and columns, which are both packed.
TEST(Matmul, HowTheLeftOperandLiesDoesNotChangeABit) {
  constexpr int64_t kRows = 40;
  constexpr int64_t kColumns = 70;
  for (const Types& types : kTypes) {
    for (const int64_t terms : {300, 301, 600}) {
      const std::vector<double> left = RandomValues(types.input, static_cast<size_t>(kRows * terms), -3, 3, 1);
      const std::vector<double> right = RandomValues(types.input, static_cast<size_t>(terms * kColumns), -3, 3, 2);
      std::vector<double> first;
      for (const Dims& strides : {Dims{terms, 1}, Dims{4096, 1}, Dims{1, kRows}}) {
        const int64_t width = strides[1] == 1 ? strides[0] : terms;
        std::vector<double> lying(static_cast<size_t>(kRows * width));
        for (int64_t row = 0; row < kRows; ++row) {
          for (int64_t term = 0; term < terms; ++term) {
            lying[static_cast<size_t>(row * strides[0] + term * strides[1])] =
                left[static_cast<size_t>(row * terms + term)];
          }
        }
        PlanMaker maker;
        const uint32_t a = maker.Parameter(types.input, {kRows, width});
        const uint32_t b = maker.Parameter(types.input, {terms, kColumns});
        const uint32_t c = maker.Parameter(types.output, {kRows, kColumns});
        LeafMaker leaf = maker.Cube({kRows, kColumns}, {kRows, kColumns}, terms);
        leaf.Op(OpCode::kMatmul,
                {leaf.Strided(a, maker.Const(0), strides, {kRows, terms}, {}),
                 leaf.Strided(b, maker.Const(0), {kColumns, 1}, {terms, kColumns}, {})},
                leaf.Access(c));
        const std::vector<double> empty(static_cast<size_t>(kRows * kColumns));
        const auto got = RunImage(SingleLeaf(&maker, leaf), {{lying}, {right}, {empty}})[2];
        if (first.empty()) first = got;
        ASSERT_EQ(got, first) << terms << " terms, rows " << strides[0] << " apart";
      }
    }
  }
}

void CheckTiles(const Types& types, int64_t rows, bool b_trans) {
  std::vector<double> whole;
  for (const int64_t tile : {100, 48, 16, 7}) {
    for (const uint32_t cores : {1U, 4U}) {
      PlanMaker maker;
      const uint32_t a = maker.Parameter(types.input, {rows, 600});
      const uint32_t b = maker.Parameter(types.input, {600, 90});
      const uint32_t c = maker.Parameter(types.output, {rows, 90});
      LeafMaker leaf = maker.Cube({rows, 90}, {std::min(tile, rows), std::min<int64_t>(tile, 90)}, 600);
      leaf.Op(OpCode::kMatmul,
              {leaf.Strided(a, maker.Const(0), {600, 1}, {rows, 600}, {}),
               leaf.Strided(b, maker.Const(0), b_trans ? Dims{1, 600} : Dims{90, 1}, {600, 90}, {})},
              leaf.Access(c));
      const auto got = RunImage(SingleLeaf(&maker, leaf),
                                {{RandomValues(types.input, static_cast<size_t>(rows * 600), -3, 3, 1)},
                                 {RandomValues(types.input, 54000, -3, 3, 2)},
                                 {std::vector<double>(static_cast<size_t>(rows * 90))}},
                                {}, cores)[2];
      if (whole.empty()) whole = got;
      ASSERT_EQ(got, whole) << tile << " on " << cores;
    }
  }
}

TEST(Matmul, TilesGiveTheBitsOfTheWhole) {
  for (const Types& types : kTypes) {
    for (const bool b_trans : {false, true}) {
      CheckTiles(types, 100, b_trans);
      CheckTiles(types, 20, b_trans);
      CheckTiles(types, 3, b_trans);
    }
  }
}

TEST(Matmul, TilesLargerThanABlock) {
  CheckProduct({300, 530, 40, false, false, 300, 530}, kTypes[0]);
  CheckProduct({300, 530, 40, false, false, 300, 530}, kTypes[5]);
}

TEST(Matmul, ValidExtentsBoundRowsColumnsAndTerms) {
  for (const Types& types : kTypes) {
    for (const int64_t k : {0, 1, 20, 24}) {
      for (const int64_t m : {0, 1, 9, 10}) {
        PlanMaker maker;
        const uint32_t a = maker.Parameter(types.input, {10, 24});
        const uint32_t b = maker.Parameter(types.input, {24, 40});
        const uint32_t c = maker.Parameter(types.output, {10, 40});
        LeafMaker leaf = maker.Cube({10, 40}, {4, 16}, 24);
        const ValueRef left = leaf.Strided(a, maker.Const(0), {24, 1}, {10, 24}, {maker.Const(m), maker.Const(k)});
        const ValueRef right = leaf.Strided(b, maker.Const(0), {40, 1}, {24, 40}, {maker.Const(22), maker.Const(35)});
        leaf.Op(OpCode::kMatmul, {left, right}, leaf.Access(c));
        CheckAgainstReference(SingleLeaf(&maker, leaf),
                              {{RandomValues(types.input, 240, -3, 3, 3)},
                               {RandomValues(types.input, 960, -3, 3, 4)},
                               {RandomValues(types.output, 400, -3, 3, 5)}},
                              {}, 1, 1e-4);
      }
    }
  }
}

TEST(Matmul, BatchesWithBroadcastOperands) {
  for (const Types& types : kTypes) {
    for (const bool one_b : {false, true}) {
      PlanMaker maker;
      const uint32_t a = maker.Parameter(types.input, {2, 3, 11, 7});
      const uint32_t b = maker.Parameter(types.input, {one_b ? 1 : 2, one_b ? 1 : 3, 7, 18});
      const uint32_t c = maker.Parameter(types.output, {2, 3, 11, 18});
      LeafMaker leaf = maker.Cube({2, 3, 11, 18}, {1, 2, 8, 16}, 7);
      const ValueRef left = leaf.Strided(a, maker.Const(0), {231, 77, 7, 1}, {2, 3, 11, 7}, {});
      const ValueRef right = one_b ? leaf.Strided(b, maker.Const(0), {0, 0, 18, 1}, {1, 1, 7, 18}, {})
                                   : leaf.Strided(b, maker.Const(0), {378, 126, 18, 1}, {2, 3, 7, 18}, {});
      leaf.Op(OpCode::kMatmul, {left, right}, leaf.Access(c));
      CheckAgainstReference(SingleLeaf(&maker, leaf),
                            {{RandomValues(types.input, 462, -3, 3, 6)},
                             {RandomValues(types.input, one_b ? 126 : 756, -3, 3, 7)},
                             {std::vector<double>(1188)}},
                            {}, 1, 1e-4);
    }
  }
}

TEST(Matmul, Int8SumsAreExact) {
  PlanMaker maker;
  const uint32_t a = maker.Parameter(DType::kInt8, {1, 3000});
  const uint32_t b = maker.Parameter(DType::kInt8, {3000, 1});
  const uint32_t c = maker.Parameter(DType::kInt32, {1, 1});
  LeafMaker leaf = maker.Cube({1, 1}, {1, 1}, 3000);
  leaf.Op(OpCode::kMatmul,
          {leaf.Strided(a, maker.Const(0), {3000, 1}, {1, 3000}, {}),
           leaf.Strided(b, maker.Const(0), {1, 1}, {3000, 1}, {})},
          leaf.Access(c));
  std::vector<double> x(3000, -128);
  x[17] = 127;
  EXPECT_EQ(RunImage(SingleLeaf(&maker, leaf), {{x}, {std::vector<double>(3000, -128)}, {{0}}})[2][0],
            2999.0 * 16384 - 127 * 128);
}

TEST(Matmul, NanAndInfinityReachTheResult) {
  PlanMaker maker;
  const uint32_t a = maker.Parameter(DType::kFp32, {2, 2});
  const uint32_t b = maker.Parameter(DType::kFp32, {2, 2});
  const uint32_t c = maker.Parameter(DType::kFp32, {2, 2});
  LeafMaker leaf = maker.Cube({2, 2}, {2, 2}, 2);
  leaf.Op(OpCode::kMatmul,
          {leaf.Strided(a, maker.Const(0), {2, 1}, {2, 2}, {}), leaf.Strided(b, maker.Const(0), {2, 1}, {2, 2}, {})},
          leaf.Access(c));
  const auto got = RunImage(SingleLeaf(&maker, leaf), {{{HUGE_VAL, 1, 1, 2}}, {{1, 0, 1, 1}}, {{0, 0, 0, 0}}})[2];
  EXPECT_EQ(got[0], HUGE_VAL);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], 3);
  EXPECT_EQ(got[3], 2);
}

TEST(Matmul, SpreadOverCores) { CheckProduct({200, 260, 100, false, false, 32, 64}, kTypes[1], 4); }

// Tiles that take long are handed out in pieces; what is counted are tiles of the plan.
TEST(Matmul, PiecesOfLongTilesGiveTheSameBitsOnAnyNumberOfCores) {
  constexpr int64_t kRows = 300;
  constexpr int64_t kTerms = 2048;
  constexpr int64_t kColumns = 140;
  PlanMaker maker;
  const uint32_t a = maker.Parameter(DType::kFp32, {kRows, kTerms});
  const uint32_t b = maker.Parameter(DType::kFp32, {kTerms, kColumns});
  const uint32_t c = maker.Parameter(DType::kFp32, {kRows, kColumns});
  LeafMaker leaf = maker.Cube({kRows, kColumns}, {128, 128}, kTerms);
  leaf.Op(OpCode::kMatmul,
          {leaf.Strided(a, maker.Const(0), {kTerms, 1}, {kRows, kTerms}, {}),
           leaf.Strided(b, maker.Const(0), {kColumns, 1}, {kTerms, kColumns}, {})},
          leaf.Access(c));
  const auto image = SingleLeaf(&maker, leaf);
  const std::vector<Argument> arguments = {{RandomValues(DType::kFp32, kRows * kTerms, -1, 1, 1)},
                                           {RandomValues(DType::kFp32, kTerms * kColumns, -1, 1, 2)},
                                           {std::vector<double>(kRows * kColumns, 0.0)}};
  std::vector<std::byte> expected;
  for (const uint32_t cores : {1u, 2u, 3u, 4u}) {
    Launcher launcher(image, cores);
    const LeafProgram& made = static_cast<const LoadedExecutable&>(launcher.executable()).roots()[0].leaves[0];
    EXPECT_GT(made.matmul.pieces, 1);
    launcher.Bind(arguments);
    for (int round = 0; round < 3; ++round) {
      const LaunchResult result = launcher.Run();
      EXPECT_EQ(result.statistics.leaf_tiles, 6u);
      if (cores == 1) expected = result.bytes[2];
      ASSERT_EQ(result.bytes[2], expected) << cores << " cores";
    }
  }
}

TEST(Matmul, PiecesOfATileCountOnce) {
  LeafProgram program;
  program.kind = program::LeafKind::kCube;
  program.rank = 2;
  program.matmul.pieces = 2;
  LeafRecord record;
  record.program = &program;
  record.grid = {5, 3};
  record.tiles = 15;
  EXPECT_EQ(PlannedTiles(record, 0, 15), 9);
  for (int64_t piece = 0; piece < 15; ++piece) {
    EXPECT_EQ(PlannedTiles(record, piece, piece + 1), piece % 5 % 2 == 0 ? 1 : 0) << piece;
    EXPECT_EQ(PlannedTiles(record, 0, piece) + PlannedTiles(record, piece, 15), 9) << piece;
  }
}

// Arithmetic by dtype, or reading the weight where there are few rows.
TEST(Matmul, TheEstimateOfATileFollowsItsDtypeAndRows) {
  const auto estimate = [](const Types& types, int64_t rows) {
    PlanMaker maker;
    const uint32_t a = maker.Parameter(types.input, {rows, 512});
    const uint32_t b = maker.Parameter(types.input, {512, 256});
    const uint32_t c = maker.Parameter(types.output, {rows, 256});
    LeafMaker leaf = maker.Cube({rows, 256}, {rows, 256}, 512);
    leaf.Op(OpCode::kMatmul,
            {leaf.Strided(a, maker.Const(0), {512, 1}, {rows, 512}, {}),
             leaf.Strided(b, maker.Const(0), {256, 1}, {512, 256}, {})},
            leaf.Access(c));
    const Launcher launcher(SingleLeaf(&maker, leaf));
    const LeafProgram& made = static_cast<const LoadedExecutable&>(launcher.executable()).roots()[0].leaves[0];
    return made.tile_ns * static_cast<double>(made.matmul.pieces);
  };
  const simd::KernelTable& kernels = *simd::ActiveKernels().table;
  const double terms = 256.0 * 256 * 512;
  EXPECT_DOUBLE_EQ(estimate(kTypes[0], 256), terms / kernels.gemm[simd::kGemmFloat].terms_per_ns);
  EXPECT_DOUBLE_EQ(estimate(kTypes[3], 256), terms / kernels.gemm[simd::kGemmBf16].terms_per_ns);
  EXPECT_DOUBLE_EQ(estimate(kTypes[5], 256), terms / kernels.gemm[simd::kGemmInt8].terms_per_ns);
  const double one_row = 256.0 * 512 / kernels.gemm[simd::kGemmFloat].terms_per_ns;
  EXPECT_DOUBLE_EQ(estimate(kTypes[0], 1), std::max(one_row, 257.0 * 512 * 4 / 20));
}

TEST(Matmul, StopsBetweenBlocksWhenTheLaunchIsAborted) {
  PlanMaker maker;
  const uint32_t a = maker.Parameter(DType::kFp32, {64, 512});
  const uint32_t b = maker.Parameter(DType::kFp32, {512, 64});
  const uint32_t c = maker.Parameter(DType::kFp32, {64, 64});
  LeafMaker leaf = maker.Cube({64, 64}, {64, 64}, 512);
  leaf.Op(OpCode::kMatmul,
          {leaf.Strided(a, maker.Const(0), {512, 1}, {64, 512}, {}),
           leaf.Strided(b, maker.Const(0), {64, 1}, {512, 64}, {})},
          leaf.Access(c));
  const Launcher launcher(SingleLeaf(&maker, leaf));
  const LeafProgram& program = static_cast<const LoadedExecutable&>(launcher.executable()).roots()[0].leaves[0];
  ScratchArenas scratch(1);
  ASSERT_TRUE(scratch.Reserve(program.scratch_bytes));
  std::vector<float> left(64 * 512, 1);
  std::vector<float> right(512 * 64, 1);
  std::vector<float> product(64 * 64, 7);
  const int64_t wide[] = {512, 1};
  const int64_t narrow[] = {64, 1};
  const auto bytes = [](std::vector<float>& values) { return reinterpret_cast<std::byte*>(values.data()); };
  const OperandView views[] = {{bytes(product), simd::kF32, 4, narrow},
                               {bytes(left), simd::kF32, 4, wide},
                               {bytes(right), simd::kF32, 4, narrow}};
  const int64_t bounds[] = {64, 64, 512};
  std::atomic<bool> abort{true};
  RunMatmul(program, *simd::ActiveKernels().table, bounds, bounds, views, scratch.At(0), &abort);
  EXPECT_EQ(product, std::vector<float>(64 * 64, 7));
  abort = false;
  RunMatmul(program, *simd::ActiveKernels().table, bounds, bounds, views, scratch.At(0), &abort);
  EXPECT_EQ(product, std::vector<float>(64 * 64, 512));
}

}  // namespace
}  // namespace pypto::device::testing
