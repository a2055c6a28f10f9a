// Plans by hand.
#include "device/plan_maker.h"

#include <algorithm>

namespace pypto::device::testing {

using program::TensorClass;

LeafMaker::LeafMaker(program::Plan* plan, std::vector<int64_t> extents, std::vector<int64_t> tile) : plan_(plan) {
  leaf_.extents = std::move(extents);
  leaf_.tile = std::move(tile);
}

ValueRef LeafMaker::Window(uint32_t storage, std::vector<ExprId> starts) {
  program::ExprPool& exprs = plan_->exprs;
  const std::vector<ExprId> dims = plan_->storages[storage].dims;
  const size_t rank = leaf_.extents.size();
  program::Access access;
  access.storage = storage;
  access.offset = Const(0);
  access.strides.assign(rank, Const(0));
  access.extents.assign(rank, 1);
  access.valid.assign(rank, Const(1));
  ExprId stride = Const(1);
  for (size_t back = 1; back <= std::min(rank, dims.size()); ++back) {
    const size_t dim = rank - back;
    const size_t own = dims.size() - back;
    const ExprId start = starts.empty() ? Const(0) : starts[own];
    if (!starts.empty()) access.non_negative.push_back(start);
    access.offset = exprs.Add(access.offset, exprs.Mul(start, stride));
    if (!exprs.IsConstant(dims[own], 1)) {
      access.strides[dim] = stride;
      access.extents[dim] = leaf_.extents[dim];
      access.valid[dim] = exprs.Clamp(exprs.Sub(dims[own], start), Const(leaf_.extents[dim]));
    }
    stride = exprs.Mul(stride, dims[own]);
  }
  leaf_.accesses.push_back(std::move(access));
  ValueRef value;
  value.kind = ValueRef::Kind::kAccess;
  value.index = static_cast<uint32_t>(leaf_.accesses.size() - 1);
  return value;
}

ValueRef LeafMaker::Strided(uint32_t storage, ExprId offset, std::vector<int64_t> strides, std::vector<int64_t> extents,
                            std::vector<ExprId> valid) {
  program::Access access;
  access.storage = storage;
  access.offset = offset;
  for (const int64_t stride : strides) access.strides.push_back(Const(stride));
  access.extents = std::move(extents);
  access.valid = std::move(valid);
  if (access.valid.empty()) {
    for (const int64_t extent : access.extents) access.valid.push_back(Const(extent));
  }
  leaf_.accesses.push_back(std::move(access));
  ValueRef value;
  value.kind = ValueRef::Kind::kAccess;
  value.index = static_cast<uint32_t>(leaf_.accesses.size() - 1);
  return value;
}

ValueRef LeafMaker::Local(DType dtype, std::vector<int64_t> extents) {
  program::Local local;
  local.dtype = dtype;
  local.extents = extents.empty() ? leaf_.extents : std::move(extents);
  for (const int64_t extent : local.extents) local.valid.push_back(Const(extent));
  leaf_.locals.push_back(std::move(local));
  ValueRef value;
  value.kind = ValueRef::Kind::kLocal;
  value.index = static_cast<uint32_t>(leaf_.locals.size() - 1);
  return value;
}

ValueRef LeafMaker::Float(double number) {
  ValueRef value;
  value.kind = ValueRef::Kind::kFloat;
  value.float_value = number;
  return value;
}

ValueRef LeafMaker::Int(int64_t number) {
  ValueRef value;
  value.kind = ValueRef::Kind::kInt;
  value.int_value = number;
  return value;
}

ValueRef LeafMaker::Expr(ExprId id) {
  ValueRef value;
  value.kind = ValueRef::Kind::kExpr;
  value.index = id;
  return value;
}

ValueRef LeafMaker::Scalar(uint32_t index) {
  ValueRef value;
  value.kind = ValueRef::Kind::kScalar;
  value.index = index;
  return value;
}

DType LeafMaker::DTypeOf(const ValueRef& value) const {
  if (value.kind == ValueRef::Kind::kLocal) return leaf_.locals[value.index].dtype;
  return plan_->storages[leaf_.accesses[value.index].storage].dtype;
}

ValueRef LeafMaker::Op(OpCode code, std::vector<ValueRef> inputs, ValueRef output) {
  program::LeafOp op;
  op.code = code;
  op.compute_dtype = DTypeOf(output);
  for (const ValueRef& input : inputs) {
    const bool tensor = input.kind == ValueRef::Kind::kAccess || input.kind == ValueRef::Kind::kLocal;
    if (tensor) op.compute_dtype = DTypeOf(input);
  }
  op.inputs = std::move(inputs);
  op.output = output;
  leaf_.ops.push_back(std::move(op));
  return output;
}

ValueRef LeafMaker::Reduce(OpCode code, ValueRef input, int axis, ValueRef output) {
  Op(code, {input}, output);
  leaf_.ops.back().axis = axis;
  return output;
}

ValueRef LeafMaker::Cast(ValueRef input, ValueRef output, int mode, bool saturate) {
  Op(OpCode::kCast, {input}, output);
  leaf_.ops.back().cast_mode = static_cast<uint8_t>(mode);
  leaf_.ops.back().saturate = saturate;
  return output;
}

void LeafMaker::SetValid(ValueRef value, int dim, ExprId valid) {
  auto& list =
      value.kind == ValueRef::Kind::kLocal ? leaf_.locals[value.index].valid : leaf_.accesses[value.index].valid;
  list[static_cast<size_t>(dim)] = valid;
}

uint32_t PlanMaker::Parameter(DType dtype, Dims dims) {
  program::PlanParameter parameter;
  parameter.name = "p" + std::to_string(plan_.parameters.size());
  parameter.dtype = dtype;
  parameter.direction = program::Direction::kUnused;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    program::Dim dim;
    if (dims[axis] >= 0) {
      dim.value = dims[axis];
    } else {
      dim.symbol = static_cast<int32_t>(-dims[axis] - 1);
      if (static_cast<size_t>(dim.symbol) == plan_.symbols.size()) {
        plan_.symbols.push_back({"s" + std::to_string(dim.symbol), static_cast<uint32_t>(plan_.parameters.size()),
                                 static_cast<uint32_t>(axis)});
      }
    }
    parameter.dims.push_back(dim);
  }
  plan_.parameters.push_back(std::move(parameter));
  const uint32_t storage = Storage(TensorClass::kParameter, dtype, std::move(dims));
  plan_.storages[storage].parameter = static_cast<int32_t>(plan_.parameters.size() - 1);
  return storage;
}

uint32_t PlanMaker::IntScalar() {
  program::PlanParameter parameter;
  parameter.is_tensor = false;
  parameter.scalar = static_cast<uint32_t>(plan_.scalars.size());
  plan_.scalars.push_back({"n", program::ScalarKind::kInt});
  plan_.parameters.push_back(parameter);
  return parameter.scalar;
}

uint32_t PlanMaker::FloatScalar() {
  const uint32_t scalar = IntScalar();
  plan_.scalars[scalar].kind = program::ScalarKind::kFloat;
  plan_.parameters.back().scalar_kind = program::ScalarKind::kFloat;
  return scalar;
}

uint32_t PlanMaker::Storage(TensorClass tensor_class, DType dtype, Dims dims) {
  program::Storage storage;
  storage.name = "t" + std::to_string(plan_.storages.size());
  storage.tensor_class = tensor_class;
  storage.dtype = dtype;
  ExprId bytes = Const(program::BytesOf(dtype));
  for (const int64_t dim : dims) {
    storage.dims.push_back(dim >= 0 ? Const(dim) : Symbol(static_cast<uint32_t>(-dim - 1)));
    bytes = plan_.exprs.Mul(bytes, storage.dims.back());
  }
  storage.bytes = tensor_class == TensorClass::kParameter ? bytes : plan_.exprs.AlignUp(bytes, 512);
  plan_.storages.push_back(std::move(storage));
  return static_cast<uint32_t>(plan_.storages.size() - 1);
}

LeafMaker PlanMaker::Cube(std::vector<int64_t> extents, std::vector<int64_t> tile, int64_t k) {
  LeafMaker leaf(&plan_, std::move(extents), std::move(tile));
  leaf.leaf().kind = program::LeafKind::kCube;
  leaf.leaf().k_extent = k;
  leaf.leaf().k_tile = k;
  return leaf;
}

uint32_t PlanMaker::Root(std::vector<LeafMaker> leaves, std::vector<uint32_t> whole, std::vector<uint32_t> live) {
  program::RootFunction root;
  root.name = "root" + std::to_string(plan_.roots.size());
  root.live_after = std::move(live);
  const auto add = [](std::vector<uint32_t>* list, uint32_t storage) {
    if (std::find(list->begin(), list->end(), storage) == list->end()) list->push_back(storage);
  };
  std::vector<ExprId> used;
  std::vector<uint32_t> written;
  for (LeafMaker& maker : leaves) {
    program::Leaf& leaf = maker.leaf();
    for (const program::Access& access : leaf.accesses) {
      used.push_back(access.offset);
      used.insert(used.end(), access.strides.begin(), access.strides.end());
      used.insert(used.end(), access.valid.begin(), access.valid.end());
      used.insert(used.end(), access.non_negative.begin(), access.non_negative.end());
    }
    for (const program::Local& local : leaf.locals) used.insert(used.end(), local.valid.begin(), local.valid.end());
    if (leaf.guard != program::kNoExpr) used.push_back(leaf.guard);
    for (const program::LeafOp& op : leaf.ops) {
      const auto visit = [&](const ValueRef& value, bool output) {
        if (value.kind == ValueRef::Kind::kExpr) used.push_back(value.index);
        if (value.kind != ValueRef::Kind::kAccess) return;
        const uint32_t storage = leaf.accesses[value.index].storage;
        if (plan_.storages[storage].tensor_class == TensorClass::kRootInner) return add(&root.root_inner, storage);
        add(output ? &written : &root.reads, storage);
        const int32_t parameter = plan_.storages[storage].parameter;
        if (parameter < 0) return;
        auto& direction = plan_.parameters[static_cast<size_t>(parameter)].direction;
        const auto wanted = output ? program::Direction::kOut : program::Direction::kIn;
        const bool fresh = direction == program::Direction::kUnused || direction == wanted;
        direction = fresh ? wanted : program::Direction::kInOut;
      };
      for (const ValueRef& input : op.inputs) visit(input, false);
      visit(op.output, true);
    }
    root.leaves.push_back(std::move(leaf));
  }
  for (const uint32_t storage : written) {
    const bool is_whole = std::find(whole.begin(), whole.end(), storage) != whole.end();
    root.writes.push_back({storage, is_whole ? program::WriteKind::kWhole : program::WriteKind::kRegion});
  }
  root.exprs = program::CloseUnderChildren(plan_.exprs.nodes(), used);
  plan_.roots.push_back(std::move(root));
  return static_cast<uint32_t>(plan_.roots.size() - 1);
}

program::ControlNode PlanMaker::Run(uint32_t root) {
  program::ControlNode node;
  node.root = root;
  return node;
}

program::ControlNode PlanMaker::Loop(uint32_t loop, ExprId start, ExprId stop, ExprId step,
                                     std::vector<program::ControlNode> body) {
  program::ControlNode node;
  node.kind = program::ControlNode::Kind::kLoop;
  node.loop = loop;
  node.start = start;
  node.stop = stop;
  node.step = step;
  node.body = std::move(body);
  return node;
}

program::ControlNode PlanMaker::If(ExprId condition, std::vector<program::ControlNode> yes,
                                   std::vector<program::ControlNode> no) {
  program::ControlNode node;
  node.kind = program::ControlNode::Kind::kIf;
  node.condition = condition;
  node.body = std::move(yes);
  node.otherwise = std::move(no);
  return node;
}

void PlanMaker::SetWorkspace(std::vector<int64_t> units, int64_t boundary) {
  for (size_t pool = 0; pool < 3; ++pool) {
    plan_.workspace.unit_bytes[pool] = Const(units[pool]);
    plan_.workspace.present[pool] = units[pool] > 0;
  }
  plan_.workspace.boundary_bytes = Const(boundary);
}

std::shared_ptr<const program::Image> PlanMaker::Finish() {
  if (plan_.control.empty()) {
    for (uint32_t root = 0; root < plan_.roots.size(); ++root) plan_.control.push_back(Run(root));
  }
  program::DebugInfo debug;
  debug.files = {{"kernel.py", "", "", 0}};
  debug.places = {{}, {0, 11, 0}, {0, 12, 0}, {0, 13, 0}};
  return program::MakeImage("a2a3sim", std::move(plan_), std::move(debug), {});
}

std::shared_ptr<const program::Image> SingleLeaf(PlanMaker* maker, LeafMaker leaf) {
  maker->Root({std::move(leaf)});
  return maker->Finish();
}

}  // namespace pypto::device::testing
