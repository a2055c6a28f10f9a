// Shapes and valid extents of operations that take whole operands.
#include <algorithm>

#include "pypto/program/infer.h"
#include "pypto/program/plan.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::Status;
using base::StatusCode;
using Shape = std::vector<int64_t>;

Status Refuse(const OpInfo& info, const std::string& why) {
  return MakeStatus(StatusCode::kInvalidArgument, "%s(): %s", std::string(info.shown()).c_str(), why.c_str());
}

// The caller says what shape the result has.
bool GivesShape(OpCode code) {
  return code == OpCode::kArange || code == OpCode::kBytes || code == OpCode::kUniform || code == OpCode::kNormal;
}

base::Result<Shape> GivenShape(const OpInfo& info, const Shape& dims) {
  const bool one_dim = info.code == OpCode::kArange || info.code == OpCode::kBytes;
  const bool sound = !dims.empty() && dims.size() <= static_cast<size_t>(kMaxRank) && (!one_dim || dims.size() == 1) &&
                     std::all_of(dims.begin(), dims.end(), [](int64_t extent) { return extent > 0; });
  if (sound) return dims;
  const std::string most = one_dim ? "one positive extent" : base::Format("1 to %d positive extents", kMaxRank);
  return Refuse(info, "the result has " + most + ", got " + ShapeText(dims));
}

// Two tensors of one shape whose last dim is even.
base::Result<Shape> PairShape(const OpInfo& info, const std::vector<Shape>& shapes) {
  if (shapes[0] == shapes[1] && shapes[0].back() % 2 == 0) return shapes[0];
  return Refuse(
      info, "tensors of one shape with an even last dim, got " + ShapeText(shapes[0]) + " and " + ShapeText(shapes[1]));
}

// Ranks equal; apart from the axis no extent of `small` above that of `large`.
Status CheckInside(const OpInfo& info, const Shape& small, const Shape& large, int32_t axis, const char* what) {
  bool fits = small.size() == large.size();
  for (size_t i = 0; fits && i < small.size(); ++i) {
    fits = static_cast<int32_t>(i) == axis || small[i] <= large[i];
  }
  if (fits) return base::OkStatus();
  return Refuse(info, base::Format("index %s does not fit %s %s: ranks are equal and, apart from dim %d, no extent "
                                   "is larger",
                                   ShapeText(small).c_str(), what, ShapeText(large).c_str(), axis));
}

base::Result<Shape> ScatterShape(const OpInfo& info, const std::vector<Shape>& shapes, int32_t axis) {
  PYPTO_RETURN_IF_ERROR(CheckInside(info, shapes[1], shapes[0], axis, "the tensor"));
  if (!shapes[2].empty()) PYPTO_RETURN_IF_ERROR(CheckInside(info, shapes[1], shapes[2], -1, "the source"));
  return shapes[0];
}

base::Result<Shape> IndexAddShape(const OpInfo& info, const std::vector<Shape>& shapes, int32_t axis) {
  Shape expected = shapes[0];
  if (shapes[1].size() != 1) return Refuse(info, "the index has rank 1, got " + ShapeText(shapes[1]));
  expected[static_cast<size_t>(axis)] = shapes[1][0];
  if (shapes[2] == expected) return shapes[0];
  return Refuse(info,
                "the source must have shape " + ShapeText(expected) + " for this index, got " + ShapeText(shapes[2]));
}

// Rows, one index for each row of the result, the table.
base::Result<Shape> PagedShape(const OpInfo& info, const std::vector<Shape>& shapes) {
  if (shapes[0].size() == 2 && shapes[1].size() == 1 && shapes[2].size() == 1) return Shape{shapes[1][0], shapes[0][1]};
  return Refuse(info, "rows of 2 dims, an index and a table of 1, got " + ShapeText(shapes[0]) + ", " +
                          ShapeText(shapes[1]) + " and " + ShapeText(shapes[2]));
}

// x, values, accumulate, one index per leading dim.
base::Result<Shape> IndexPutShape(const OpInfo& info, const std::vector<Shape>& shapes) {
  const Shape& x = shapes[0];
  const size_t count = shapes.size() - 3;
  if (count > x.size()) return Refuse(info, base::Format("%zu indices for a tensor of %zu dims", count, x.size()));
  for (size_t i = 3; i < shapes.size(); ++i) {
    if (shapes[i].size() != 1 || shapes[i] != shapes[3]) {
      return Refuse(info, "indices are of rank 1 and of equal length, got " + ShapeText(shapes[3]) + " and " +
                              ShapeText(shapes[i]));
    }
  }
  Shape expected = {shapes[3][0]};
  expected.insert(expected.end(), x.begin() + static_cast<std::ptrdiff_t>(count), x.end());
  if (shapes[1] == expected) return x;
  return Refuse(info, "values must have shape " + ShapeText(expected) + ", got " + ShapeText(shapes[1]));
}

// Distance and first element of a mask pattern.
struct Pattern {
  int64_t step = 1;
  int64_t first = 0;
};
std::optional<Pattern> PatternOf(const Operand& mode) {
  if (mode.kind != Operand::Kind::kInt || mode.int_value < 1 || mode.int_value > 7) return std::nullopt;
  if (mode.int_value == 7) return Pattern{1, 0};
  return mode.int_value <= 2 ? Pattern{2, mode.int_value - 1} : Pattern{4, mode.int_value - 3};
}

base::Result<Shape> MaskShape(const OpInfo& info, const Operand& mode, Shape shape) {
  const auto pattern = PatternOf(mode);
  if (!pattern) return Refuse(info, "pattern_mode is one of 1 to 7");
  if (shape.back() <= pattern->first) return Refuse(info, "the last dim is too short for this pattern");
  shape.back() = (shape.back() - pattern->first + pattern->step - 1) / pattern->step;
  return shape;
}

base::Result<Shape> SortedShape(const OpInfo& info, const Operand& k, Shape shape, int32_t axis) {
  int64_t& extent = shape[static_cast<size_t>(axis)];
  if (k.kind != Operand::Kind::kInt || k.int_value < 1 || k.int_value > extent) {
    return Refuse(info, base::Format("k must be an int from 1 to %lld", static_cast<long long>(extent)));
  }
  extent = k.int_value;
  return shape;
}

}  // namespace

base::Result<Shape> InferWhole(const OpInfo& info, std::span<const Operand> inputs, const std::vector<Shape>& shapes,
                               OpAttributes& attributes) {
  if (GivesShape(info.code)) return GivenShape(info, attributes.dims);
  Shape shape = shapes[0];
  if (info.code == OpCode::kIndexPut) return IndexPutShape(info, shapes);
  if (info.code == OpCode::kInterleave || info.code == OpCode::kDeinterleaveTwo) return PairShape(info, shapes);
  if (info.code == OpCode::kGatherMask || info.code == OpCode::kDeinterleave)
    return MaskShape(info, inputs[1], std::move(shape));
  if (info.code == OpCode::kTriangle) {
    if (shape.size() < 2) return Refuse(info, "a tensor of at least 2 dims, got " + ShapeText(shape));
    return shape;
  }
  PYPTO_ASSIGN_OR_RETURN(attributes.axis, WrapAxis(attributes.axis, shape.size(), info.name));
  int64_t& extent = shape[static_cast<size_t>(attributes.axis)];
  switch (info.code) {
    case OpCode::kArgMax:
    case OpCode::kArgMin: extent = 1; return shape;
    case OpCode::kSorted:
    case OpCode::kSortedIndex: return SortedShape(info, inputs[1], std::move(shape), attributes.axis);
    case OpCode::kGather:
      PYPTO_RETURN_IF_ERROR(CheckInside(info, shapes[1], shape, attributes.axis, "the tensor"));
      return shapes[1];
    case OpCode::kIndexSelect:
      if (shapes[1].size() != 1) return Refuse(info, "the index has rank 1, got " + ShapeText(shapes[1]));
      extent = shapes[1][0];
      return shape;
    case OpCode::kGatherInUb:
    case OpCode::kGatherInL1: return PagedShape(info, shapes);
    case OpCode::kScatter: return ScatterShape(info, shapes, attributes.axis);
    case OpCode::kIndexAdd: return IndexAddShape(info, shapes, attributes.axis);
    default: return shape;
  }
}

std::vector<ExprId> WholeValid(ExprPool& exprs, OpCode code, std::span<const Operand> inputs,
                               const std::vector<std::vector<ExprId>>& valid, const OpAttributes& attributes,
                               const std::vector<int64_t>& shape) {
  if (code == OpCode::kGather) return valid[1];
  const auto full = [&] {
    std::vector<ExprId> extents;
    for (const int64_t extent : shape) extents.push_back(exprs.Const(extent));
    return extents;
  };
  if (GivesShape(code)) return full();
  std::vector<ExprId> result = valid[0];
  const auto axis = static_cast<size_t>(attributes.axis);
  switch (code) {
    case OpCode::kArgMax:
    case OpCode::kArgMin: result[axis] = exprs.Const(1); break;
    case OpCode::kSorted:
    case OpCode::kSortedIndex: result[axis] = exprs.Min(result[axis], exprs.Const(shape[axis])); break;
    case OpCode::kGatherInUb:
    case OpCode::kGatherInL1:
    case OpCode::kIndexSelect: result[axis] = valid[1][0]; break;
    case OpCode::kInterleave:
    case OpCode::kDeinterleaveTwo:
      for (size_t i = 0; i < result.size(); ++i) result[i] = exprs.Min(result[i], valid[1][i]);
      break;
    case OpCode::kDeinterleave:
    case OpCode::kGatherMask: {
      const auto pattern = PatternOf(inputs[1]);
      const ExprId reach = exprs.Max(exprs.Sub(result.back(), exprs.Const(pattern->first)), exprs.Const(0));
      result.back() = exprs.CeilDiv(reach, pattern->step);
      break;
    }
    default: break;
  }
  return result;
}

}  // namespace pypto::program
