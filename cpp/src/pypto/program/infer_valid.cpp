// Valid extents of results: which cells of a tensor of static shape hold something.
#include <algorithm>

#include "pypto/program/infer.h"
#include "pypto/program/reshape_valid.h"

namespace pypto::program {
namespace {

struct ValidOperand {
  std::vector<int64_t> shape;
  std::vector<ExprId> valid;
};

// Common minimum in the dims where an operand varies. Stretching goes by static size 1; where such an operand may hold
// nothing, neither does the result.
std::vector<ExprId> BroadcastValid(ExprPool& exprs, const std::vector<int64_t>& shape,
                                   const std::vector<ValidOperand>& operands) {
  std::vector<ExprId> valid;
  for (const int64_t extent : shape) valid.push_back(exprs.Const(extent));
  for (const ValidOperand& operand : operands) {
    const size_t shift = shape.size() - operand.shape.size();
    for (size_t i = 0; i < operand.shape.size(); ++i) {
      ExprId limit = operand.valid[i];
      if (operand.shape[i] != shape[i + shift]) {
        if (exprs.Range(limit).first >= 1) continue;
        limit = exprs.Mul(limit, exprs.Const(shape[i + shift]));
      }
      valid[i + shift] = exprs.Min(valid[i + shift], limit);
    }
  }
  return valid;
}

std::vector<ExprId> MatmulValid(ExprPool& exprs, const OpAttributes& attributes, const InferredResult& result,
                                std::vector<ValidOperand> operands) {
  const size_t last = result.shape.size() - 1;
  const ExprId rows = operands[0].valid[attributes.a_trans ? last : last - 1];
  const ExprId columns = operands[1].valid[attributes.b_trans ? last - 1 : last];
  for (ValidOperand& operand : operands) {
    for (const size_t dim : {last - 1, last}) {
      operand.shape[dim] = result.shape[dim];
      operand.valid[dim] = exprs.Const(result.shape[dim]);
    }
  }
  std::vector<ExprId> valid = BroadcastValid(exprs, result.shape, operands);
  valid[last - 1] = rows;
  valid[last] = columns;
  return valid;
}

// Dims [begin, end) of the old and of the new shape with equal products of extents; dims of 1 are left out.
struct Group {
  std::vector<size_t> from;
  std::vector<size_t> to;
};

std::vector<size_t> DimsAboveOne(std::span<const int64_t> shape) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) dims.push_back(i);
  }
  return dims;
}

std::vector<Group> SplitIntoGroups(std::span<const int64_t> from, std::span<const int64_t> to) {
  const std::vector<size_t> old_dims = DimsAboveOne(from);
  const std::vector<size_t> new_dims = DimsAboveOne(to);
  std::vector<Group> groups;
  size_t i = 0;
  size_t j = 0;
  while (i < old_dims.size() && j < new_dims.size()) {
    Group group;
    int64_t old_product = from[old_dims[i]];
    int64_t new_product = to[new_dims[j]];
    group.from.push_back(old_dims[i++]);
    group.to.push_back(new_dims[j++]);
    while (old_product != new_product) {
      if (old_product < new_product) {
        old_product *= from[old_dims[i]];
        group.from.push_back(old_dims[i++]);
      } else {
        new_product *= to[new_dims[j]];
        group.to.push_back(new_dims[j++]);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// How many cells of the group are valid when they are its first ones in row-major order; nothing when they are not.
std::optional<ExprId> PrefixCount(ExprPool& exprs, std::span<const int64_t> from, std::span<const ExprId> valid,
                                  const std::vector<size_t>& dims) {
  size_t first = 0;
  while (first < dims.size() && exprs.IsConstant(valid[dims[first]], 1)) ++first;
  if (first == dims.size()) return exprs.Const(1);
  int64_t below = 1;
  for (size_t i = first + 1; i < dims.size(); ++i) {
    if (!exprs.IsConstant(valid[dims[i]], from[dims[i]])) return std::nullopt;
    below *= from[dims[i]];
  }
  return exprs.Mul(valid[dims[first]], exprs.Const(below));
}

// Writes the first `count` cells of the group as a box of the new dims; false when they are none.
bool SpreadPrefix(ExprPool& exprs, ExprId count, std::span<const int64_t> to, const std::vector<size_t>& dims,
                  std::vector<ExprId>& valid) {
  int64_t below = 1;
  for (size_t position = dims.size(); position-- > 0;) {
    const int64_t extent = to[dims[position]];
    const auto rows = exprs.Make(ExprOp::kDiv, count, exprs.Const(below));
    const bool fits = exprs.Range(count).second <= below * extent && exprs.Range(count).first >= 0;
    if (fits && rows.ok() && exprs.Mul(*rows, exprs.Const(below)) == count) {
      for (size_t i = 0; i < dims.size(); ++i) {
        valid[dims[i]] = i == position ? *rows : exprs.Const(i < position ? 1 : to[dims[i]]);
      }
      return true;
    }
    below *= extent;
  }
  return false;
}

}  // namespace

std::vector<ExprId> InferValid(Program& program, OpCode code, std::span<const Operand> inputs,
                               const OpAttributes& attributes, const InferredResult& result) {
  std::vector<ValidOperand> operands;
  for (const Operand& input : inputs) {
    if (input.kind != Operand::Kind::kTensor) continue;
    const Tensor& tensor = program.tensors[input.tensor];
    operands.push_back({*StaticShape(program, tensor), tensor.valid});
  }
  if (FindOperation(code)->family == OpFamily::kWhole) {
    std::vector<std::vector<ExprId>> each;
    for (const Operand& input : inputs) {
      const bool tensor = input.kind == Operand::Kind::kTensor;
      each.push_back(tensor ? program.tensors[input.tensor].valid : std::vector<ExprId>());
    }
    return WholeValid(program.exprs, code, inputs, each, attributes, result.shape);
  }
  std::vector<ExprId> valid = operands[0].valid;
  const auto axis = static_cast<size_t>(attributes.axis);
  switch (FindOperation(code)->family) {
    case OpFamily::kBinary:
    case OpFamily::kSelect:
    case OpFamily::kExpand: return BroadcastValid(program.exprs, result.shape, operands);
    case OpFamily::kMatmul: return MatmulValid(program.exprs, attributes, result, std::move(operands));
    case OpFamily::kReduction:
      // An empty axis reduces to the operation's neutral value, which is valid.
      valid[axis] = program.exprs.Const(1);
      if (result.shape.size() < valid.size()) valid.erase(valid.begin() + attributes.axis);
      return valid;
    case OpFamily::kTranspose:
      if (code == OpCode::kPermute) {
        for (size_t i = 0; i < valid.size(); ++i) valid[i] = operands[0].valid[static_cast<size_t>(attributes.dims[i])];
        return valid;
      }
      std::swap(valid[static_cast<size_t>(attributes.dim0)], valid[static_cast<size_t>(attributes.dim1)]);
      return valid;
    default: return valid;
  }
}

base::Result<std::vector<int64_t>> ResolveReshape(std::span<const int64_t> from, std::span<const int64_t> shape) {
  const auto refuse = [&](const char* why) {
    return base::MakeStatus(base::StatusCode::kInvalidArgument, "reshape(): %s into %s: %s", ShapeText(from).c_str(),
                            ShapeText(shape).c_str(), why);
  };
  int64_t count = 1;
  for (const int64_t extent : from) count *= extent;
  std::vector<int64_t> resolved(shape.begin(), shape.end());
  int64_t known = 1;
  int open = 0;
  for (const int64_t extent : shape) {
    if (extent == -1) {
      ++open;
    } else if (extent < 1) {
      return refuse("every extent must be at least 1, or -1 once");
    } else if (__builtin_mul_overflow(known, extent, &known)) {
      return refuse("the element counts differ");
    }
  }
  if (open > 1) return refuse("only one extent may be -1");
  if (open == 1 ? count % known != 0 : count != known) return refuse("the element counts differ");
  for (int64_t& extent : resolved) {
    if (extent == -1) extent = count / known;
  }
  return resolved;
}

bool NeverRuns(const ExprPool& exprs, ExprId start, ExprId stop, ExprId step) {
  const auto [least_step, most_step] = exprs.Range(step);
  if (least_step > 0) return exprs.Range(stop).second <= exprs.Range(start).first;
  return most_step < 0 && exprs.Range(stop).first >= exprs.Range(start).second;
}

std::optional<std::vector<ExprId>> ReshapeValid(ExprPool& exprs, std::span<const int64_t> from,
                                                std::span<const ExprId> valid, std::span<const int64_t> to) {
  std::vector<ExprId> result;
  for (const int64_t extent : to) result.push_back(exprs.Const(extent));
  for (const Group& group : SplitIntoGroups(from, to)) {
    // One dim stays one dim, whatever of it is valid.
    if (group.from.size() == 1 && group.to.size() == 1) {
      result[group.to[0]] = valid[group.from[0]];
      continue;
    }
    const auto count = PrefixCount(exprs, from, valid, group.from);
    if (!count || !SpreadPrefix(exprs, *count, to, group.to, result)) return std::nullopt;
  }
  // Dims of 1 that may be empty make the whole empty.
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1 && exprs.Range(valid[i]).first < 1) result[0] = exprs.Mul(result[0], valid[i]);
  }
  return result;
}

}  // namespace pypto::program
