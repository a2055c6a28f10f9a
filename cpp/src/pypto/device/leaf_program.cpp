// Builds leaf programs.
#include "pypto/device/leaf_program.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "pypto/base/checked.h"
#include "pypto/device/chain_builder.h"
#include "pypto/device/copy_elision.h"
#include "pypto/device/direct_call.h"
#include "pypto/device/formats.h"
#include "pypto/device/op_order.h"
#include "pypto/device/op_program.h"
#include "pypto/device/recompute.h"
#include "pypto/device/scratch_layout.h"

namespace pypto::device {
namespace {

using base::StatusCode;
using program::ValueRef;

base::Status BadLeaf(const char* what, uint32_t index) {
  return base::MakeStatus(StatusCode::kProgramFormat, "a leaf of the plan makes no sense: %s (%u)", what, index);
}

// What a core takes at a time should last so long.
constexpr double kLeastClaimNs = 2'000;

// Builds one leaf; lives for one call of BuildLeaf.
class LeafBuilder {
 public:
  LeafBuilder(const program::Plan& plan, const program::Leaf& leaf, const simd::KernelTable& kernels,
              GenerationState* generations)
      : plan_(plan), leaf_(leaf), kernels_(kernels), generations_(*generations) {}

  base::Result<LeafProgram> Build() {
    PYPTO_RETURN_IF_ERROR(Shape());
    PYPTO_RETURN_IF_ERROR(Locals());
    for (const program::LeafOp& op : leaf_.ops) PYPTO_RETURN_IF_ERROR(Op(op));
    if (out_.kind == program::LeafKind::kCube) PYPTO_RETURN_IF_ERROR(Cube());
    FoldConstants();
    SplitLocals();
    DropCopies(&out_);
    RecomputeCheapValues(&out_);
    GatherReaders(&out_);
    BuildChains(kernels_, &out_);
    PYPTO_RETURN_IF_ERROR(LayOutScratch(leaf_, kernels_, &out_));
    if (out_.kind == program::LeafKind::kVector) BindDirectCalls(kernels_, &out_);
    ListUses();
    EstimateTime();
    return std::move(out_);
  }

 private:
  base::Status Shape() {
    const size_t rank = leaf_.extents.size();
    if (rank == 0 || rank > program::kMaxRank || leaf_.tile.size() != rank) return BadLeaf("rank", leaf_.place);
    out_.kind = leaf_.kind;
    out_.rank = static_cast<int>(rank);
    out_.guard = leaf_.guard;
    out_.place = leaf_.place;
    int64_t cells = 1;
    for (size_t dim = 0; dim < rank; ++dim) {
      const bool sound = leaf_.tile[dim] >= 1 && leaf_.tile[dim] <= leaf_.extents[dim] &&
                         !__builtin_mul_overflow(cells, leaf_.extents[dim], &cells);
      if (!sound) return BadLeaf("tile", leaf_.place);
      out_.extents[dim] = leaf_.extents[dim];
      out_.tile[dim] = leaf_.tile[dim];
    }
    return base::OkStatus();
  }

  base::Status Locals() {
    for (const program::Local& local : leaf_.locals) {
      if (local.extents.size() != leaf_.extents.size() || local.valid.size() != leaf_.extents.size()) {
        return BadLeaf("rank of a local", leaf_.place);
      }
      LocalProgram program;
      program.format = ComputeFormat(FormatOf(local.dtype));
      program.valid = local.valid;
      std::copy(local.extents.begin(), local.extents.end(), program.extents.begin());
      out_.locals.push_back(std::move(program));
    }
    return base::OkStatus();
  }

  base::Status Op(const program::LeafOp& op) {
    const bool to_access = op.output.kind == ValueRef::Kind::kAccess;
    if (!to_access && op.output.kind != ValueRef::Kind::kLocal) return BadLeaf("output of an operation", op.place);
    PYPTO_ASSIGN_OR_RETURN(OpProgram program, BuildOp(op, DTypeOf(op.output), kernels_));
    const bool placed = program::IsPositional(op.code) && leaf_.kind == program::LeafKind::kVector;
    if (placed) program.action = Action::kTriangle;
    const bool whole = program.action == Action::kWhole;
    NumberProgram number;
    number.is_double = whole || placed;
    number.format = program.kind == simd::kKindF32 ? simd::kF32 : program.input;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      PYPTO_ASSIGN_OR_RETURN(program.inputs[i], Operand(op.inputs[i], number, false));
    }
    PYPTO_ASSIGN_OR_RETURN(program.output, Operand(op.output, number, true));
    if (whole != (leaf_.kind == program::LeafKind::kWhole)) return BadLeaf("kind of a leaf", op.place);
    if (whole) PYPTO_RETURN_IF_ERROR(Whole(op, program));
    const bool matmul = program.action == Action::kMatmul;
    if (matmul != (leaf_.kind == program::LeafKind::kCube)) return BadLeaf("kind of a leaf", op.place);
    if (program.action == Action::kReduce) {
      const bool sound = op.axis >= 0 && op.axis < out_.rank && program.inputs[0].source != Source::kNumber;
      if (!sound) return BadLeaf("axis of a reduction", op.place);
    }
    const Extents& extents =
        to_access ? out_.accesses[program.output.index].extents : out_.locals[program.output.index].extents;
    for (int dim = 0; dim < out_.rank; ++dim) program.varies[dim] = extents[dim] > 1;
    if ((program.action == Action::kCopy || program.action == Action::kWhole) && to_access) {
      const AccessProgram& access = out_.accesses[program.output.index];
      const double bytes = Cells(extents) * access.element_bytes;
      const bool part_of_much = access.is_parameter && access.storage_bytes >= kLeastStreamedBytes;
      program.streams = bytes >= (part_of_much ? kLeastStreamedPart : kLeastStreamedBytes);
      program.streams_turned = program.streams || (access.is_parameter && access.storage_bytes >= kLeastStreamedTurn);
      program.asks = access.storage_bytes >= kLeastAskedBytes;
    }
    out_.ops.push_back(program);
    return base::OkStatus();
  }

  base::Status Whole(const program::LeafOp& op, const OpProgram& program) {
    const bool sound =
        leaf_.ops.size() == 1 && op.axis >= 0 && op.axis < out_.rank && program.output.source == Source::kAccess;
    if (!sound) return BadLeaf("whole operation", op.place);
    return base::OkStatus();
  }

  program::DType DTypeOf(const ValueRef& value) const {
    if (value.kind == ValueRef::Kind::kLocal) return leaf_.locals[value.index].dtype;
    return plan_.storages[leaf_.accesses[value.index].storage].dtype;
  }

  // `number` describes how the operation takes numbers.
  base::Result<OperandProgram> Operand(const ValueRef& value, NumberProgram number, bool output) {
    switch (value.kind) {
      case ValueRef::Kind::kAccess: return AccessOperand(value.index, output);
      case ValueRef::Kind::kLocal: return OperandProgram{Source::kLocal, value.index};
      case ValueRef::Kind::kFloat: number.bits = number.BitsOf(value.float_value); break;
      case ValueRef::Kind::kInt: number.bits = number.BitsOf(value.int_value); break;
      case ValueRef::Kind::kExpr:
      case ValueRef::Kind::kFloatExpr:
        number.kind =
            value.kind == ValueRef::Kind::kExpr ? NumberProgram::Kind::kExpr : NumberProgram::Kind::kFloatExpr;
        number.expr = value.index;
        break;
      case ValueRef::Kind::kScalar:
        number.kind = NumberProgram::Kind::kScalar;
        number.scalar = value.index;
        break;
    }
    out_.numbers.push_back(number);
    return OperandProgram{Source::kNumber, static_cast<uint32_t>(out_.numbers.size() - 1)};
  }

  // An access of the plan becomes two programs when it is used before and after the storage is written whole.
  base::Result<OperandProgram> AccessOperand(uint32_t index, bool output) {
    const program::Access& access = leaf_.accesses[index];
    const uint32_t storage = access.storage;
    if (output) generations_.written[storage] = true;
    const bool fresh = !generations_.whole[storage] || generations_.written[storage];
    for (const auto& [known, known_fresh, program] : access_programs_) {
      if (known != index || known_fresh != fresh) continue;
      (output ? out_.accesses[program].writes : out_.accesses[program].reads) = true;
      return OperandProgram{Source::kAccess, program};
    }
    const simd::Format format = FormatOf(plan_.storages[storage].dtype);
    const size_t rank = leaf_.extents.size();
    if (access.strides.size() != rank || access.extents.size() != rank || access.valid.size() != rank) {
      return BadLeaf("rank of an access", leaf_.place);
    }
    AccessProgram program;
    program.storage = storage;
    program.name = plan_.storages[storage].name;
    program.fresh = fresh;
    program.is_parameter = plan_.storages[storage].tensor_class == program::TensorClass::kParameter;
    if (program.is_parameter) {
      const program::Direction direction = plan_.parameters[plan_.storages[storage].parameter].direction;
      const bool allowed = direction == program::Direction::kInOut ||
                           direction == (output ? program::Direction::kOut : program::Direction::kIn) ||
                           (!output && direction == program::Direction::kOut);
      if (!allowed) return BadLeaf("direction of a parameter", leaf_.place);
      program.read_only = direction == program::Direction::kIn;
    }
    (output ? program.writes : program.reads) = true;
    program.storage_bytes = static_cast<double>(plan_.exprs.ConstantValue(plan_.storages[storage].bytes).value_or(0));
    program.format = format;
    program.element_bytes = static_cast<uint32_t>(ElementBytes(format));
    program.offset = access.offset;
    program.strides = access.strides;
    program.valid = access.valid;
    program.non_negative = access.non_negative;
    std::copy(access.extents.begin(), access.extents.end(), program.extents.begin());
    const auto id = static_cast<uint32_t>(out_.accesses.size());
    out_.accesses.push_back(std::move(program));
    access_programs_.push_back({index, fresh, id});
    Touch(storage, output);
    return OperandProgram{Source::kAccess, id};
  }

  void Touch(uint32_t storage, bool output) {
    const auto add = [storage](std::vector<uint32_t>* list) {
      if (std::find(list->begin(), list->end(), storage) == list->end()) list->push_back(storage);
    };
    const program::TensorClass tensor_class = plan_.storages[storage].tensor_class;
    if (tensor_class == program::TensorClass::kRootInner) {
      add(&out_.touched_inner);
    } else if (output && tensor_class != program::TensorClass::kParameter) {
      add(&out_.written);
    }
  }

  base::Status Cube() {
    if (out_.ops.size() != 1 || out_.rank < 2 || leaf_.k_extent < 0) return BadLeaf("matrix product", leaf_.place);
    const OpProgram& op = out_.ops[0];
    const bool accesses = op.input_count == 2 && op.inputs[0].source == Source::kAccess &&
                          op.inputs[1].source == Source::kAccess && op.output.source == Source::kAccess;
    if (!accesses) return BadLeaf("operands of a matrix product", leaf_.place);
    const simd::Format a = out_.accesses[op.inputs[0].index].format;
    const simd::Format b = out_.accesses[op.inputs[1].index].format;
    const bool integers = a == simd::kI8 && b == simd::kI8 && op.result == simd::kI32;
    if (!integers && !(IsFloat(a) && IsFloat(b) && IsFloat(op.result))) {
      return base::MakeStatus(StatusCode::kUnsupported, "this version has no matrix kernel for these dtypes");
    }
    const bool brains = a == simd::kBf16 && b == simd::kBf16;
    out_.matmul.kind = integers ? simd::kGemmInt8 : brains ? simd::kGemmBf16 : simd::kGemmFloat;
    return base::OkStatus();
  }

  void FoldConstants() {
    for (AccessProgram& access : out_.accesses) {
      access.has_constant_strides = true;
      for (int dim = 0; dim < out_.rank; ++dim) {
        const auto value = plan_.exprs.ConstantValue(access.strides[dim]);
        access.constant_strides[dim] = value.value_or(0);
        access.has_constant_strides = access.has_constant_strides && value.has_value();
      }
    }
    out_.constant_numbers = std::all_of(out_.numbers.begin(), out_.numbers.end(), [](const NumberProgram& number) {
      return number.kind == NumberProgram::Kind::kConstant;
    });
    for (const NumberProgram& number : out_.numbers) out_.number_bits.push_back(number.bits);
  }

  // A local of the plan holds one value after another; here each value has one of its own, so that it is seen who reads
  // it. Their places in the core's buffer follow from how long they live.
  void SplitLocals() {
    std::vector<uint32_t> now(out_.locals.size());
    std::vector<bool> written(out_.locals.size());
    for (uint32_t i = 0; i < now.size(); ++i) now[i] = i;
    for (OpProgram& op : out_.ops) {
      for (int i = 0; i < op.input_count; ++i) {
        if (op.inputs[i].source == Source::kLocal) op.inputs[i].index = now[op.inputs[i].index];
      }
      if (op.output.source != Source::kLocal) continue;
      const uint32_t local = op.output.index;
      if (written[local]) {
        now[local] = static_cast<uint32_t>(out_.locals.size());
        out_.locals.push_back(LocalProgram(out_.locals[local]));
      }
      written[local] = true;
      op.output.index = now[local];
    }
  }

  void ListUses() {
    const auto add = [this](const std::vector<ExprId>& ids) {
      out_.uses.insert(out_.uses.end(), ids.begin(), ids.end());
    };
    for (const AccessProgram& access : out_.accesses) {
      out_.uses.push_back(access.offset);
      add(access.strides);
      add(access.valid);
      add(access.non_negative);
    }
    for (const LocalProgram& local : out_.locals) add(local.valid);
    for (const NumberProgram& number : out_.numbers) {
      if (number.expr != program::kNoExpr) out_.uses.push_back(number.expr);
    }
    std::sort(out_.uses.begin(), out_.uses.end());
    out_.uses.erase(std::unique(out_.uses.begin(), out_.uses.end()), out_.uses.end());
  }

  // Elements that a whole operation goes through for `all` elements of its result: those that it writes into its first
  // operand, or the rows that it sorts.
  double Touched(double all) const {
    if (out_.kind != program::LeafKind::kWhole || out_.ops.empty()) return all;
    const OpProgram& op = out_.ops[0];
    if (op.code == program::OpCode::kSorted || op.code == program::OpCode::kSortedIndex) {
      const int32_t axis = leaf_.ops[0].axis;
      if (op.inputs[0].source != Source::kAccess || out_.extents[axis] == 0) return all;
      const AccessProgram& sorted = out_.accesses[op.inputs[0].index];
      return all * static_cast<double>(sorted.extents[axis]) / static_cast<double>(out_.extents[axis]);
    }
    const bool scatters = op.code == program::OpCode::kScatter || op.code == program::OpCode::kIndexPut;
    if (!scatters && op.code != program::OpCode::kIndexAdd) return all;
    const size_t place = scatters ? 1 : 2;
    const OperandProgram& written = op.inputs[place];
    if (written.source != Source::kAccess) return all;
    double elements = 1;
    for (int dim = 0; dim < out_.rank; ++dim) {
      const int64_t extent = out_.accesses[written.index].extents[dim];
      const bool cut = FollowsTile(op, place + 1, dim);
      elements *= static_cast<double>(cut ? std::min(extent, out_.tile[dim]) : extent);
    }
    return std::min(all, elements);
  }

  void EstimateTime() {
    double elements = 1;
    for (int dim = 0; dim < out_.rank; ++dim) elements *= static_cast<double>(out_.tile[dim]);
    elements = Touched(elements);
    for (const program::LeafOp& op : leaf_.ops) out_.tile_ns += elements * ElementCost(op);
    if (out_.kind == program::LeafKind::kCube) out_.tile_ns = ProductTime(elements);
    if (out_.kind == program::LeafKind::kCube) CutTile();
    out_.least_tiles = std::max(static_cast<int64_t>(kLeastClaimNs / std::max(out_.tile_ns, 1.0)), int64_t{1});
  }

  // A tile that takes long is handed out in pieces of its rows, so that cores end together.
  void CutTile() {
    constexpr double kLongTileNs = 150'000;
    constexpr int64_t kLeastRows = 32;
    int64_t& rows = out_.tile[out_.rank - 2];
    while (out_.tile_ns > kLongTileNs && rows % 2 == 0 && rows / 2 >= kLeastRows) {
      rows /= 2;
      out_.tile_ns /= 2;
      out_.matmul.pieces *= 2;
    }
  }

  // Arithmetic, or reading the operands, whichever takes longer.
  double ProductTime(double elements) const {
    constexpr double kBytesPerNs = 20;
    const auto k = static_cast<double>(leaf_.k_extent);
    const auto rows = static_cast<double>(out_.tile[out_.rank - 2]);
    const auto columns = static_cast<double>(out_.tile[out_.rank - 1]);
    const double batch = elements / (rows * columns);
    const double bytes = rows * k * out_.accesses[out_.ops[0].inputs[0].index].element_bytes +
                         columns * k * out_.accesses[out_.ops[0].inputs[1].index].element_bytes;
    return std::max(elements * k / kernels_.gemm[out_.matmul.kind].terms_per_ns, batch * bytes / kBytesPerNs);
  }

  double Cells(const Extents& extents) const {
    double cells = 1;
    for (int dim = 0; dim < out_.rank; ++dim) cells *= static_cast<double>(extents[dim]);
    return cells;
  }

  struct Known {
    uint32_t access;
    bool fresh;
    uint32_t program;
  };

  const program::Plan& plan_;
  const program::Leaf& leaf_;
  const simd::KernelTable& kernels_;
  GenerationState& generations_;
  std::vector<Known> access_programs_;
  LeafProgram out_;
};

}  // namespace

uint64_t NumberProgram::BitsOf(int64_t value) const {
  if (is_double || IsFloat(format)) return BitsOf(static_cast<double>(value));
  return static_cast<uint64_t>(Wrapped(format, value));
}

// A floating number for an integer operation is truncated, 0 when it is out of range.
uint64_t NumberProgram::BitsOf(double value) const {
  if (is_double) return std::bit_cast<uint64_t>(value);
  if (IsFloat(format)) return std::bit_cast<uint32_t>(static_cast<float>(value));
  const bool fits = value > -9.2e18 && value < 9.2e18;
  return static_cast<uint64_t>(Wrapped(format, fits ? static_cast<int64_t>(value) : 0));
}

base::Result<LeafProgram> BuildLeaf(const program::Plan& plan, const program::Leaf& leaf,
                                    const simd::KernelTable& kernels, GenerationState* generations) {
  return LeafBuilder(plan, leaf, kernels, generations).Build();
}

}  // namespace pypto::device
