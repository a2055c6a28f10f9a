// Matching shapes, inferring outputs, and the text for each kind of wrong argument.
#include "pypto/runtime/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sample_image.h"

namespace pypto::runtime {
namespace {

using base::StatusCode;
using program::Direction;
using program::DType;
using ::testing::HasSubstr;
using testing::LinearSample;
using testing::SampleImage;

class SignatureTest : public ::testing::Test {
 protected:
  std::shared_ptr<const program::Image> image_ = LinearSample().Make();
  Signature signature_{image_->plan};
  std::array<int64_t, 2> x_shape_ = {4, 16};
  std::array<int64_t, 1> w_shape_ = {16};
  float data_ = 0;
  ArgumentView x_ = ArgumentView::Host(&data_, x_shape_.data(), 2, DType::kFp32);
  ArgumentView w_ = ArgumentView::Host(&data_, w_shape_.data(), 1, DType::kFp32);
};

TEST_F(SignatureTest, TheFirstPlaceOfASymbolDefinesItAndOthersCompare) {
  int64_t n = 0;
  const auto rules = signature_.rules();
  EXPECT_TRUE(Signature::MatchShape(rules[0], x_shape_.data(), 2, &n));
  EXPECT_EQ(n, 4);
  EXPECT_TRUE(Signature::MatchShape(rules[2], x_shape_.data(), 2, &n));
  n = 5;
  EXPECT_FALSE(Signature::MatchShape(rules[2], x_shape_.data(), 2, &n));
  EXPECT_FALSE(Signature::MatchShape(rules[0], x_shape_.data(), 1, &n));
  x_shape_ = {-1, 16};
  EXPECT_FALSE(Signature::MatchShape(rules[0], x_shape_.data(), 2, &n));
  x_shape_ = {0, 16};  // an empty dynamic dim is fine
  EXPECT_TRUE(Signature::MatchShape(rules[0], x_shape_.data(), 2, &n));
}

TEST_F(SignatureTest, CountNamesTheParameters) {
  const base::Status status = signature_.ExplainCount(2);
  EXPECT_EQ(status.code(), StatusCode::kTypeMismatch);
  EXPECT_EQ(status.ToString(), "k() takes 3 arguments (x, w, out), got 2");
}

TEST_F(SignatureTest, WrongTensorsSayExpectedAndGot) {
  int64_t n = 4;
  struct Case {
    std::vector<int64_t> shape;
    DType dtype;
    StatusCode code;
    const char* text;
  };
  const Case cases[] = {
      {{4, 16, 1}, DType::kFp32, StatusCode::kInvalidArgument, "2 dims are needed, it has 3"},
      {{4, 8}, DType::kFp32, StatusCode::kInvalidArgument, "dim 1 must be 16, it is 8"},
      {{8, 16}, DType::kFp32, StatusCode::kInvalidArgument, "dim 0 is 8, but n is 4 (dim 0 of 'x')"},
      {{4, 16}, DType::kFp16, StatusCode::kTypeMismatch, "got [4, 16] DT_FP16: the dtype differs"},
  };
  for (const Case& wrong : cases) {
    const auto view =
        ArgumentView::Host(&data_, wrong.shape.data(), static_cast<uint8_t>(wrong.shape.size()), wrong.dtype);
    const base::Status status = signature_.ExplainArgument(2, view, &n);
    EXPECT_EQ(status.code(), wrong.code);
    EXPECT_THAT(status.ToString(), HasSubstr("argument 'out' of k: expected tensor [n, 16] DT_FP32, got ["));
    EXPECT_THAT(status.ToString(), HasSubstr(wrong.text));
  }
}

TEST_F(SignatureTest, ScalarsAndTensorsAreNotInterchangeable) {
  SampleImage sample;
  sample.Tensor("x", Direction::kIn, {4}).Scalar("count", program::ScalarKind::kInt);
  const auto image = sample.Make();
  const Signature signature(image->plan);
  EXPECT_EQ(signature.ExplainArgument(0, ArgumentView::Int(3), nullptr).ToString(),
            "argument 'x' of k: expected a tensor [4] DT_FP32, got an int");
  EXPECT_EQ(signature.ExplainArgument(1, w_, nullptr).ToString(),
            "argument 'count' of k: expected an int, got a host tensor");
  EXPECT_EQ(signature.ExplainArgument(1, ArgumentView::Float(1.5), nullptr).code(), StatusCode::kTypeMismatch);
}

TEST_F(SignatureTest, TrailingOutputsAreInferred) {
  const std::vector<ArgumentView> given = {x_, w_};
  const auto outputs = signature_.InferOutputs(given);
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ((*outputs)[0].parameter, 2u);
  EXPECT_EQ((*outputs)[0].dims, (std::vector<int64_t>{4, 16}));
  const std::vector<ArgumentView> all = {x_, w_, x_};
  EXPECT_TRUE(signature_.InferOutputs(all)->empty());
}

TEST_F(SignatureTest, InputsInOutsAndUnknownDimsCannotBeLeftOut) {
  const std::vector<ArgumentView> only_x = {x_};
  EXPECT_THAT(signature_.InferOutputs(only_x).status().ToString(),
              HasSubstr("argument 'w' of k is missing: only trailing outputs may be left out"));

  SampleImage partial = LinearSample();
  partial.parameters[2].direction = Direction::kInOut;
  partial.parameters[2].partial_reason = "line 12 writes only part of it";
  const auto partial_image = partial.Make();
  const std::vector<ArgumentView> given = {x_, w_};
  const base::Status status = Signature(partial_image->plan).InferOutputs(given).status();
  EXPECT_EQ(status.code(), StatusCode::kTypeMismatch);
  EXPECT_THAT(status.ToString(), HasSubstr("parameter is inout because line 12 writes only part of it"));

  SampleImage free_dim = LinearSample();
  free_dim.symbols.emplace_back("m");
  free_dim.parameters[2].dims[0].symbol = 1;
  const auto free_image = free_dim.Make();
  EXPECT_THAT(Signature(free_image->plan).InferOutputs(given).status().ToString(),
              HasSubstr("m does not follow from the other arguments"));
}

TEST_F(SignatureTest, InferringChecksWhatIsGiven) {
  w_shape_ = {8};
  const std::vector<ArgumentView> given = {x_, w_};
  EXPECT_THAT(signature_.InferOutputs(given).status().ToString(), HasSubstr("argument 'w' of k"));
  const std::vector<ArgumentView> many(4, x_);
  EXPECT_EQ(signature_.InferOutputs(many).status().code(), StatusCode::kTypeMismatch);
}

}  // namespace
}  // namespace pypto::runtime
