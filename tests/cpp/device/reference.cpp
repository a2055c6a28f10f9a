// Reference semantics of plans.
#include "device/reference.h"

#include <gtest/gtest.h>
#include <bit>

#include <cmath>
#include <cstring>

#include "pypto/program/op_table.h"

namespace pypto::device::testing {
namespace {

using program::ControlNode;
using program::LeafOp;
using program::OpCode;
using program::OpFamily;
using program::Plan;
using program::ValueRef;

class Interpreter {
 public:
  Interpreter(const Plan& plan, const std::vector<Argument>& arguments, const std::vector<int64_t>& symbols)
      : plan_(plan), symbols_(symbols), scalars_(plan.scalars.size()), reals_(plan.scalars.size()) {
    loops_.resize(plan.loop_count);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (plan.parameters[i].is_tensor) continue;
      scalars_[plan.parameters[i].scalar] = arguments[i].integer;
      reals_[plan.parameters[i].scalar] = arguments[i].real;
    }
    data_.resize(plan.storages.size());
    for (size_t i = 0; i < plan.storages.size(); ++i) {
      const int32_t parameter = plan.storages[i].parameter;
      if (parameter >= 0) {
        data_[i] = arguments[static_cast<size_t>(parameter)].values;
      } else {
        data_[i].assign(static_cast<size_t>(Value(plan.storages[i].bytes)) / program::BytesOf(plan.storages[i].dtype),
                        0);
      }
    }
  }

  void Walk(const std::vector<ControlNode>& nodes) {
    for (const ControlNode& node : nodes) {
      if (node.kind == ControlNode::Kind::kRoot) RunRoot(plan_.roots[node.root]);
      if (node.kind == ControlNode::Kind::kIf) Walk(Value(node.condition) != 0 ? node.body : node.otherwise);
      if (node.kind != ControlNode::Kind::kLoop) continue;
      const int64_t stop = Value(node.stop);
      const int64_t step = Value(node.step);
      for (int64_t i = Value(node.start); step > 0 ? i < stop : i > stop; i += step) {
        loops_[node.loop] = i;
        Walk(node.body);
      }
    }
  }

  std::vector<std::vector<double>> Parameters(const std::vector<Argument>& arguments) const {
    std::vector<std::vector<double>> out;
    for (const Argument& argument : arguments) out.push_back(argument.values);
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      const int32_t parameter = plan_.storages[i].parameter;
      if (parameter >= 0) out[static_cast<size_t>(parameter)] = data_[i];
    }
    return out;
  }

 private:
  int64_t Value(program::ExprId id) const { return *program::Evaluate(plan_.exprs, id, {symbols_, scalars_, loops_}); }

  void RunRoot(const program::RootFunction& root) {
    for (const program::Leaf& leaf : root.leaves) {
      if (leaf.guard == program::kNoExpr || Value(leaf.guard) != 0) RunLeaf(leaf);
    }
  }

  void RunLeaf(const program::Leaf& leaf) {
    leaf_ = &leaf;
    size_t cells = 1;
    for (const int64_t extent : leaf.extents) cells *= static_cast<size_t>(extent);
    locals_.assign(leaf.locals.size(), std::vector<double>(cells));
    places_.clear();
    for (const program::Access& access : leaf.accesses) {
      std::vector<int64_t> place = {Value(access.offset)};
      for (size_t dim = 0; dim < leaf.extents.size(); ++dim) {
        place.push_back(access.extents[dim] > 1 ? Value(access.strides[dim]) : 0);
      }
      places_.push_back(std::move(place));
    }
    for (const LeafOp& op : leaf.ops) {
      const OpFamily family = program::FindOperation(op.code)->family;
      if (family == OpFamily::kMatmul) {
        Matmul(op);
      } else {
        Operation(op, family);
      }
    }
  }

  using Coordinates = std::vector<int64_t>;

  template <typename Body>
  static void ForEach(const Coordinates& extents, const Body& body) {
    Coordinates at(extents.size(), 0);
    for (const int64_t extent : extents) {
      if (extent <= 0) return;
    }
    for (;;) {
      body(at);
      size_t dim = extents.size();
      while (dim > 0 && ++at[dim - 1] == extents[dim - 1]) at[--dim] = 0;
      if (dim == 0) return;
    }
  }

  const std::vector<int64_t>* Extents(const ValueRef& value) const {
    if (value.kind == ValueRef::Kind::kAccess) return &leaf_->accesses[value.index].extents;
    if (value.kind == ValueRef::Kind::kLocal) return &leaf_->locals[value.index].extents;
    return nullptr;
  }

  int64_t ValidOf(const ValueRef& value, size_t dim) const {
    const auto& valid =
        value.kind == ValueRef::Kind::kAccess ? leaf_->accesses[value.index].valid : leaf_->locals[value.index].valid;
    return std::min(std::max<int64_t>(Value(valid[dim]), 0), (*Extents(value))[dim]);
  }

  size_t Index(const ValueRef& value, const Coordinates& at) const {
    const auto& extents = *Extents(value);
    if (value.kind == ValueRef::Kind::kLocal) {
      size_t index = 0;
      for (size_t dim = 0; dim < at.size(); ++dim) {
        index = index * static_cast<size_t>(extents[dim]) + static_cast<size_t>(extents[dim] > 1 ? at[dim] : 0);
      }
      return index;
    }
    const std::vector<int64_t>& place = places_[value.index];
    int64_t index = place[0];
    for (size_t dim = 0; dim < at.size(); ++dim) index += at[dim] * place[dim + 1];
    return static_cast<size_t>(index);
  }

  double Read(const LeafOp& op, const ValueRef& value, const Coordinates& at) const {
    const bool real = program::IsFloat(op.compute_dtype) || op.code == OpCode::kDiv;
    switch (value.kind) {
      case ValueRef::Kind::kLocal: return locals_[value.index][Index(value, at)];
      case ValueRef::Kind::kFloat: return RoundTo(DType::kFp32, value.float_value);
      case ValueRef::Kind::kInt:
        return RoundTo(real ? DType::kFp32 : DType::kInt32, static_cast<double>(value.int_value));
      case ValueRef::Kind::kExpr: return static_cast<double>(Value(value.index));
      case ValueRef::Kind::kScalar: return RoundTo(DType::kFp32, reals_[value.index]);
      case ValueRef::Kind::kFloatExpr: return RoundTo(DType::kFp32, std::bit_cast<double>(Value(value.index)));
      case ValueRef::Kind::kAccess: break;
    }
    const uint32_t storage = leaf_->accesses[value.index].storage;
    return data_[storage].at(Index(value, at));
  }

  DType DTypeOf(const ValueRef& value) const {
    if (value.kind == ValueRef::Kind::kLocal) return leaf_->locals[value.index].dtype;
    return plan_.storages[leaf_->accesses[value.index].storage].dtype;
  }

  void Write(const ValueRef& value, const Coordinates& at, double number) {
    const double rounded = RoundTo(DTypeOf(value), number);
    if (value.kind == ValueRef::Kind::kLocal) {
      locals_[value.index][Index(value, at)] = rounded;
      return;
    }
    data_[leaf_->accesses[value.index].storage].at(Index(value, at)) = rounded;
  }

  static double Compute(const LeafOp& op, double a, double b, bool real) {
    const auto wrap = [](int64_t x) { return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(x))); };
    const auto x = static_cast<int64_t>(std::isfinite(a) && std::fabs(a) < 9e18 ? a : 0);
    const auto y = static_cast<int64_t>(std::isfinite(b) && std::fabs(b) < 9e18 ? b : 0);
    switch (op.code) {
      case OpCode::kAdd: return real ? a + b : wrap(x + y);
      case OpCode::kSub: return real ? a - b : wrap(x - y);
      case OpCode::kMul: return real ? a * b : wrap(x * y);
      case OpCode::kDiv: return RoundTo(DType::kFp32, a) / RoundTo(DType::kFp32, b);
      case OpCode::kMaximum: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
      case OpCode::kMinimum: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
      case OpCode::kNeg: return real ? -a : wrap(-x);
      case OpCode::kAbs: return std::fabs(a);
      case OpCode::kExp: return std::exp(a);
      case OpCode::kLog: return std::log(a);
      case OpCode::kSqrt: return std::sqrt(a);
      case OpCode::kRsqrt: return 1.0 / RoundTo(DType::kFp32, std::sqrt(a));
      case OpCode::kReciprocal: return 1.0 / a;
      case OpCode::kTanh: return std::tanh(a);
      case OpCode::kErf: return std::erf(a);
      default: return a;
    }
  }

  double Cast(const LeafOp& op, double x) const {
    const DType to = DTypeOf(op.output);
    const bool from_float = program::IsFloat(op.compute_dtype);
    const bool known = op.cast_mode >= 1 && op.cast_mode <= 5;
    if (to == DType::kBool) return x != 0 ? 1 : 0;
    if (program::IsFloat(to)) {
      if (!from_float) return RoundTo(DType::kFp32, x);
      if (to != op.compute_dtype && to != DType::kFp32 && op.cast_mode > 1) return Directed(to, op.cast_mode, x);
      return known && to == op.compute_dtype ? RoundWhole(op.cast_mode, x) : x;
    }
    double whole = from_float ? (std::isnan(x) ? 0 : RoundWhole(known ? op.cast_mode : 5, x)) : x;
    if (op.saturate) {
      const double high = to == DType::kInt8 ? 127 : 2147483647.0;
      return std::min(std::max(whole, -high - 1), high);
    }
    if (std::isinf(whole)) whole = 0;
    return whole;
  }

  // x in steps of the half dtype, rounded as a whole number of them. 6: the odd one of two neighbours.
  static double Directed(DType to, int mode, double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const bool half = to == DType::kFp16;
    const double step = std::ldexp(1.0, std::max(std::ilogb(x) - (half ? 10 : 7), half ? -24 : -133));
    double whole = RoundWhole(mode, x / step);
    if (mode == 6 && whole != x / step && std::fmod(whole, 2) == 0) whole += x < 0 ? -1 : 1;
    return whole * step;
  }

  static double RoundWhole(int mode, double x) {
    switch (mode) {
      case 1: return std::nearbyint(x);
      case 2: return std::round(x);
      case 3: return std::floor(x);
      case 4: return std::ceil(x);
      default: return std::trunc(x);
    }
  }

  void Operation(const LeafOp& op, OpFamily family) {
    Coordinates region = *Extents(op.output);
    for (size_t dim = 0; dim < region.size(); ++dim) {
      if (family == OpFamily::kReduction && static_cast<int32_t>(dim) == op.axis) continue;
      region[dim] = std::min(region[dim], ValidOf(op.output, dim));
      for (const ValueRef& input : op.inputs) {
        const auto* extents = Extents(input);
        if (extents != nullptr)
          region[dim] = std::min(region[dim], (*extents)[dim] > 1 ? ValidOf(input, dim) : region[dim]);
      }
    }
    std::vector<std::pair<Coordinates, double>> results;  // written after all reads
    ForEach(region, [&](const Coordinates& at) {
      if (family == OpFamily::kReduction) {
        results.emplace_back(at, Reduce(op, at));
        return;
      }
      const double a = Read(op, op.inputs[0], at);
      const double b = op.inputs.size() > 1 ? Read(op, op.inputs[1], at) : 0;
      const bool real = program::IsFloat(op.compute_dtype);
      results.emplace_back(at, family == OpFamily::kCast ? Cast(op, a) : Compute(op, a, b, real));
    });
    for (const auto& [at, value] : results) Write(op.output, at, value);
  }

  double Reduce(const LeafOp& op, Coordinates at) const {
    const auto axis = static_cast<size_t>(op.axis);
    const int64_t length = ValidOf(op.inputs[0], axis);
    const DType dtype = DTypeOf(op.output);
    double result = 0;
    if (op.code != OpCode::kSum && length == 0) {
      double high = dtype == DType::kInt32 ? 2147483647.0 : 0x1.fffffep127;
      if (dtype == DType::kFp16) high = 65504;
      if (dtype == DType::kBf16) high = 0x1.fep127;
      return op.code == OpCode::kAmin ? high : (dtype == DType::kInt32 ? -high - 1 : -high);
    }
    for (int64_t i = 0; i < length; ++i) {
      at[axis] = i;
      const double x = Read(op, op.inputs[0], at);
      if (op.code == OpCode::kSum) {
        result += x;
      } else if (i == 0 || std::isnan(x) || (op.code == OpCode::kAmax ? x > result : x < result)) {
        result = std::isnan(result) && i > 0 ? result : x;
      }
    }
    return result;
  }

  void Matmul(const LeafOp& op) {
    const size_t rank = leaf_->extents.size();
    Coordinates region = leaf_->extents;
    for (size_t dim = 0; dim < rank; ++dim) {
      region[dim] = std::min(region[dim], ValidOf(op.output, dim));
      const auto limit = [&](const ValueRef& input) {
        if ((*Extents(input))[dim] > 1 || ValidOf(input, dim) == 0)
          region[dim] = std::min(region[dim], ValidOf(input, dim));
      };
      if (dim != rank - 1) limit(op.inputs[0]);
      if (dim != rank - 2) limit(op.inputs[1]);
    }
    const int64_t k = std::min(ValidOf(op.inputs[0], rank - 1), ValidOf(op.inputs[1], rank - 2));
    ForEach(region, [&](const Coordinates& at) {
      double sum = 0;
      Coordinates a = at;
      Coordinates b = at;
      for (int64_t i = 0; i < k; ++i) {
        a[rank - 1] = i;
        b[rank - 2] = i;
        sum += Read(op, op.inputs[0], a) * Read(op, op.inputs[1], b);
      }
      Write(op.output, at, sum);
    });
  }

  const Plan& plan_;
  const std::vector<int64_t> symbols_;
  std::vector<int64_t> scalars_;
  std::vector<double> reals_;
  std::vector<int64_t> loops_;
  std::vector<std::vector<double>> data_;  // per storage
  const program::Leaf* leaf_ = nullptr;
  std::vector<std::vector<double>> locals_;
  std::vector<std::vector<int64_t>> places_;  // per access: offset, then strides
};

}  // namespace

std::vector<std::vector<double>> RunReference(const Plan& plan, const std::vector<Argument>& arguments,
                                              const std::vector<int64_t>& symbols) {
  Interpreter interpreter(plan, arguments, symbols);
  interpreter.Walk(plan.control);
  return interpreter.Parameters(arguments);
}

LaunchResult CheckAgainstReference(const std::shared_ptr<const program::Image>& image,
                                   const std::vector<Argument>& arguments, const std::vector<int64_t>& symbols,
                                   double ulps, double absolute, uint32_t cores) {
  Launcher launcher(image, cores);
  launcher.Bind(arguments, symbols);
  LaunchResult result = launcher.Run();
  EXPECT_EQ(result.outcome.acl_code, 0) << result.outcome.message;
  const auto expected = RunReference(image->plan, arguments, symbols);
  for (size_t i = 0; i < expected.size(); ++i) {
    const DType dtype = image->plan.parameters[i].dtype;
    int wrong = 0;
    for (size_t j = 0; j < expected[i].size() && wrong < 5; ++j) {
      const double want = expected[i][j];
      const double got = result.values[i][j];
      const bool same = want == got || (std::isnan(want) && std::isnan(got));
      const double allowed = program::IsFloat(dtype) && std::isfinite(want) ? ulps * UlpOf(dtype, want) + absolute : 0;
      if (same || std::fabs(want - got) <= allowed) continue;
      ADD_FAILURE() << "parameter " << i << ", element " << j << ": " << got << ", expected " << want;
      ++wrong;
    }
  }
  return result;
}

}  // namespace pypto::device::testing
