// Construction of the sound plans.
#include "program/random_plan.h"

#include <algorithm>
#include <random>

namespace pypto::program {
namespace {

ValueRef AccessRef(uint32_t index) { return {ValueRef::Kind::kAccess, index, 0, 0}; }
ValueRef LocalRef(uint32_t index) { return {ValueRef::Kind::kLocal, index, 0, 0}; }

// Everything that the leaves of a root function use, closed.
void CollectExprs(const Plan& plan, RootFunction& root) {
  std::vector<ExprId> used;
  const auto add = [&](const std::vector<ExprId>& ids) { used.insert(used.end(), ids.begin(), ids.end()); };
  for (const Leaf& leaf : root.leaves) {
    if (leaf.guard != kNoExpr) used.push_back(leaf.guard);
    for (const Access& access : leaf.accesses) {
      used.push_back(access.offset);
      add(access.strides);
      add(access.valid);
      add(access.non_negative);
    }
    for (const Local& local : leaf.locals) add(local.valid);
    for (const LeafOp& op : leaf.ops) {
      for (const ValueRef& input : op.inputs) {
        if (input.kind == ValueRef::Kind::kExpr) used.push_back(input.index);
      }
    }
  }
  root.exprs = CloseUnderChildren(plan.exprs.nodes(), used);
}

// Parameters x and out, of shape [n, 8], an integer and a floating scalar, and one storage of each class.
Plan Skeleton() {
  Plan plan;
  plan.name = "sample";
  plan.symbols = {{"n", 0, 0}};
  plan.scalars = {{"k", ScalarKind::kInt}, {"f", ScalarKind::kFloat}};
  PlanParameter x;
  x.name = "x";
  x.dims = {{0, 0}, {8, -1}};
  PlanParameter out = x;
  out.name = "out";
  out.direction = Direction::kInOut;
  out.partial_reason = "line 12 writes only part of it";
  PlanParameter k;
  k.name = "k";
  k.is_tensor = false;
  PlanParameter f = k;
  f.name = "f";
  f.scalar = 1;
  f.scalar_kind = ScalarKind::kFloat;
  plan.parameters = {x, out, k, f};
  ExprPool& pool = plan.exprs;
  const ExprId n = pool.Symbol(0);
  const std::vector<ExprId> whole = {n, pool.Const(8)};
  const std::vector<ExprId> block = {pool.Const(32), pool.Const(8)};
  const ExprId bytes = pool.Mul(n, pool.Const(32));
  plan.storages = {{"x", TensorClass::kParameter, DType::kFp32, whole, bytes, 0, 0},
                   {"out", TensorClass::kParameter, DType::kFp32, whole, bytes, 1, 0},
                   {"inner", TensorClass::kRootInner, DType::kFp32, block, pool.Const(1024), -1, 1},
                   {"whole", TensorClass::kExclusiveOutcast, DType::kFp32, block, pool.Const(1024), -1, 0},
                   {"parts", TensorClass::kAssembleOutcast, DType::kFp32, whole, pool.AlignUp(bytes, 512), -1, 0}};
  plan.workspace.present = {true, true, true};
  plan.workspace.unit_bytes = {pool.Const(1024), pool.AlignUp(bytes, 512), pool.Const(1024)};
  plan.workspace.boundary_bytes = pool.Const(1024);
  plan.flops_hint = 1234;
  return plan;
}

Access Window(Plan& plan, uint32_t storage, ExprId offset, std::vector<int64_t> extents, ExprId rows) {
  ExprPool& pool = plan.exprs;
  Access access;
  access.storage = storage;
  access.offset = offset;
  access.strides = {pool.Const(8), pool.Const(extents[1] == 1 ? 0 : 1)};
  access.valid = {rows, pool.Const(extents[1])};
  access.extents = std::move(extents);
  return access;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Pick(int64_t count) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count)); }
  bool Coin() { return Pick(2) == 0; }
  std::string Name() {
    std::string name;
    for (int64_t i = Pick(6); i > 0; --i) name.push_back(static_cast<char>('a' + Pick(26)));
    return name;
  }

 private:
  std::mt19937_64 engine_;
};

// A random vector leaf over the storages of Skeleton: a chain of operations through local values.
Leaf RandomLeaf(Plan& plan, Random& random, ExprId index) {
  ExprPool& pool = plan.exprs;
  const auto rank = static_cast<size_t>(1 + random.Pick(kMaxRank));
  Leaf leaf;
  for (size_t i = 0; i < rank; ++i) {
    leaf.extents.push_back(1 + random.Pick(12));
    leaf.tile.push_back(1 + random.Pick(leaf.extents[i]));
  }
  const auto operand = [&](auto& value) {
    for (size_t i = 0; i < rank; ++i) {
      value.extents.push_back(random.Pick(4) == 0 ? 1 : leaf.extents[i]);
      value.valid.push_back(random.Coin() ? pool.Const(value.extents[i])
                                          : pool.Min(pool.Symbol(0), pool.Const(value.extents[i])));
    }
  };
  Access in;
  in.storage = random.Coin() ? 0 : 4;
  in.offset = pool.Mul(index, pool.Const(random.Pick(64)));
  operand(in);
  for (size_t i = 0; i < rank; ++i) in.strides.push_back(pool.Const(random.Pick(100)));
  if (random.Coin()) in.non_negative.push_back(index);
  Access out = in;
  out.storage = random.Coin() ? 1 : 3;
  out.extents = leaf.extents;
  leaf.accesses = {in, out};
  const OpCode codes[] = {OpCode::kNeg, OpCode::kExp, OpCode::kAdd, OpCode::kMaximum, OpCode::kCopy};
  ValueRef last = AccessRef(0);
  for (int64_t i = random.Pick(4); i >= 0; --i) {
    LeafOp op;
    op.code = codes[random.Pick(5)];
    op.inputs = {last};
    if (FindOperation(op.code)->family == OpFamily::kBinary) {
      const ValueRef numbers[] = {{ValueRef::Kind::kFloat, 0, 0.25, 0},
                                  {ValueRef::Kind::kInt, 0, 0, random.Pick(100) - 50},
                                  {ValueRef::Kind::kExpr, pool.Scalar(0), 0, 0},
                                  {ValueRef::Kind::kScalar, 1, 0, 0}};
      op.inputs.push_back(numbers[random.Pick(4)]);
    }
    Local local;
    local.extents = leaf.extents;
    local.valid = out.valid;
    leaf.locals.push_back(local);
    op.output = i == 0 ? AccessRef(1) : LocalRef(static_cast<uint32_t>(leaf.locals.size() - 1));
    last = op.output;
    op.place = static_cast<uint32_t>(random.Pick(3));
    leaf.ops.push_back(op);
  }
  leaf.locals.pop_back();
  if (random.Coin()) leaf.guard = *pool.Make(ExprOp::kLt, pool.Scalar(0), pool.Const(random.Pick(9)));
  return leaf;
}

ControlNode RandomControl(Plan& plan, Random& random, int depth, ExprId index);

std::vector<ControlNode> RandomNodes(Plan& plan, Random& random, int depth, ExprId index) {
  std::vector<ControlNode> nodes;
  for (int64_t i = random.Pick(3); i >= 0; --i) nodes.push_back(RandomControl(plan, random, depth, index));
  return nodes;
}

// Reads the table, sets a slot or checks it.
ControlNode RandomSlots(Plan& plan, Random& random, ExprId index) {
  ExprPool& pool = plan.exprs;
  ControlNode node;
  const ExprId slot = pool.Slot(0);
  if (random.Coin()) node.condition = pool.Scalar(0);
  const int64_t kind = random.Pick(3);
  if (kind == 0) {
    node.kind = ControlNode::Kind::kRead;
    node.read.storage = static_cast<uint32_t>(plan.storages.size() - 1);
    node.read.offset = pool.Const(0);
    node.read.strides = {pool.Const(1)};
    node.read.indices = {index};
    node.read.valid = {pool.Const(4)};
    if (random.Coin()) node.read.non_negative = {slot};
    plan.reads_tensors = true;
  } else if (kind == 1) {
    node.kind = ControlNode::Kind::kSet;
    node.sets = {{0, pool.Add(slot, index)}, {1, *pool.Make(ExprOp::kFloatAdd, pool.Slot(1), pool.FloatScalar(1))}};
  } else {
    node.kind = ControlNode::Kind::kCheck;
    node.checked = slot;
    node.text = random.Name();
  }
  return node;
}

void AddTable(Plan& plan) {
  PlanParameter table;
  table.name = "table";
  table.dtype = DType::kInt32;
  table.dims = {{4, -1}};
  plan.parameters.push_back(table);
  const auto parameter = static_cast<int32_t>(plan.parameters.size() - 1);
  plan.storages.push_back(
      {"table", TensorClass::kParameter, DType::kInt32, {plan.exprs.Const(4)}, plan.exprs.Const(16), parameter, 0});
  plan.slots = {{"page", ScalarKind::kInt}, {"scale", ScalarKind::kFloat}};
}

ControlNode RandomControl(Plan& plan, Random& random, int depth, ExprId index) {
  ExprPool& pool = plan.exprs;
  ControlNode node;
  const int64_t kind = depth == 0 ? 2 : random.Pick(4);
  if (kind == 0) {
    node.kind = ControlNode::Kind::kLoop;
    node.loop = plan.loop_count++;
    node.start = index;
    node.stop = pool.Symbol(0);
    node.step = pool.Const(1 + random.Pick(8));
    node.parallel = random.Coin();
    node.submit_before = random.Coin();
    if (random.Coin()) node.fresh = {4};
    node.body = RandomNodes(plan, random, depth - 1, pool.LoopIndex(node.loop));
  } else if (kind == 1) {
    node.kind = ControlNode::Kind::kIf;
    node.condition = pool.Scalar(0);
    node.body = RandomNodes(plan, random, depth - 1, index);
    if (random.Coin()) node.otherwise = RandomNodes(plan, random, depth - 1, index);
  } else if (kind == 3) {
    node = RandomSlots(plan, random, index);
  } else {
    node.root = static_cast<uint32_t>(plan.roots.size());
    RootFunction root;
    root.name = random.Name();
    for (int64_t i = random.Pick(3); i >= 0; --i) root.leaves.push_back(RandomLeaf(plan, random, index));
    root.reads = {0, 4};
    root.writes = {{1, WriteKind::kRegion}, {3, WriteKind::kWhole}};
    if (random.Coin()) root.live_after = {3};
    CollectExprs(plan, root);
    plan.roots.push_back(std::move(root));
  }
  node.place = static_cast<uint32_t>(random.Pick(3));
  return node;
}

}  // namespace

Plan SamplePlan() {
  Plan plan = Skeleton();
  ExprPool& pool = plan.exprs;
  plan.loop_count = 1;
  const ExprId i = pool.LoopIndex(0);
  const ExprId rows = pool.Clamp(pool.Sub(pool.Symbol(0), i), pool.Const(32));
  const ExprId start = pool.Mul(i, pool.Const(8));
  const ExprId zero = pool.Const(0);
  Leaf vector;
  vector.extents = {32, 8};
  vector.tile = {16, 8};
  vector.accesses = {Window(plan, 0, start, {32, 8}, rows), Window(plan, 2, zero, {32, 1}, rows),
                     Window(plan, 3, zero, {32, 8}, rows)};
  vector.accesses[0].non_negative = {i};
  vector.locals = {{DType::kFp32, {32, 8}, {rows, pool.Const(8)}}};
  LeafOp add{OpCode::kAdd, {AccessRef(0), {ValueRef::Kind::kFloat, 0, 1.5, 0}}, LocalRef(0)};
  add.place = 1;
  LeafOp sum{OpCode::kSum, {LocalRef(0)}, AccessRef(1)};
  sum.axis = 1;
  LeafOp scale{OpCode::kMul, {LocalRef(0), {ValueRef::Kind::kScalar, 1, 0, 0}}, AccessRef(2)};
  vector.ops = {add, sum, scale};
  Leaf cube;
  cube.kind = LeafKind::kCube;
  cube.extents = {32, 8};
  cube.tile = {16, 8};
  cube.k_extent = 8;
  cube.k_tile = 8;
  cube.accesses = {Window(plan, 2, zero, {32, 8}, rows), Window(plan, 3, zero, {8, 8}, pool.Const(8)),
                   Window(plan, 4, start, {32, 8}, rows)};
  cube.ops = {{OpCode::kMatmul, {AccessRef(0), AccessRef(1)}, AccessRef(2)}};
  RootFunction first;
  first.name = "rows";
  first.leaves = {vector, cube};
  first.root_inner = {2};
  first.reads = {0, 3};
  first.writes = {{3, WriteKind::kWhole}, {4, WriteKind::kRegion}};
  first.live_after = {4};
  first.place = 1;
  CollectExprs(plan, first);
  Leaf copy;
  copy.extents = {32, 8};
  copy.tile = {32, 8};
  copy.accesses = {Window(plan, 4, zero, {32, 8}, pool.Const(32)), Window(plan, 1, zero, {32, 8}, pool.Const(32))};
  copy.ops = {{OpCode::kCopy, {AccessRef(0)}, AccessRef(1)}};
  copy.guard = *pool.Make(ExprOp::kLt, pool.Scalar(0), pool.Const(5));
  RootFunction second;
  second.leaves = {copy};
  second.reads = {4};
  second.writes = {{1, WriteKind::kRegion}};
  CollectExprs(plan, second);
  plan.roots = {first, second};
  ControlNode loop;
  loop.kind = ControlNode::Kind::kLoop;
  loop.start = zero;
  loop.stop = pool.Symbol(0);
  loop.step = pool.Const(32);
  loop.body = {ControlNode{}};
  loop.fresh = {4};
  ControlNode branch;
  branch.kind = ControlNode::Kind::kIf;
  branch.condition = pool.Scalar(0);
  branch.body = {ControlNode{}};
  branch.body[0].root = 1;
  plan.control = {loop, branch};
  return plan;
}

Plan RandomPlan(uint64_t seed) {
  Plan plan = Skeleton();
  Random random(seed);
  plan.name = random.Name();
  plan.options.parallelism = static_cast<uint32_t>(1 + random.Pick(8));
  plan.options.stitch_function_num_per_pool = {static_cast<uint32_t>(random.Pick(1025)), 1, 2};
  AddTable(plan);
  plan.control = RandomNodes(plan, random, 4, plan.exprs.Const(0));
  return plan;
}

DebugInfo SampleDebug() {
  DebugInfo debug;
  debug.files = {{"kernel.py", "def kernel():\n    pass\n", "", 0}, {"helper.py:helper", "", "", 0}};
  debug.places = {{}, {0, 12, 5}, {1, 3, 9}};
  return debug;
}

}  // namespace pypto::program
