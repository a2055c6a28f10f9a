// Plans without control flow.
#include "runtime/sample_image.h"

namespace pypto::runtime::testing {

using program::Direction;

SampleImage& SampleImage::Tensor(const std::string& parameter, Direction direction, const std::vector<int64_t>& dims,
                                 program::DType dtype) {
  program::PlanParameter made;
  made.name = parameter;
  made.direction = direction;
  made.dtype = dtype;
  for (const int64_t dim : dims) {
    made.dims.push_back(dim >= 0 ? program::Dim{dim, -1} : program::Dim{0, static_cast<int32_t>(-1 - dim)});
  }
  parameters.push_back(std::move(made));
  return *this;
}

SampleImage& SampleImage::Scalar(const std::string& parameter, program::ScalarKind kind) {
  program::PlanParameter made;
  made.name = parameter;
  made.is_tensor = false;
  made.scalar_kind = kind;
  made.scalar = static_cast<uint32_t>(scalars.size());
  scalars.push_back({parameter, kind});
  parameters.push_back(std::move(made));
  return *this;
}

std::shared_ptr<const program::Image> SampleImage::Make() const {
  program::Plan plan;
  plan.name = name;
  plan.parameters = parameters;
  plan.scalars = scalars;
  plan.flops_hint = 100;
  for (const std::string& symbol : symbols) plan.symbols.push_back({symbol, 0, 0});
  const program::ExprId zero = plan.exprs.Const(0);
  plan.workspace.unit_bytes = {zero, zero, zero};
  plan.workspace.boundary_bytes = zero;
  if (unit_per_symbol != 0) {
    plan.workspace.present[0] = true;
    plan.workspace.unit_bytes[0] = plan.exprs.Mul(plan.exprs.Symbol(0), plan.exprs.Const(unit_per_symbol));
  }
  program::DebugInfo debug;
  debug.files = {{"sample.py", "", "", 0}};
  debug.places = {{}, {0, 7, 1}};
  return program::MakeImage(platform, std::move(plan), std::move(debug), {});
}

SampleImage LinearSample() {
  SampleImage sample;
  sample.symbols = {"n"};
  sample.Tensor("x", Direction::kIn, {-1, 16})
      .Tensor("w", Direction::kIn, {16})
      .Tensor("out", Direction::kOut, {-1, 16});
  return sample;
}

}  // namespace pypto::runtime::testing
