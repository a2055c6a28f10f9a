// The operation and dtype tables.
#include "pypto/program/op_table.h"

#include <gtest/gtest.h>

#include <set>

namespace pypto::program {
namespace {

TEST(OpTableTest, NamesAndCodesAreUniqueAndFound) {
  std::set<std::string_view> names;
  std::set<OpCode> codes;
  for (const OpInfo& info : AllOperations()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(codes.insert(info.code).second) << info.name;
    EXPECT_EQ(FindOperation(info.name), &info);
    EXPECT_EQ(FindOperation(info.code), &info);
    EXPECT_LE(info.min_inputs, info.max_inputs);
    EXPECT_NE(info.dtypes, 0u);
    EXPECT_FALSE(info.doc.empty());
  }
  EXPECT_EQ(FindOperation("no_such_operation"), nullptr);
  EXPECT_EQ(FindOperation(static_cast<OpCode>(9999)), nullptr);
}

// Codes are part of the file format: a row may be added, none may change.
TEST(OpTableTest, CodesAreFrozen) {
  EXPECT_EQ(static_cast<int>(OpCode::kAdd), 1);
  EXPECT_EQ(static_cast<int>(OpCode::kNeg), 10);
  EXPECT_EQ(static_cast<int>(OpCode::kCast), 30);
  EXPECT_EQ(static_cast<int>(OpCode::kMatmul), 40);
  EXPECT_EQ(static_cast<int>(OpCode::kSum), 50);
  EXPECT_EQ(static_cast<int>(OpCode::kTranspose), 62);
}

TEST(OpTableTest, AcceptedDTypesFollowTheCatalogue) {
  for (const OpInfo& info : AllOperations()) {
    EXPECT_EQ(info.dtypes, info.a2a3 | info.a5) << info.name;
    EXPECT_EQ(info.operands.find_first_not_of("TtNBI"), std::string_view::npos) << info.name;
    EXPECT_FALSE(info.operands.empty()) << info.name;
  }
  const auto accepts = [](std::string_view name, DType dtype) {
    return (FindOperation(name)->dtypes & MaskOf(dtype)) != 0;
  };
  EXPECT_TRUE(accepts("add", DType::kInt32));
  EXPECT_FALSE(accepts("add", DType::kBool));
  EXPECT_TRUE(accepts("add", DType::kInt8));
  EXPECT_EQ(FindOperation("add")->a2a3 & MaskOf(DType::kInt8), 0u);
  EXPECT_FALSE(accepts("exp", DType::kInt32));
  EXPECT_FALSE(accepts("sum", DType::kFp16));
  EXPECT_TRUE(accepts("sum", DType::kBf16));
  EXPECT_TRUE(accepts("matmul", DType::kInt8));
  EXPECT_FALSE(accepts("matmul", DType::kInt32));
  EXPECT_TRUE(accepts("clone", DType::kBool));
}

TEST(OpTableTest, RanksAreThoseOfTheCatalogue) {
  const auto sound = [](RankRange ranks) { return 1 <= ranks.low && ranks.low <= ranks.high && ranks.high <= 5; };
  for (const OpInfo& info : AllOperations()) EXPECT_TRUE(sound(info.ranks)) << info.name;
  std::set<std::string_view> names;
  for (const ComposedInfo& info : ComposedOperations()) {
    EXPECT_TRUE(sound(info.ranks)) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(FindOperation(info.name), nullptr) << info.name;
    EXPECT_FALSE(info.parameters.empty()) << info.name;
  }
  EXPECT_EQ(FindOperation("pow")->parameters, "base, exp, precision_type=HIGH_PRECISION");
  EXPECT_EQ(FindOperation("exp")->ranks.high, 4);
  EXPECT_EQ(FindOperation("permute")->ranks.high, 5);
  EXPECT_EQ(FindOperation("matmul")->ranks.low, 2);
  EXPECT_TRUE(names.contains("softmax"));
}

TEST(DTypeTest, TableIsConsistent) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DTypeInfo& info = InfoOf(static_cast<DType>(i));
    EXPECT_EQ(DTypeFromName(info.name), info.dtype);
    EXPECT_GT(info.bytes, 0u);
  }
  EXPECT_EQ(BytesOf(DType::kBf16), 2u);
  EXPECT_TRUE(IsFloat(DType::kFp16));
  EXPECT_FALSE(IsFloat(DType::kBool));
  EXPECT_FALSE(DTypeFromName("FP64").has_value());
}

}  // namespace
}  // namespace pypto::program
