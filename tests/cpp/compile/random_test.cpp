// Plans of random kernels do what the kernels say, within the workspace they ask for.
#include "compile/random_kernel.h"

#include <cstdlib>

namespace pypto::compile::testing {
namespace {

// PYPTO_TEST_RANDOM_KERNELS="first:count" runs other ones.
std::pair<uint32_t, uint32_t> SeedRange() {
  const char* text = std::getenv("PYPTO_TEST_RANDOM_KERNELS");
  if (text == nullptr) return {1, 400};
  char* rest = nullptr;
  const auto first = static_cast<uint32_t>(std::strtoul(text, &rest, 10));
  return {first, static_cast<uint32_t>(std::strtoul(rest + 1, nullptr, 10))};
}

std::string Listing(uint32_t seed, int statements) {
  Kernel kernel;
  RandomKernel(kernel, seed).Build(statements);
  return program::ToText(kernel.builder.program());
}

// Runs one kernel both ways; false, with the listing in the failure, when the two differ.
bool Check(uint32_t seed, int statements) {
  Kernel kernel;
  RandomKernel(kernel, seed).Build(statements);
  const program::Program program = kernel.Finish();
  const auto image = Compile(program, {});
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  if (!image.ok()) return false;
  const program::Plan& plan = (*image)->plan;
  const auto read = program::ReadImage((*image)->bytes);
  EXPECT_TRUE(read.ok()) << read.status().ToString();
  const Bindings bindings = RandomKernel::MakeBindings();
  const Memory initial = RandomKernel::InitialMemory(seed);
  Memory expected = initial;
  Memory actual = initial;
  RunProgram(program, bindings, expected);
  for (size_t i = 0; i < actual.size(); ++i) {
    // What is proven to be written need not be there before.
    if (plan.parameters[i].direction != program::Direction::kOut) continue;
    std::fill(actual[i].begin(), actual[i].end(), Poison());
  }
  const PlanRun run = RunPlan(plan, bindings, actual);
  bool same = run.complaints.empty() && read.ok();
  for (const std::string& complaint : run.complaints) ADD_FAILURE() << complaint;
  for (size_t i = 0; i < actual.size(); ++i) {
    for (size_t cell = 0; cell < actual[i].size() && same; ++cell) {
      if (IsPoison(expected[i][cell]) || expected[i][cell] == actual[i][cell]) continue;
      ADD_FAILURE() << "parameter " << i << " cell " << cell << ": expected " << expected[i][cell] << ", got "
                    << actual[i][cell];
      same = false;
    }
  }
  for (size_t pool = 0; pool < 3; ++pool) {
    EXPECT_LE(run.most_bytes[pool], Eval(plan.exprs, plan.workspace.unit_bytes[pool], bindings)) << "pool " << pool;
  }
  EXPECT_LE(run.most_boundary_bytes, Eval(plan.exprs, plan.workspace.boundary_bytes, bindings));
  return same && !::testing::Test::HasFailure();
}

TEST(RandomKernels, PlansDoWhatTheKernelsSay) {
  const auto [first, count] = SeedRange();
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const int statements = 4 + static_cast<int>(seed % 23);
    if (Check(seed, statements)) continue;
    FAIL() << "seed " << seed << "\n" << Listing(seed, statements);
  }
}

TEST(RandomKernels, EqualKernelsGiveEqualImages) {
  for (uint32_t seed = 1; seed < 20; ++seed) {
    std::vector<std::vector<uint8_t>> images;
    for (int i = 0; i < 2; ++i) {
      Kernel kernel;
      RandomKernel(kernel, seed).Build(20);
      images.push_back(kernel.CompileImage()->bytes);
    }
    EXPECT_EQ(images[0], images[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pypto::compile::testing
