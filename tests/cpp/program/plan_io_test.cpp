// The byte form of plans: round trips, and bytes that are no plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "program/random_plan.h"
#include "pypto/program/plan.h"

namespace pypto::program {
namespace {

using base::StatusCode;

// Whatever is accepted can be listed and is written back to the same bytes.
void ExpectRefusedOrSame(const std::vector<uint8_t>& bytes) {
  const auto plan = ParsePlan(bytes);
  if (!plan.ok()) {
    ASSERT_EQ(plan.status().code(), StatusCode::kProgramFormat);
    return;
  }
  ASSERT_EQ(SerializePlan(*plan), bytes);
  ASSERT_FALSE(ToText(*plan, {}).empty());
}

TEST(PlanIoTest, SampleRoundTrip) {
  const Plan plan = SamplePlan();
  ASSERT_TRUE(ValidatePlan(plan).ok()) << ValidatePlan(plan).ToString();
  const std::vector<uint8_t> bytes = SerializePlan(plan);
  const auto read = ParsePlan(bytes);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(SerializePlan(*read), bytes);
  EXPECT_EQ(ToText(*read, SampleDebug()), ToText(plan, SampleDebug()));
  EXPECT_EQ(read->options, plan.options);
  EXPECT_EQ(read->flops_hint, plan.flops_hint);
  EXPECT_EQ(read->parameters[1].partial_reason, plan.parameters[1].partial_reason);
  EXPECT_EQ(read->roots[0].leaves[0].ops[2].inputs[1].kind, ValueRef::Kind::kScalar);
}

TEST(PlanIoTest, RandomRoundTrips) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Plan plan = RandomPlan(seed);
    const std::vector<uint8_t> bytes = SerializePlan(plan);
    const auto read = ParsePlan(bytes);
    ASSERT_TRUE(read.ok()) << seed << ": " << read.status().ToString();
    ASSERT_EQ(SerializePlan(*read), bytes) << seed;
    ASSERT_EQ(ToText(*read, SampleDebug()), ToText(plan, SampleDebug())) << seed;
  }
}

TEST(PlanIoTest, EveryAlteredByteIsRefusedOrAnotherPlan) {
  std::vector<uint8_t> bytes = SerializePlan(SamplePlan());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t original = bytes[i];
    for (const int change : {0x01, 0x80, 0xff, 0x10}) {
      bytes[i] = static_cast<uint8_t>(original ^ change);
      ASSERT_NO_FATAL_FAILURE(ExpectRefusedOrSame(bytes)) << "byte " << i;
    }
    bytes[i] = original;
  }
}

TEST(PlanIoTest, RandomDamageIsRefusedOrAnotherPlan) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 1500; ++round) {
    std::vector<uint8_t> bytes = SerializePlan(RandomPlan(static_cast<uint64_t>(round) % 20));
    for (int change = 0; change < 4; ++change) {
      const size_t at = random() % bytes.size();
      bytes[at] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random() % 256);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRefusedOrSame(bytes)) << "round " << round;
  }
}

TEST(PlanIoTest, EveryTruncationIsRefused) {
  const std::vector<uint8_t> bytes = SerializePlan(SamplePlan());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto plan = ParsePlan(std::span(bytes).first(length));
    ASSERT_FALSE(plan.ok()) << length;
    ASSERT_EQ(plan.status().code(), StatusCode::kProgramFormat);
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_THAT(std::string(ParsePlan(longer).status().message()), testing::HasSubstr("left over"));
}

TEST(PlanIoTest, HostileCountsTakeNoMemory) {
  // 2^32 - 1 expressions in four bytes.
  const std::vector<uint8_t> bytes = {0xff, 0xff, 0xff, 0xff};
  EXPECT_THAT(std::string(ParsePlan(bytes).status().message()), testing::HasSubstr("the bytes end early"));
  // As many as there are bytes, none of them one.
  std::vector<uint8_t> many(1 << 20, 0xff);
  many[3] = 0;
  EXPECT_FALSE(ParsePlan(many).ok());
}

TEST(PlanIoTest, DeepControlTreesAreRefused) {
  Plan plan = SamplePlan();
  for (int i = 0; i < 200; ++i) {
    ControlNode node;
    node.kind = ControlNode::Kind::kIf;
    node.condition = 0;
    node.body = std::move(plan.control);
    plan.control = {};
    plan.control.push_back(std::move(node));
  }
  EXPECT_THAT(std::string(ValidatePlan(plan).message()), testing::HasSubstr("deep"));
  EXPECT_THAT(std::string(ParsePlan(SerializePlan(plan)).status().message()), testing::HasSubstr("nested too deep"));
}

TEST(PlanIoTest, IdentityLeavesOutPlaces) {
  Plan plan = SamplePlan();
  const std::vector<uint8_t> identity = SerializePlanIdentity(plan);
  plan.roots[0].place = 2;
  plan.roots[0].leaves[0].ops[0].place = 2;
  plan.storages[0].place = 1;
  plan.control[0].place = 2;
  plan.parameters[1].partial_reason = "line 13 writes only part of it";
  EXPECT_EQ(SerializePlanIdentity(plan), identity);
  plan.parameters[1].direction = Direction::kOut;
  EXPECT_NE(SerializePlanIdentity(plan), identity);
}

TEST(DebugIoTest, RoundTripAndDamage) {
  const DebugInfo debug = SampleDebug();
  std::vector<uint8_t> bytes = SerializeDebug(debug);
  const auto read = ParseDebug(bytes);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->files.size(), debug.files.size());
  for (size_t i = 0; i < debug.files.size(); ++i) {
    EXPECT_EQ(read->files[i].name, debug.files[i].name);
    EXPECT_EQ(read->files[i].text, debug.files[i].text);
  }
  EXPECT_EQ(read->places[2].line, 3);
  EXPECT_TRUE(ParseDebug(SerializeDebug({})).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_FALSE(ParseDebug(std::span(bytes).first(length)).ok());
  }
  DebugInfo wrong = debug;
  wrong.places[1].file = 2;
  EXPECT_THAT(std::string(ParseDebug(SerializeDebug(wrong)).status().message()),
              testing::HasSubstr("names file 2 of 2"));
}

}  // namespace
}  // namespace pypto::program
