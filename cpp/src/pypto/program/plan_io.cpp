// The byte form of a plan and of its debug information. Each record is described once, for both directions.
#include "pypto/program/bytes.h"
#include "pypto/program/plan.h"

namespace pypto::program {
namespace {

using base::MakeStatus;
using base::StatusCode;

constexpr DType kLastDType = DType::kInt4;

template <typename A, typename T>
void Numbers(A& archive, T& values) {
  archive.List(values, [&](auto& value) { archive.Number(value); });
}

template <typename A>
void Code(A& archive, Coded<A, ExprNode>& node) {
  archive.Enum(node.op, kLastExprOp);
  if (node.op == ExprOp::kConst || node.op == ExprOp::kFloat) {
    archive.Number(node.value);
    return;
  }
  archive.Number(node.a);
  if (ChildCount(node.op) > 1) archive.Number(node.b);
  if (ChildCount(node.op) > 2) archive.Number(node.c);
}

template <typename A>
void Code(A& archive, Coded<A, Dim>& dim) {
  archive.Number(dim.value);
  archive.Number(dim.symbol);
}

template <typename A>
void Code(A& archive, Coded<A, Symbol>& symbol) {
  archive.Text(symbol.name);
  archive.Number(symbol.parameter);
  archive.Number(symbol.axis);
}

template <typename A>
void Code(A& archive, Coded<A, Scalar>& scalar) {
  archive.Text(scalar.name);
  archive.Enum(scalar.kind, ScalarKind::kFloat);
}

template <typename A>
void Code(A& archive, Coded<A, Slot>& slot) {
  archive.Text(slot.name);
  archive.Enum(slot.kind, ScalarKind::kFloat);
}

template <typename A>
void Code(A& archive, Coded<A, PlanParameter>& parameter) {
  archive.Text(parameter.name);
  archive.Bool(parameter.is_tensor);
  archive.Enum(parameter.scalar_kind, ScalarKind::kFloat);
  archive.Number(parameter.scalar);
  archive.Enum(parameter.dtype, kLastDType);
  archive.List(parameter.dims, [&](auto& dim) { Code(archive, dim); });
  archive.Enum(parameter.direction, Direction::kUnused);
  archive.DebugText(parameter.partial_reason);
}

template <typename A>
void Code(A& archive, Coded<A, Storage>& storage) {
  archive.Text(storage.name);
  archive.Enum(storage.tensor_class, TensorClass::kExclusiveOutcast);
  archive.Enum(storage.dtype, kLastDType);
  Numbers(archive, storage.dims);
  archive.Number(storage.bytes);
  archive.Number(storage.parameter);
  archive.Place(storage.place);
}

template <typename A>
void Code(A& archive, Coded<A, Access>& access) {
  archive.Number(access.storage);
  archive.Number(access.offset);
  Numbers(archive, access.strides);
  Numbers(archive, access.extents);
  Numbers(archive, access.valid);
  Numbers(archive, access.non_negative);
}

template <typename A>
void Code(A& archive, Coded<A, Local>& local) {
  archive.Enum(local.dtype, kLastDType);
  Numbers(archive, local.extents);
  Numbers(archive, local.valid);
}

template <typename A>
void Code(A& archive, Coded<A, ValueRef>& value) {
  archive.Enum(value.kind, ValueRef::Kind::kFloatExpr);
  switch (value.kind) {
    case ValueRef::Kind::kFloat: archive.Number(value.float_value); break;
    case ValueRef::Kind::kInt: archive.Number(value.int_value); break;
    default: archive.Number(value.index); break;
  }
}

template <typename A>
void Code(A& archive, Coded<A, LeafOp>& op) {
  archive.Enum(op.code, static_cast<OpCode>(UINT16_MAX));
  archive.List(op.inputs, [&](auto& input) { Code(archive, input); });
  Code(archive, op.output);
  archive.Enum(op.compute_dtype, kLastDType);
  archive.Number(op.axis);
  archive.Number(op.cast_mode);
  archive.Bool(op.saturate);
  archive.Place(op.place);
}

template <typename A>
void Code(A& archive, Coded<A, Leaf>& leaf) {
  archive.Enum(leaf.kind, LeafKind::kWhole);
  Numbers(archive, leaf.extents);
  Numbers(archive, leaf.tile);
  archive.Number(leaf.k_extent);
  archive.Number(leaf.k_tile);
  archive.List(leaf.accesses, [&](auto& access) { Code(archive, access); });
  archive.List(leaf.locals, [&](auto& local) { Code(archive, local); });
  archive.List(leaf.ops, [&](auto& op) { Code(archive, op); });
  archive.Number(leaf.guard);
  archive.Place(leaf.place);
}

template <typename A>
void Code(A& archive, Coded<A, RootFunction>& root) {
  archive.Text(root.name);
  archive.List(root.leaves, [&](auto& leaf) { Code(archive, leaf); });
  Numbers(archive, root.root_inner);
  Numbers(archive, root.reads);
  archive.List(root.writes, [&](auto& write) {
    archive.Number(write.storage);
    archive.Enum(write.kind, WriteKind::kRegion);
  });
  Numbers(archive, root.live_after);
  Numbers(archive, root.exprs);
  archive.Place(root.place);
}

template <typename A>
void Code(A& archive, Coded<A, CellRead>& read) {
  archive.Number(read.storage);
  archive.Number(read.offset);
  Numbers(archive, read.strides);
  Numbers(archive, read.indices);
  Numbers(archive, read.valid);
  Numbers(archive, read.non_negative);
}

// What changes slots, or ends the launch.
template <typename A>
void CodeSlots(A& archive, Coded<A, ControlNode>& node) {
  archive.Number(node.condition);
  if (node.kind == ControlNode::Kind::kRead) {
    archive.Number(node.slot);
    Code(archive, node.read);
  } else if (node.kind == ControlNode::Kind::kSet) {
    archive.List(node.sets, [&](auto& set) {
      archive.Number(set.slot);
      archive.Number(set.value);
    });
  } else {
    archive.Number(node.checked);
    archive.DebugText(node.text);
  }
}

template <typename A>
void Code(A& archive, Coded<A, ControlNode>& node) {
  if (!archive.Enter()) return;
  archive.Enum(node.kind, ControlNode::Kind::kCheck);
  const bool block = node.kind == ControlNode::Kind::kLoop || node.kind == ControlNode::Kind::kIf;
  if (node.kind == ControlNode::Kind::kRoot) archive.Number(node.root);
  if (!block && node.kind != ControlNode::Kind::kRoot) CodeSlots(archive, node);
  if (node.kind == ControlNode::Kind::kLoop) {
    archive.Number(node.loop);
    archive.Number(node.start);
    archive.Number(node.stop);
    archive.Number(node.step);
    archive.Bool(node.parallel);
    archive.Bool(node.submit_before);
    Numbers(archive, node.fresh);
  }
  if (node.kind == ControlNode::Kind::kIf) archive.Number(node.condition);
  if (block) archive.List(node.body, [&](auto& child) { Code(archive, child); });
  if (node.kind == ControlNode::Kind::kIf) archive.List(node.otherwise, [&](auto& child) { Code(archive, child); });
  archive.Place(node.place);
  archive.Leave();
}

template <typename A>
void Code(A& archive, Coded<A, PlanWorkspace>& workspace) {
  for (size_t i = 0; i < workspace.present.size(); ++i) {
    archive.Bool(workspace.present[i]);
    archive.Number(workspace.unit_bytes[i]);
  }
  archive.Number(workspace.boundary_bytes);
}

template <typename A>
void Code(A& archive, Coded<A, PlanOptions>& options) {
  archive.Number(options.stitch_function_max_num);
  archive.Number(options.max_workspace_kb);
  for (auto& depth : options.stitch_function_num_per_pool) archive.Number(depth);
  archive.Number(options.parallelism);
}

// Everything but the expressions, which stand first.
template <typename A>
void Code(A& archive, Coded<A, Plan>& plan) {
  archive.Text(plan.name);
  archive.List(plan.parameters, [&](auto& parameter) { Code(archive, parameter); });
  archive.List(plan.symbols, [&](auto& symbol) { Code(archive, symbol); });
  archive.List(plan.scalars, [&](auto& scalar) { Code(archive, scalar); });
  archive.List(plan.slots, [&](auto& slot) { Code(archive, slot); });
  archive.Bool(plan.reads_tensors);
  archive.Number(plan.loop_count);
  archive.List(plan.storages, [&](auto& storage) { Code(archive, storage); });
  archive.List(plan.roots, [&](auto& root) { Code(archive, root); });
  archive.List(plan.control, [&](auto& node) { Code(archive, node); });
  Code(archive, plan.workspace);
  Code(archive, plan.options);
  archive.Number(plan.flops_hint);
}

template <typename A>
void Code(A& archive, Coded<A, DebugInfo>& debug) {
  archive.List(debug.files, [&](auto& file) {
    archive.Text(file.name);
    archive.Text(file.text);
  });
  archive.List(debug.places, [&](auto& place) {
    archive.Number(place.file);
    archive.Number(place.line);
    archive.Number(place.column);
  });
}

std::vector<uint8_t> Write(const Plan& plan, bool identity_only) {
  ByteWriter writer(identity_only);
  const std::vector<ExprNode> nodes(plan.exprs.nodes().begin(), plan.exprs.nodes().end());
  writer.List(nodes, [&](const ExprNode& node) { Code(writer, node); });
  Code(writer, plan);
  return std::move(writer).Take();
}

base::Status CheckEnd(ByteReader& reader, const char* what) {
  if (reader.ok() && !reader.at_end()) reader.Fail("bytes are left over");
  if (reader.ok()) return base::OkStatus();
  return MakeStatus(StatusCode::kProgramFormat, "the %s section is damaged at byte %zu: %s", what, reader.position(),
                    reader.error());
}

}  // namespace

std::vector<uint8_t> SerializePlan(const Plan& plan) { return Write(plan, false); }
std::vector<uint8_t> SerializePlanIdentity(const Plan& plan) { return Write(plan, true); }

base::Result<Plan> ParsePlan(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  std::vector<ExprNode> nodes;
  reader.List(nodes, [&](ExprNode& node) { Code(reader, node); });
  Plan plan;
  Code(reader, plan);
  PYPTO_RETURN_IF_ERROR(CheckEnd(reader, "plan"));
  PYPTO_ASSIGN_OR_RETURN(plan.exprs, ExprPool::FromNodes(std::move(nodes)));
  PYPTO_RETURN_IF_ERROR(ValidatePlan(plan));
  return plan;
}

std::vector<uint8_t> SerializeDebug(const DebugInfo& debug) {
  ByteWriter writer;
  Code(writer, debug);
  return std::move(writer).Take();
}

base::Result<DebugInfo> ParseDebug(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  DebugInfo debug;
  Code(reader, debug);
  PYPTO_RETURN_IF_ERROR(CheckEnd(reader, "debug"));
  for (const SourcePlace& place : debug.places) {
    if (place.file < debug.files.size() || (place.file == 0 && debug.files.empty())) continue;
    return MakeStatus(StatusCode::kProgramFormat, "the debug section names file %u of %zu", place.file,
                      debug.files.size());
  }
  return debug;
}

}  // namespace pypto::program
