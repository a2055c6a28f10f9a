// Validation of one leaf: shapes, accesses, locals and operations.
#include <algorithm>

#include "pypto/base/checked.h"
#include "pypto/program/validate.h"

namespace pypto::program {
namespace {

using base::OkStatus;
using base::Status;

// Elements of one tile, and of all local values of one tile together.
constexpr int64_t kMaxTileElements = int64_t{1} << 26;
constexpr uint8_t kMaxCastMode = 6;

// Validates one leaf. Thread rule: one thread, one use.
class LeafValidator {
 public:
  LeafValidator(const Plan& plan, const Leaf& leaf, const RootMarks& marks)
      : plan_(plan), leaf_(leaf), marks_(marks), rank_(leaf.extents.size()), assigned_(leaf.locals.size(), false) {}

  Status Run() {
    PYPTO_RETURN_IF_ERROR(CheckSpace());
    if (leaf_.guard != kNoExpr) PYPTO_RETURN_IF_ERROR(CheckExpr(leaf_.guard));
    for (const Access& access : leaf_.accesses) PYPTO_RETURN_IF_ERROR(CheckAccess(access));
    PYPTO_RETURN_IF_ERROR(CheckLocals());
    if (leaf_.ops.empty()) return Unsound("a leaf has no operation");
    if (leaf_.kind == LeafKind::kCube) return CheckCube();
    if (leaf_.kind == LeafKind::kWhole) return CheckWhole();
    for (const LeafOp& op : leaf_.ops) PYPTO_RETURN_IF_ERROR(CheckVectorOp(op));
    return OkStatus();
  }

 private:
  Status CheckSpace() const {
    if (rank_ < 1 || rank_ > kMaxRank || leaf_.tile.size() != rank_) {
      return Unsound("a leaf has rank %zu and a tile of rank %zu", rank_, leaf_.tile.size());
    }
    std::optional<int64_t> cells = 1;
    std::optional<int64_t> tile = 1;
    for (size_t i = 0; i < rank_; ++i) {
      if (leaf_.extents[i] < 1 || leaf_.tile[i] < 1 || leaf_.tile[i] > leaf_.extents[i]) {
        return Unsound("dim %zu of a leaf has extent %lld and tile %lld", i, static_cast<long long>(leaf_.extents[i]),
                       static_cast<long long>(leaf_.tile[i]));
      }
      if (cells) cells = base::CheckedMul(*cells, leaf_.extents[i]);
      if (tile) tile = base::CheckedMul(*tile, leaf_.tile[i]);
    }
    if (!cells) return Unsound("the iteration space of a leaf exceeds 63 bits");
    const bool in_memory = leaf_.kind == LeafKind::kWhole;
    if (!tile || (!in_memory && *tile > kMaxTileElements)) return Unsound("a tile has more than 2^26 elements");
    const bool cube = leaf_.kind == LeafKind::kCube;
    const bool k_fits = cube ? leaf_.k_extent >= 1 && leaf_.k_tile >= 1 && leaf_.k_tile <= leaf_.k_extent
                             : leaf_.k_extent == 0 && leaf_.k_tile == 0;
    if (k_fits) return OkStatus();
    return Unsound("K of a leaf has extent %lld and tile %lld", static_cast<long long>(leaf_.k_extent),
                   static_cast<long long>(leaf_.k_tile));
  }

  // An expression that is evaluated for the instances of this root function.
  Status CheckExpr(ExprId id) const {
    if (id < marks_.exprs.size() && marks_.exprs[id] == marks_.root) return OkStatus();
    return Unsound("a leaf uses expression %u, which its root function does not list", id);
  }

  Status CheckExprs(const std::vector<ExprId>& ids) const {
    for (const ExprId id : ids) PYPTO_RETURN_IF_ERROR(CheckExpr(id));
    return OkStatus();
  }

  // Operands of an indexed operation have extents of their own; what a tile holds of each is cut to them when it runs.
  bool HasOwnExtents() const {
    if (leaf_.ops.size() != 1) return false;
    const OpCode code = leaf_.ops[0].code;
    return code == OpCode::kGather || ChoosesSlices(code) || code == OpCode::kScatter || code == OpCode::kIndexAdd ||
           code == OpCode::kIndexPut || code == OpCode::kBytes;
  }

  Status CheckExtents(const std::vector<int64_t>& extents) const {
    if (extents.size() != rank_) return Unsound("an operand of rank %zu in a leaf of rank %zu", extents.size(), rank_);
    if (leaf_.kind == LeafKind::kCube) return OkStatus();  // by operand, in CheckCube
    const bool whole = leaf_.kind == LeafKind::kWhole;
    const bool own = whole && HasOwnExtents();
    for (size_t i = 0; i < rank_; ++i) {
      if (extents[i] < 1) return Unsound("an operand has extent %lld", static_cast<long long>(extents[i]));
      if (own || (whole && leaf_.tile[i] == leaf_.extents[i])) continue;
      if (extents[i] != leaf_.extents[i] && extents[i] != 1) {
        return Unsound("an operand has extent %lld in a dim of extent %lld", static_cast<long long>(extents[i]),
                       static_cast<long long>(leaf_.extents[i]));
      }
    }
    return OkStatus();
  }

  Status CheckAccess(const Access& access) const {
    if (access.storage >= plan_.storages.size()) return Unsound("an access names storage %u", access.storage);
    if (access.strides.size() != rank_ || access.valid.size() != rank_) {
      return Unsound("an access has %zu strides and %zu valid extents in a leaf of rank %zu", access.strides.size(),
                     access.valid.size(), rank_);
    }
    if (access.non_negative.size() > kMaxRank * kMaxRank) return Unsound("an access checks too many starts");
    PYPTO_RETURN_IF_ERROR(CheckExtents(access.extents));
    PYPTO_RETURN_IF_ERROR(CheckExpr(access.offset));
    PYPTO_RETURN_IF_ERROR(CheckExprs(access.strides));
    PYPTO_RETURN_IF_ERROR(CheckExprs(access.valid));
    PYPTO_RETURN_IF_ERROR(CheckExprs(access.non_negative));
    const TensorClass tensor_class = plan_.storages[access.storage].tensor_class;
    if (tensor_class != TensorClass::kRootInner || marks_.inner[access.storage] == marks_.root) return OkStatus();
    return Unsound("a leaf uses root-inner storage %u, which its root function does not take", access.storage);
  }

  Status CheckLocals() const {
    std::optional<int64_t> all = 0;
    for (const Local& local : leaf_.locals) {
      PYPTO_RETURN_IF_ERROR(CheckExtents(local.extents));
      if (local.valid.size() != rank_) return Unsound("a local value has %zu valid extents", local.valid.size());
      PYPTO_RETURN_IF_ERROR(CheckExprs(local.valid));
      std::optional<int64_t> cells = 1;
      for (size_t i = 0; i < rank_ && cells; ++i) {
        cells = base::CheckedMul(*cells, std::min(local.extents[i], leaf_.tile[i]));
      }
      if (all) all = cells ? base::CheckedAdd(*all, *cells) : cells;
    }
    if (all && *all <= kMaxTileElements) return OkStatus();
    return Unsound("the local values of one tile have more than 2^26 elements");
  }

  struct Value {
    const std::vector<int64_t>* extents = nullptr;  // null for numbers
    DType dtype = DType::kFp32;
  };

  // The tensor or number behind an input; `found` is left empty for numbers.
  Status Find(const ValueRef& value, Value& found) const {
    found = {};
    switch (value.kind) {
      case ValueRef::Kind::kAccess:
        if (value.index >= leaf_.accesses.size()) return Unsound("an operation names access %u", value.index);
        found = {&leaf_.accesses[value.index].extents, plan_.storages[leaf_.accesses[value.index].storage].dtype};
        return OkStatus();
      case ValueRef::Kind::kLocal:
        if (value.index >= leaf_.locals.size()) return Unsound("an operation names local value %u", value.index);
        found = {&leaf_.locals[value.index].extents, leaf_.locals[value.index].dtype};
        return OkStatus();
      case ValueRef::Kind::kFloat:
      case ValueRef::Kind::kInt: return OkStatus();
      case ValueRef::Kind::kExpr:
      case ValueRef::Kind::kFloatExpr: return CheckExpr(value.index);
      case ValueRef::Kind::kScalar:
        if (value.index < plan_.scalars.size() && plan_.scalars[value.index].kind == ScalarKind::kFloat) {
          return OkStatus();
        }
        return Unsound("an operation names floating scalar %u", value.index);
    }
    return Unsound("an operand is of an unknown kind");
  }

  bool Listed(const std::vector<uint32_t>& marks, uint32_t storage) const {
    return plan_.storages[storage].tensor_class == TensorClass::kRootInner || marks[storage] == marks_.root;
  }

  Status CheckInput(const LeafOp& op, const OpInfo& info, size_t index, Value& value) const {
    const ValueRef& input = op.inputs[index];
    PYPTO_RETURN_IF_ERROR(Find(input, value));
    const char letter = info.operand(index);
    if (value.extents == nullptr) {
      if (letter == 'N' || letter == 't') return OkStatus();
      return Unsound("an operation has a number where it takes a tensor");
    }
    if (letter == 'N') return Unsound("an operation has a tensor where it takes a number");
    bool fits = value.dtype == op.compute_dtype;
    if (letter == 'B') fits = value.dtype == DType::kBool;
    if (letter == 'I') fits = value.dtype == DType::kInt32 || value.dtype == DType::kInt64;
    if (!fits) return Unsound("an operand has another dtype than its operation");
    if (input.kind == ValueRef::Kind::kLocal && !assigned_[input.index]) {
      return Unsound("local value %u is read before it is computed", input.index);
    }
    if (input.kind != ValueRef::Kind::kAccess || Listed(marks_.read, leaf_.accesses[input.index].storage)) {
      return OkStatus();
    }
    return Unsound("storage %u is read, which its root function does not list", leaf_.accesses[input.index].storage);
  }

  // Dtypes of an operation as a whole.
  static Status CheckDTypes(const LeafOp& op, const OpInfo& info, DType output) {
    if ((info.dtypes & MaskOf(op.compute_dtype)) == 0) return Unsound("an operation does not accept its dtype");
    bool fits = output == ResultOf(info, op.compute_dtype, op.compute_dtype);
    if (op.code == OpCode::kCast || op.code == OpCode::kBytes) fits = (info.dtypes & MaskOf(output)) != 0;
    if (info.family == OpFamily::kMatmul) {
      fits = (MatmulResults(op.compute_dtype) & MaskOf(output)) != 0;
    }
    return fits ? OkStatus() : Unsound("the result of an operation has a dtype that does not follow from its inputs");
  }

  // What holds for every operation; gives the extents of its operands.
  Status CheckOp(const LeafOp& op, const OpInfo*& info, std::vector<Value>& inputs, Value& output) {
    info = FindOperation(op.code);
    if (info == nullptr) return Unsound("operation %u is unknown", static_cast<unsigned>(op.code));
    if (op.inputs.size() < info->min_inputs || op.inputs.size() > info->max_inputs) {
      return Unsound("an operation has %zu inputs", op.inputs.size());
    }
    inputs.resize(op.inputs.size());
    size_t tensors = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      PYPTO_RETURN_IF_ERROR(CheckInput(op, *info, i, inputs[i]));
      tensors += inputs[i].extents != nullptr ? 1 : 0;
    }
    if (info->family == OpFamily::kBinary && tensors == 0) return Unsound("an operation on numbers only");
    PYPTO_RETURN_IF_ERROR(Find(op.output, output));
    if (output.extents == nullptr) return Unsound("an operation writes a number");
    if (op.output.kind == ValueRef::Kind::kLocal) {
      assigned_[op.output.index] = true;
    } else if (!Listed(marks_.written, leaf_.accesses[op.output.index].storage)) {
      return Unsound("storage %u is written, which its root function does not list",
                     leaf_.accesses[op.output.index].storage);
    }
    return CheckDTypes(op, *info, output.dtype);
  }

  Status CheckVectorOp(const LeafOp& op) {
    const OpInfo* info = nullptr;
    std::vector<Value> inputs;
    Value output;
    PYPTO_RETURN_IF_ERROR(CheckOp(op, info, inputs, output));
    const bool placed = IsPositional(op.code);
    if (placed && rank_ < 2) return Unsound("an operation on rows and columns in a leaf of rank %zu", rank_);
    const bool elsewhere = info->family == OpFamily::kMatmul || (info->family == OpFamily::kWhole && !placed);
    if (elsewhere) return Unsound("an operation in a vector leaf that has leaves of its own");
    if (op.cast_mode > kMaxCastMode) return Unsound("cast mode %u is unknown", op.cast_mode);
    if (info->family == OpFamily::kReduction) return CheckReduction(op, inputs[0], output);
    for (const Value& input : inputs) {
      for (size_t i = 0; input.extents != nullptr && i < rank_; ++i) {
        const int64_t extent = (*input.extents)[i];
        if (extent != 1 && extent != (*output.extents)[i]) return Unsound("an operand is larger than the result");
      }
    }
    return OkStatus();
  }

  Status CheckReduction(const LeafOp& op, const Value& input, const Value& output) const {
    if (op.axis < 0 || static_cast<size_t>(op.axis) >= rank_) return Unsound("a reduction along dim %d", op.axis);
    const auto axis = static_cast<size_t>(op.axis);
    if (leaf_.tile[axis] != leaf_.extents[axis]) return Unsound("the axis of a reduction is split over tiles");
    for (size_t i = 0; i < rank_; ++i) {
      const int64_t expected = i == axis ? 1 : (*input.extents)[i];
      if ((*output.extents)[i] != expected) return Unsound("a reduction gives another shape than its input");
    }
    if ((*input.extents)[axis] == leaf_.extents[axis]) return OkStatus();
    return Unsound("a reduction reads only part of its axis");
  }

  // Extents of one operand of a matmul: batch dims may stretch, the last two are rows and columns.
  Status CheckMatrix(const Value& value, int64_t rows, int64_t columns, bool may_stretch) const {
    for (size_t i = 0; i + 2 < rank_; ++i) {
      const int64_t extent = (*value.extents)[i];
      if (extent == leaf_.extents[i] || (may_stretch && extent == 1)) continue;
      return Unsound("a batch dim of a matmul does not fit its leaf");
    }
    if ((*value.extents)[rank_ - 2] == rows && (*value.extents)[rank_ - 1] == columns) return OkStatus();
    return Unsound("a matrix does not fit the M, N and K of its leaf");
  }

  Status CheckCube() {
    if (rank_ < 2 || leaf_.ops.size() != 1 || leaf_.ops[0].code != OpCode::kMatmul || !leaf_.locals.empty()) {
      return Unsound("a cube leaf is not one matmul");
    }
    const LeafOp& op = leaf_.ops[0];
    const OpInfo* info = nullptr;
    std::vector<Value> inputs;
    Value output;
    PYPTO_RETURN_IF_ERROR(CheckOp(op, info, inputs, output));
    const int64_t m = leaf_.extents[rank_ - 2];
    const int64_t n = leaf_.extents[rank_ - 1];
    PYPTO_RETURN_IF_ERROR(CheckMatrix(inputs[0], m, leaf_.k_extent, true));
    PYPTO_RETURN_IF_ERROR(CheckMatrix(inputs[1], leaf_.k_extent, n, true));
    return CheckMatrix(output, m, n, false);
  }

  Status CheckWhole() {
    const LeafOp& op = leaf_.ops[0];
    const OpInfo* info = FindOperation(op.code);
    const bool sound = leaf_.ops.size() == 1 && info != nullptr && info->family == OpFamily::kWhole &&
                       leaf_.locals.empty() && op.axis >= 0 && static_cast<size_t>(op.axis) < rank_;
    if (!sound) return Unsound("a whole leaf is not one whole operation");
    std::vector<Value> inputs;
    Value output;
    PYPTO_RETURN_IF_ERROR(CheckOp(op, info, inputs, output));
    return *output.extents == leaf_.extents ? OkStatus() : Unsound("a whole leaf does not go over its output");
  }

  const Plan& plan_;
  const Leaf& leaf_;
  const RootMarks& marks_;
  size_t rank_;
  std::vector<bool> assigned_;  // locals that an earlier operation wrote
};

}  // namespace

Status ValidateLeaf(const Plan& plan, const Leaf& leaf, const RootMarks& marks) {
  return LeafValidator(plan, leaf, marks).Run();
}

}  // namespace pypto::program
