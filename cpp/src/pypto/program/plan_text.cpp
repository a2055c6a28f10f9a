// The listing of a plan: parameters, storages by class, root functions with their leaves, control tree, workspace
// units.
#include <cinttypes>

#include "pypto/program/infer.h"
#include "pypto/program/plan.h"

namespace pypto::program {
namespace {

using base::Format;

const char* NameOf(TensorClass tensor_class) {
  switch (tensor_class) {
    case TensorClass::kParameter: return "parameter";
    case TensorClass::kRootInner: return "root_inner";
    case TensorClass::kAssembleOutcast: return "assemble_outcast";
    case TensorClass::kExclusiveOutcast: return "exclusive_outcast";
  }
  return "unknown";
}

const char* NameOf(Direction direction) {
  switch (direction) {
    case Direction::kIn: return "in";
    case Direction::kOut: return "out";
    case Direction::kInOut: return "inout";
    case Direction::kUnused: return "unused";
  }
  return "unknown";
}

// Lists one sound plan. Thread rule: one thread, one use.
class Lister {
 public:
  Lister(const Plan& plan, const DebugInfo& debug) : plan_(plan), debug_(debug) {
    name_of_ = [this](const ExprNode& leaf) { return LeafName(leaf); };
  }

  std::string Run() {
    Line(0, "plan " + plan_.name);
    for (const PlanParameter& parameter : plan_.parameters) ListParameter(parameter);
    for (size_t i = 0; i < plan_.storages.size(); ++i) ListStorage(i);
    for (size_t i = 0; i < plan_.roots.size(); ++i) ListRoot(i);
    Line(1, "control");
    ListControl(plan_.control, 2);
    ListWorkspace();
    return std::move(text_);
  }

 private:
  std::string LeafName(const ExprNode& leaf) const {
    if (leaf.op == ExprOp::kSymbol && leaf.a < plan_.symbols.size()) return plan_.symbols[leaf.a].name;
    const bool scalar = leaf.op == ExprOp::kScalar || leaf.op == ExprOp::kFloatScalar;
    if (scalar && leaf.a < plan_.scalars.size()) return plan_.scalars[leaf.a].name;
    if (leaf.op == ExprOp::kSlot) return "s" + std::to_string(leaf.a);
    return "i" + std::to_string(leaf.a);
  }

  std::string Text(ExprId id) const { return plan_.exprs.ToText(id, name_of_); }
  std::string Texts(const std::vector<ExprId>& ids) const {
    std::string text = "[";
    for (size_t i = 0; i < ids.size(); ++i) text += (i == 0 ? "" : ", ") + Text(ids[i]);
    return text + "]";
  }

  void Line(int depth, const std::string& what, uint32_t place = 0) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + what;
    if (place < debug_.places.size() && debug_.places[place].line > 0) {
      const SourcePlace& source = debug_.places[place];
      text_ += "  # ";
      if (source.file < debug_.files.size()) text_ += debug_.files[source.file].name + ":";
      text_ += std::to_string(source.line);
    }
    text_ += "\n";
  }

  void ListParameter(const PlanParameter& parameter) {
    std::string what = "parameter " + parameter.name + ": ";
    if (!parameter.is_tensor) {
      Line(1, what + (parameter.scalar_kind == ScalarKind::kInt ? "int" : "float"));
      return;
    }
    what += std::string(InfoOf(parameter.dtype).name) + "[";
    for (size_t i = 0; i < parameter.dims.size(); ++i) {
      const Dim& dim = parameter.dims[i];
      const bool known = dim.symbol >= 0 && static_cast<size_t>(dim.symbol) < plan_.symbols.size();
      what += (i == 0 ? "" : ", ") +
              (known ? plan_.symbols[static_cast<size_t>(dim.symbol)].name : std::to_string(dim.value));
    }
    what += std::string("] ") + NameOf(parameter.direction);
    if (!parameter.partial_reason.empty()) what += " (" + parameter.partial_reason + ")";
    Line(1, what);
  }

  std::string StorageName(uint32_t id) const {
    const std::string& name = plan_.storages[id].name;
    return "s" + std::to_string(id) + (name.empty() ? "" : ":" + name);
  }
  std::string StorageNames(const std::vector<uint32_t>& ids) const {
    std::string text;
    for (const uint32_t id : ids) text += " " + StorageName(id);
    return text;
  }

  void ListStorage(size_t id) {
    const Storage& storage = plan_.storages[id];
    Line(1,
         "storage " + StorageName(static_cast<uint32_t>(id)) + ": " + NameOf(storage.tensor_class) + " " +
             std::string(InfoOf(storage.dtype).name) + Texts(storage.dims) + ", " + Text(storage.bytes) + " bytes",
         storage.place);
  }

  void ListRoot(size_t index) {
    const RootFunction& root = plan_.roots[index];
    Line(1, Format("root %zu", index) + (root.name.empty() ? "" : " " + root.name), root.place);
    if (!root.root_inner.empty()) Line(2, "root_inner" + StorageNames(root.root_inner));
    if (!root.reads.empty()) Line(2, "reads" + StorageNames(root.reads));
    if (!root.writes.empty()) {
      std::string writes = "writes";
      for (const OutcastWrite& write : root.writes) {
        writes += " " + StorageName(write.storage) + (write.kind == WriteKind::kWhole ? " (whole)" : " (region)");
      }
      Line(2, writes);
    }
    if (!root.live_after.empty()) Line(2, "live after" + StorageNames(root.live_after));
    for (size_t i = 0; i < root.leaves.size(); ++i) ListLeaf(i, root.leaves[i]);
  }

  void ListLeaf(size_t index, const Leaf& leaf) {
    std::string what = Format("leaf %zu ", index) +
                       (leaf.kind == LeafKind::kCube    ? "cube "
                        : leaf.kind == LeafKind::kWhole ? "whole "
                                                        : "vector ") +
                       ShapeText(leaf.extents) + " tile " + ShapeText(leaf.tile);
    if (leaf.kind == LeafKind::kCube) what += Format(" k %" PRId64 " tile %" PRId64, leaf.k_extent, leaf.k_tile);
    if (leaf.guard != kNoExpr) what += " if " + Text(leaf.guard);
    Line(2, what, leaf.place);
    for (size_t i = 0; i < leaf.accesses.size(); ++i) {
      const Access& access = leaf.accesses[i];
      Line(3, Format("a%zu: ", i) + StorageName(access.storage) + " at " + Text(access.offset) + " strides " +
                  Texts(access.strides) + " extents " + ShapeText(access.extents) + " valid " + Texts(access.valid));
    }
    for (size_t i = 0; i < leaf.locals.size(); ++i) {
      const Local& local = leaf.locals[i];
      Line(3, Format("l%zu: leaf-local ", i) + std::string(InfoOf(local.dtype).name) + ShapeText(local.extents) +
                  " valid " + Texts(local.valid));
    }
    for (const LeafOp& op : leaf.ops) ListOp(op);
  }

  std::string ValueText(const ValueRef& value) const {
    switch (value.kind) {
      case ValueRef::Kind::kAccess: return "a" + std::to_string(value.index);
      case ValueRef::Kind::kLocal: return "l" + std::to_string(value.index);
      case ValueRef::Kind::kFloat: return Format("%.17g", value.float_value);
      case ValueRef::Kind::kInt: return Format("%" PRId64, value.int_value);
      case ValueRef::Kind::kExpr: return Text(value.index);
      case ValueRef::Kind::kScalar: return plan_.scalars[value.index].name;
      case ValueRef::Kind::kFloatExpr: return Text(value.index);
    }
    return "none";
  }

  void ListOp(const LeafOp& op) {
    const OpInfo* info = FindOperation(op.code);
    std::string what = ValueText(op.output) + " = " + (info == nullptr ? "unknown" : std::string(info->name)) + "(";
    for (size_t i = 0; i < op.inputs.size(); ++i) what += (i == 0 ? "" : ", ") + ValueText(op.inputs[i]);
    if (info != nullptr && (info->family == OpFamily::kReduction || info->family == OpFamily::kWhole))
      what += Format(", dim=%d", op.axis);
    if (info != nullptr && info->family == OpFamily::kCast) {
      what += Format(", mode=%d", op.cast_mode) + (op.saturate ? ", saturate" : "");
    }
    Line(3, what + ") of " + std::string(InfoOf(op.compute_dtype).name), op.place);
  }

  std::string Fresh(const std::vector<uint32_t>& storages) const {
    std::string text;
    for (const uint32_t storage : storages) text += (text.empty() ? " fresh " : " ") + StorageName(storage);
    return text;
  }

  void ListControl(const std::vector<ControlNode>& nodes, int depth) {
    for (const ControlNode& node : nodes) {
      switch (node.kind) {
        case ControlNode::Kind::kRoot: Line(depth, Format("root %u", node.root), node.place); break;
        case ControlNode::Kind::kLoop:
          Line(depth,
               Format("loop i%u in (", node.loop) + Text(node.start) + ", " + Text(node.stop) + ", " + Text(node.step) +
                   ")" + (node.parallel ? " parallel" : "") + (node.submit_before ? " submit_before" : "") +
                   Fresh(node.fresh),
               node.place);
          ListControl(node.body, depth + 1);
          break;
        case ControlNode::Kind::kIf:
          Line(depth, "if " + Text(node.condition), node.place);
          ListControl(node.body, depth + 1);
          if (!node.otherwise.empty()) Line(depth, "else");
          ListControl(node.otherwise, depth + 1);
          break;
        default: ListSlots(node, depth); break;
      }
    }
  }

  void ListSlots(const ControlNode& node, int depth) {
    const std::string guard = node.condition == kNoExpr ? "" : " if " + Text(node.condition);
    if (node.kind == ControlNode::Kind::kRead) {
      Line(depth,
           Format("s%u = ", node.slot) + StorageName(node.read.storage) + Texts(node.read.indices) + " at " +
               Text(node.read.offset) + " strides " + Texts(node.read.strides) + " valid " + Texts(node.read.valid) +
               guard,
           node.place);
    } else if (node.kind == ControlNode::Kind::kCheck) {
      Line(depth, "check " + Text(node.checked) + guard + ": " + node.text, node.place);
    }
    for (const SlotValue& set : node.sets) {
      Line(depth, Format("s%u := ", set.slot) + Text(set.value) + guard, node.place);
    }
  }

  void ListWorkspace() {
    const char* pools[] = {"root_inner", "assemble_outcast", "exclusive_outcast"};
    Line(1, "workspace");
    for (size_t i = 0; i < plan_.workspace.present.size(); ++i) {
      const bool present = plan_.workspace.present[i];
      Line(2, std::string(pools[i]) + " unit " + (present ? Text(plan_.workspace.unit_bytes[i]) + " bytes" : "none"));
    }
    const ExprId boundary = plan_.workspace.boundary_bytes;
    Line(2, "boundary " + (boundary == kNoExpr ? "0" : Text(boundary)) + " bytes");
  }

  const Plan& plan_;
  const DebugInfo& debug_;
  ExprPool::NameOf name_of_;
  std::string text_;
};

}  // namespace

std::string ToText(const Plan& plan, const DebugInfo& debug) { return Lister(plan, debug).Run(); }

}  // namespace pypto::program
