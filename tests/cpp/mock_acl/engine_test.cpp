// The library as it ships: program images, executed by the device engine.
#include <cstring>

#include "mock_acl/acl_library.h"
#include "pypto/compile/compile.h"
#include "pypto/program/builder.h"
#include "pypto/program/launch_block.h"
#include "pypto/workspace/budget.h"

namespace pypto::mock_test {
namespace {

constexpr int64_t kColumns = 16;

program::Operand Tensor(program::TensorId id) {
  program::Operand operand;
  operand.tensor = id;
  return operand;
}

// out = x + x, rows in steps of 4; `shift` moves the reads, for a fault.
std::vector<uint8_t> DoubleRows(int64_t rows, int64_t shift = 0) {
  program::Builder b("double_rows");
  static_cast<void>(b.AddFile({"double_rows.py", "", "", 0}));
  const auto x = *b.AddTensorParameter("x", program::DType::kFp32, {rows, kColumns}, {});
  const auto out = *b.AddTensorParameter("out", program::DType::kFp32, {rows, kColumns}, {});
  program::ExprPool& e = b.exprs();
  b.SetPlace({0, 5, 1});
  const auto i = *b.BeginLoop("rows", e.Const(0), e.Const(rows), e.Const(4), false, false);
  const auto tile = *b.Slice(x, {4, kColumns}, {e.Add(i, e.Const(shift)), e.Const(0)}, {});
  const auto sum = *b.Op(program::OpCode::kAdd, {Tensor(tile), Tensor(tile)}, {});
  EXPECT_TRUE(b.Assemble(out, sum, {i, e.Const(0)}).ok());
  EXPECT_TRUE(b.EndLoop().ok());
  auto program = b.Finish();
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  auto image = compile::Compile(*program, {});
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  return (*image)->bytes;
}

class EngineBehind : public AclTest {
 protected:
  static constexpr int64_t kRows = 64;
  static constexpr size_t kBytes = kRows * kColumns * sizeof(float);

  struct Block {
    program::LaunchHeader header;
    uint64_t parameters[2];
  };

  void Load(const std::vector<uint8_t>& image) {
    void* binary = nullptr;
    ASSERT_EQ(acl.aclrtBinaryLoadFromData(image.data(), image.size(), nullptr, &binary), 0) << RecentText();
    ASSERT_EQ(acl.aclrtBinaryGetFunction(binary, "double_rows", &function), 0);
  }
  // The host resolves the budget; the engine compares. The kernel needs no workspace.
  static void FillBudget(program::LaunchHeader* header) {
    const program::PlanOptions options;
    const auto budget = workspace::ResolveBudget({},
                                                 {options.stitch_function_max_num, options.max_workspace_kb,
                                                  options.stitch_function_num_per_pool, options.parallelism},
                                                 0);
    ASSERT_TRUE(budget.ok()) << budget.status().ToString();
    for (size_t i = 0; i < header->pools.size(); ++i) {
      const auto& pool = budget->pools[i];
      header->pools[i] = {pool.unit, pool.offset, pool.capacity, pool.depth, 0};
    }
    header->parallelism = budget->parallelism;
    header->max_instances_per_task = budget->max_instances_per_task;
    ASSERT_EQ(budget->total_bytes, 0u);
  }
  Block NewBlock() {
    Block block{};
    block.header.bytes = sizeof(block);
    block.header.parameter_count = 2;
    FillBudget(&block.header);
    x = Malloc(kBytes);
    out = Malloc(kBytes);
    std::vector<float> values(kRows * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    EXPECT_EQ(acl.aclrtMemcpy(x, kBytes, values.data(), kBytes, kMemcpyHostToDevice), 0);
    block.parameters[0] = Word(x);
    block.parameters[1] = Word(out);
    return block;
  }
  aclError LaunchBlock(Block block, void* stream) {
    return acl.aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, &block, sizeof(block), nullptr, 0);
  }
  void ExpectDoubled() {
    std::vector<float> values(kRows * kColumns);
    EXPECT_EQ(acl.aclrtMemcpy(values.data(), kBytes, out, kBytes, kMemcpyDeviceToHost), 0);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 2.0F * static_cast<float>(i)) << i;
  }

  void* function = nullptr;
  void* x = nullptr;
  void* out = nullptr;
};

TEST_F(EngineBehind, ComputesRightNumbers) {
  Open();
  Load(DoubleRows(kRows));
  EXPECT_EQ(LaunchBlock(NewBlock(), nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), 0) << RecentText();
  ExpectDoubled();
}

TEST_F(EngineBehind, ComputesTheSameInStrictModeOnOneAndManyCores) {
  for (const char* cores : {"1", "4"}) {
    const ScopedVariable strict("PYPTO_MOCK_STRICT", "11");
    const ScopedVariable core_count("PYPTO_MOCK_CORES", cores);
    acl.mock_reset();
    Open();
    Load(DoubleRows(kRows));
    void* stream = NewStream();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(LaunchBlock(NewBlock(), stream), 0);
      EXPECT_EQ(acl.aclrtSynchronizeStream(stream), 0) << RecentText();
      ExpectDoubled();
    }
  }
}

TEST_F(EngineBehind, DamagedImagesAreRefused) {
  Open();
  std::vector<uint8_t> image = DoubleRows(kRows);
  void* binary = nullptr;
  image[image.size() / 2] ^= 1;
  EXPECT_EQ(acl.aclrtBinaryLoadFromData(image.data(), image.size(), nullptr, &binary), kErrorRtParamInvalid);
  EXPECT_NE(RecentText(), "");
  EXPECT_EQ(acl.aclrtBinaryLoadFromData("\177ELF, but not ours", 16, nullptr, &binary), kErrorRtParamInvalid);
  EXPECT_EQ(acl.mock_live_handles(MOCK_HANDLE_BINARY), 0u);
}

TEST_F(EngineBehind, AChipThatWasNamedRefusesProgramsForOthers) {
  const std::vector<uint8_t> image = DoubleRows(kRows);
  void* binary = nullptr;
  {
    const ScopedVariable soc("PYPTO_MOCK_SOC", "Ascend950PR");
    Open();
    EXPECT_EQ(acl.aclrtBinaryLoadFromData(image.data(), image.size(), nullptr, &binary), kErrorRtSocVersion);
    EXPECT_THAT(RecentText(), testing::HasSubstr("a2a3sim"));
  }
  acl.mock_reset();
  const ScopedVariable soc("PYPTO_MOCK_SOC", "Ascend910_9382");
  Open();
  EXPECT_EQ(acl.aclrtBinaryLoadFromData(image.data(), image.size(), nullptr, &binary), 0);
}

TEST_F(EngineBehind, FaultsComeAtTheNextSynchronise) {
  Open();
  Load(DoubleRows(kRows, -8));
  EXPECT_EQ(LaunchBlock(NewBlock(), nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
  EXPECT_THAT(RecentText(), testing::HasSubstr("kernel 'double_rows'"));
}

TEST_F(EngineBehind, ABlockThatNamesFreedMemoryFaults) {
  Open();
  Load(DoubleRows(kRows));
  const Block block = NewBlock();
  EXPECT_EQ(acl.aclrtFree(out), 0);
  EXPECT_EQ(LaunchBlock(block, nullptr), 0);
  EXPECT_EQ(acl.aclrtSynchronizeStream(nullptr), kErrorRtAiCoreException);
}

TEST_F(EngineBehind, OnlyTheImagesOwnKernelIsFound) {
  Open();
  const std::vector<uint8_t> image = DoubleRows(kRows);
  void* binary = nullptr;
  ASSERT_EQ(acl.aclrtBinaryLoadFromData(image.data(), image.size(), nullptr, &binary), 0);
  EXPECT_EQ(acl.aclrtBinaryGetFunction(binary, "another", &function), kErrorRtParamInvalid);
  EXPECT_EQ(acl.aclrtBinaryGetFunctionByEntry(binary, 0, &function), 0);
  EXPECT_EQ(acl.aclrtBinaryGetFunctionByEntry(binary, 1, &function), kErrorRtParamInvalid);
}

}  // namespace
}  // namespace pypto::mock_test
