// Program files, facts, parameters and budgets.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "capi/capi_fixture.h"

namespace pypto::capi {
namespace {

using ::testing::HasSubstr;
using testing::LastMessage;

class ProgramTest : public testing::CapiTest {
 protected:
  ~ProgramTest() override { EXPECT_EQ(pypto_program_release(program_), PYPTO_OK); }
  std::vector<uint8_t> file_ = testing::AddRowsFile();
  pypto_program* program_ = testing::Load(file_);
};

TEST_F(ProgramTest, Info) {
  pypto_program_info info = PYPTO_STRUCT(pypto_program_info);
  ASSERT_EQ(pypto_program_get_info(program_, &info), PYPTO_OK);
  EXPECT_STREQ(info.name, "add_rows");
  EXPECT_STREQ(info.platform, "a2a3sim");
  EXPECT_EQ(std::strlen(info.fingerprint), 64u);
  EXPECT_EQ(info.parameter_count, 3u);
  EXPECT_EQ(info.binary_count, 0u);
  ASSERT_EQ(info.byte_count, file_.size());
  EXPECT_EQ(std::memcmp(info.bytes, file_.data(), file_.size()), 0);
  const char* text = nullptr;
  ASSERT_EQ(pypto_program_get_text(program_, &text), PYPTO_OK);
  EXPECT_THAT(text, HasSubstr("add_rows"));
  const char* again = nullptr;
  ASSERT_EQ(pypto_program_get_text(program_, &again), PYPTO_OK);
  EXPECT_EQ(text, again);
}

TEST_F(ProgramTest, Parameters) {
  pypto_parameter parameter = PYPTO_STRUCT(pypto_parameter);
  ASSERT_EQ(pypto_program_get_parameter(program_, 0, &parameter), PYPTO_OK);
  EXPECT_STREQ(parameter.name, "x");
  EXPECT_EQ(parameter.kind, static_cast<uint32_t>(PYPTO_PARAMETER_TENSOR));
  EXPECT_EQ(parameter.dtype, static_cast<uint32_t>(PYPTO_FP32));
  EXPECT_EQ(parameter.direction, static_cast<uint32_t>(PYPTO_IN));
  EXPECT_EQ(parameter.rank, 2u);
  EXPECT_EQ(parameter.dims[0], -1);
  EXPECT_EQ(parameter.dims[1], 16);
  EXPECT_STREQ(parameter.symbols[0], "n");
  EXPECT_EQ(parameter.symbols[1], nullptr);
  ASSERT_EQ(pypto_program_get_parameter(program_, 2, &parameter), PYPTO_OK);
  EXPECT_EQ(parameter.direction, static_cast<uint32_t>(PYPTO_OUT));
  EXPECT_EQ(pypto_program_get_parameter(program_, 3, &parameter), PYPTO_ERROR_OUT_OF_RANGE);
  EXPECT_EQ(LastMessage(), "'add_rows' has 3 parameters, there is no parameter 3");
  pypto_program* scale = testing::Load(testing::ScaleRowsFile());
  ASSERT_EQ(pypto_program_get_parameter(scale, 1, &parameter), PYPTO_OK);
  EXPECT_EQ(parameter.kind, static_cast<uint32_t>(PYPTO_PARAMETER_FLOAT));
  EXPECT_EQ(pypto_program_release(scale), PYPTO_OK);
}

TEST_F(ProgramTest, FilesComeBackByteForByte) {
  const auto folder = std::filesystem::temp_directory_path() / ("pypto capi " + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "add rows.pto";
  ASSERT_EQ(pypto_program_save(program_, path.c_str()), PYPTO_OK) << LastMessage();
  std::ifstream stream(path, std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(bytes, file_);
  pypto_program* loaded = nullptr;
  ASSERT_EQ(pypto_program_load(path.c_str(), &loaded), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_program_release(loaded), PYPTO_OK);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(pypto_program_save(program_, path.c_str()), PYPTO_ERROR_IO);
  EXPECT_EQ(pypto_program_load(path.c_str(), &loaded), PYPTO_ERROR_IO);
  EXPECT_EQ(LastMessage(), "cannot open the program file " + path + ": No such file or directory");
  EXPECT_EQ(pypto_program_load("/", &loaded), PYPTO_ERROR_IO);
}

TEST_F(ProgramTest, DamagedBytes) {
  pypto_program* loaded = nullptr;
  for (size_t size = 0; size < file_.size(); size += 7) {
    EXPECT_EQ(pypto_program_load_bytes(file_.data(), size, &loaded), PYPTO_ERROR_PROGRAM_FORMAT);
  }
  std::vector<uint8_t> altered = file_;
  altered[altered.size() / 2] ^= 1;
  EXPECT_EQ(pypto_program_load_bytes(altered.data(), altered.size(), &loaded), PYPTO_ERROR_PROGRAM_FORMAT);
  EXPECT_EQ(pypto_program_load_bytes(nullptr, 0, &loaded), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(LastMessage(), "the argument 'data' must not be null");
  EXPECT_EQ(pypto_program_load_bytes(file_.data(), file_.size(), nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(loaded, nullptr);
}

TEST_F(ProgramTest, Budget) {
  const pypto_named_value n{"n", 64};
  pypto_budget budget = PYPTO_STRUCT(pypto_budget);
  std::array<pypto_line_item, 16> items{};
  size_t count = 0;
  ASSERT_EQ(pypto_program_get_budget(program_, &n, 1, &budget, items.data(), items.size(), &count), PYPTO_OK)
      << LastMessage();
  EXPECT_EQ(budget.parallelism, 1u);
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += items[i].bytes;
    EXPECT_STRNE(items[i].text, "");
  }
  EXPECT_EQ(sum, budget.total_bytes);
  EXPECT_EQ(pypto_program_get_budget(program_, nullptr, 0, nullptr, nullptr, 0, nullptr), PYPTO_OK);
  EXPECT_EQ(pypto_program_get_budget(program_, nullptr, 1, &budget, nullptr, 0, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
}

TEST_F(ProgramTest, BytesOfDtypes) {
  EXPECT_EQ(pypto_dtype_bytes(PYPTO_FP32), 4u);
  EXPECT_EQ(pypto_dtype_bytes(PYPTO_BF16), 2u);
  EXPECT_EQ(pypto_dtype_bytes(PYPTO_UINT64), 8u);
  EXPECT_EQ(pypto_dtype_bytes(PYPTO_FP8E4M3), 1u);
  EXPECT_EQ(pypto_dtype_bytes(PYPTO_HF8), 1u);
  EXPECT_EQ(pypto_dtype_bytes(PYPTO_INT4 + 1), 0u);
}

}  // namespace
}  // namespace pypto::capi
