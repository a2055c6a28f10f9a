// Matrix products through the engine against what the core can do: peaks in registers and read bandwidth are measured
// at the start. `peak` is the fraction of the roof of each row: arithmetic for squares, bandwidth or arithmetic,
// whichever is lower, for few rows.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "device/launcher.h"
#include "device/plan_maker.h"
#include "pypto/device/simd/select.h"

namespace pypto::device {
namespace {

using program::DType;
using testing::LeafMaker;
using testing::PlanMaker;

struct Case {
  const char* name;
  DType input;
  DType output;
  simd::GemmKind kind;
  simd::Format format;
  int64_t bytes;
};
const Case kCases[] = {{"fp32", DType::kFp32, DType::kFp32, simd::kGemmFloat, simd::kF32, 4},
                       {"fp16", DType::kFp16, DType::kFp32, simd::kGemmFloat, simd::kF16, 2},
                       {"bf16", DType::kBf16, DType::kFp32, simd::kGemmBf16, simd::kBf16, 2},
                       {"int8", DType::kInt8, DType::kInt32, simd::kGemmInt8, simd::kI8, 1}};

template <typename Work>
double BestSeconds(int times, const Work& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

// Operations per second of one register tile over panels in the first-level cache: nothing but the arithmetic.
double Peak(simd::GemmKind kind) {
  const simd::KernelTable& table = *simd::ActiveKernels().table;
  constexpr int64_t kUnits = 128;
  constexpr int kRepeats = 4000;
  const int64_t k = kUnits * table.gemm[kind].group;
  std::vector<int32_t> a(static_cast<size_t>(table.gemm_rows * (kUnits + 1) + 16));
  std::vector<int32_t> b(static_cast<size_t>(table.gemm_columns * kUnits + 16));
  std::vector<float> c(static_cast<size_t>(table.gemm_rows * table.gemm_columns));
  const simd::GemmOutput out{nullptr, table.gemm_columns, c.data(), table.gemm_columns,
                             kind == simd::kGemmInt8 ? simd::kI32 : simd::kF32};
  const simd::GemmAsk asks[simd::kGemmAsks] = {};
  const double seconds = BestSeconds(20, [&] {
    for (int i = 0; i < kRepeats; ++i) {
      table.gemm[kind].multiply(&out, a.data(), b.data(), table.gemm_rows, table.gemm_columns, k, asks);
    }
  });
  return 2.0 * static_cast<double>(table.gemm_rows * table.gemm_columns * k) * kRepeats / seconds;
}

// Bytes per second of reading that many, again and again.
double Bandwidth(int64_t bytes) {
  const simd::KernelTable& table = *simd::ActiveKernels().table;
  const std::vector<float> data(static_cast<size_t>(bytes / 4), 1);
  const double seconds = BestSeconds(20, [&] {
    benchmark::DoNotOptimize(table.reduce_f32[simd::kReduceAmax](data.data(), static_cast<int64_t>(data.size())));
  });
  return static_cast<double>(bytes) / seconds;
}

double PeakOf(const Case& of) {
  static const double peaks[] = {Peak(simd::kGemmFloat), Peak(simd::kGemmBf16), Peak(simd::kGemmInt8)};
  return peaks[of.kind];
}

void Product(benchmark::State& state, const Case& of, int64_t m, int64_t k, int64_t n, int64_t tile, bool b_trans,
             uint32_t cores) {
  PlanMaker maker("product");
  const uint32_t a = maker.Parameter(of.input, {m, k});
  const uint32_t b = maker.Parameter(of.input, {k, n});
  const uint32_t c = maker.Parameter(of.output, {m, n});
  LeafMaker leaf = maker.Cube({m, n}, {std::min(m, tile), std::min(n, tile)}, k);
  leaf.Op(
      program::OpCode::kMatmul,
      {leaf.Strided(a, maker.Const(0), {k, 1}, {m, k}, {}),
       leaf.Strided(b, maker.Const(0), b_trans ? std::vector<int64_t>{1, k} : std::vector<int64_t>{n, 1}, {k, n}, {})},
      leaf.Access(c));
  testing::Launcher launcher(testing::SingleLeaf(&maker, leaf), cores);
  const auto values = [](int64_t count) { return std::vector<double>(static_cast<size_t>(count), 1); };
  launcher.Bind({{values(m * k)}, {values(k * n)}, {values(m * n)}});
  launcher.Run();
  double best = 1e9;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    launcher.RunAgain();
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::min(best, time);
    state.SetIterationTime(time);
  }
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  const int64_t weight = k * n * of.bytes;
  double roof = operations / (PeakOf(of) * cores);
  if (m <= 16) roof = std::max(roof, static_cast<double>(weight) / Bandwidth(weight));
  state.counters["best_us"] = best * 1e6;
  state.counters["Gop/s"] = operations / best * 1e-9;
  state.counters["GB/s"] = static_cast<double>(weight) / best * 1e-9;
  state.counters["peak"] = roof / best;
}

void Register() {
  std::printf("set %s\n", simd::ActiveKernels().table->name);
  for (const Case& of : kCases) std::printf("%s: %.1f Gop/s in registers\n", of.name, PeakOf(of) * 1e-9);
  for (const int64_t mebibytes : {1, 4, 8, 16}) {
    std::printf("reading %lld MiB: %.1f GB/s\n", static_cast<long long>(mebibytes), Bandwidth(mebibytes << 20) * 1e-9);
  }
  const auto add = [](const Case& of, int64_t m, int64_t k, int64_t n, int64_t tile, bool b_trans, uint32_t cores = 1) {
    const std::string name = std::string(of.name) + "/" + std::to_string(m) + "x" + std::to_string(k) + "x" +
                             std::to_string(n) + "/tile:" + std::to_string(tile) + (b_trans ? "/b_trans" : "") +
                             (cores > 1 ? "/cores:" + std::to_string(cores) : "");
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) { Product(state, of, m, k, n, tile, b_trans, cores); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.1);
  };
  for (const Case& of : kCases) {
    for (const int64_t size : {128, 256, 512, 1024}) add(of, size, size, size, size, false);
    add(of, 1024, 1024, 1024, 64, false);
    add(of, 1024, 1024, 1024, 128, false, 2);
    add(of, 512, 512, 512, 512, true);
    for (const int64_t m : {1, 4, 16, 32, 64}) add(of, m, 1024, 4096, 4096, false);
    for (const int64_t m : {1, 4, 16}) add(of, m, 1024, 4096, 4096, true);
  }
}

}  // namespace
}  // namespace pypto::device

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  pypto::device::Register();
  benchmark::RunSpecifiedBenchmarks();
}
