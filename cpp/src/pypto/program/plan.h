// The plan: what the device engine executes. Made by compile, serialised here, read by the engine.
//
// Control flow is a tree of loops, branches and root functions. A root function is a list of leaves that run in order
// of their data. A leaf runs on one core type, tile by tile over its grid. All coordinates of a leaf are those of its
// iteration space: rank, extents and tile are shared by its accesses and locals; a dim in which an operand does not
// vary has extent 1 and stride 0 there.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pypto/program/program.h"

namespace pypto::program {

// Most dims of an iteration space or a tensor.
inline constexpr int kMaxRank = 6;
// Most inputs of an operation.
inline constexpr int kMaxOperands = 7;

enum class TensorClass : uint8_t {
  kParameter = 0,
  kRootInner = 1,         // crosses from one leaf to another inside one instance
  kAssembleOutcast = 2,   // written by regions, seen by several instances
  kExclusiveOutcast = 3,  // written whole by one instance, read by others
};

constexpr bool IsOutcast(TensorClass tensor_class) noexcept {
  return tensor_class == TensorClass::kAssembleOutcast || tensor_class == TensorClass::kExclusiveOutcast;
}

// Memory that leaves load from and store to. Views have none, leaf-local values are Locals.
struct Storage {
  std::string name;
  TensorClass tensor_class = TensorClass::kParameter;
  DType dtype = DType::kFp32;
  std::vector<ExprId> dims;  // row-major, contiguous
  ExprId bytes = kNoExpr;    // product of dims and element size; rounded up to 512 unless a parameter
  int32_t parameter = -1;    // index into Plan::parameters, for kParameter
  uint32_t place = 0;        // index into DebugInfo::places
};

// How the tiles of a leaf address a storage: element(coordinates) = offset + sum of coordinate * stride.
struct Access {
  uint32_t storage = 0;
  ExprId offset = kNoExpr;           // in elements; evaluated once per instance
  std::vector<ExprId> strides;       // in elements, one per leaf dim; a constant 0 where the operand does not vary
  std::vector<int64_t> extents;      // one per leaf dim: the leaf's extent, or 1
  std::vector<ExprId> valid;         // one per leaf dim: cells at or past it are neither read nor written
  std::vector<ExprId> non_negative;  // starts of the view; a negative one is a kernel fault
};

// A value that lives in the core's local buffer while one tile is worked on.
struct Local {
  DType dtype = DType::kFp32;
  std::vector<int64_t> extents;  // one per leaf dim: the leaf's extent, or 1
  std::vector<ExprId> valid;     // one per leaf dim
};

struct ValueRef {
  enum class Kind : uint8_t { kAccess = 0, kLocal = 1, kFloat = 2, kInt = 3, kExpr = 4, kScalar = 5, kFloatExpr = 6 };
  Kind kind = Kind::kLocal;
  uint32_t index = 0;  // of the access, the local, the expression or the floating scalar parameter
  double float_value = 0;
  int64_t int_value = 0;
};

// One operation on one tile. The output's valid extents (of its access or local) bound what is computed.
//   Unary Binary Select Cast Copy Expand Fill: element-wise, operands broadcast where their extent is 1
//   Reduction: along `axis`; input extent = leaf extent there, output extent 1; the tile spans the whole axis
//   Matmul, Whole: see Leaf
struct LeafOp {
  OpCode code = OpCode::kCopy;
  std::vector<ValueRef> inputs;
  ValueRef output;                     // kAccess or kLocal
  DType compute_dtype = DType::kFp32;  // dtype of the T and t inputs of the table (of the output where there are none);
                                       // what numbers are taken as
  int32_t axis = -1;                   // Reduction and Whole, in leaf dims
  uint8_t cast_mode = 0;
  bool saturate = false;
  uint32_t place = 0;
};

enum class LeafKind : uint8_t {
  kVector = 0,
  kCube = 1,   // one matmul: dims are batch…, M, N; K below
  kWhole = 2,  // one operation of family Whole over the dims of its output
};

// A run of operations on one core type.
// A cube leaf has one op: inputs[0] is the access of A over batch…, M, K, inputs[1] of B over batch…, K, N, output of C
// over batch…, M, N (each access has `rank` dims in that order; transposes are strides). The product reduces over
// min(valid K of A, valid K of B); accumulation is FP32, INT32 for INT8, rounded once to the dtype of C.
// A whole leaf has one op. Each access has `rank` dims of its own extents. In a dim that the tile splits, extents are
// those of the leaf or 1, and a tile of the output needs that tile of the inputs only.
struct Leaf {
  LeafKind kind = LeafKind::kVector;
  std::vector<int64_t> extents;  // iteration space
  std::vector<int64_t> tile;     // 1 <= tile[i] <= extents[i]; the grid is ceil(extents / tile)
  int64_t k_extent = 0;          // cube only
  int64_t k_tile = 0;            // cube only
  std::vector<Access> accesses;
  std::vector<Local> locals;
  std::vector<LeafOp> ops;
  ExprId guard = kNoExpr;  // runs only where it is not 0 (a branch inside the root function)
  uint32_t place = 0;
};

enum class WriteKind : uint8_t {
  kWhole = 0,   // begins a new generation: a buffer of its own
  kRegion = 1,  // into the present buffer; the first one takes it
};

struct OutcastWrite {
  uint32_t storage = 0;
  WriteKind kind = WriteKind::kWhole;
};

struct RootFunction {
  std::string name;
  std::vector<Leaf> leaves;
  std::vector<uint32_t> root_inner;  // storages taken by each instance, each at its own 512-byte boundary
  std::vector<uint32_t> reads;       // outcasts and parameters that some leaf reads
  std::vector<OutcastWrite> writes;  // outcasts and parameters that some leaf writes
  std::vector<uint32_t> live_after;  // outcasts that a later instance may read, just behind an instance of this one
  std::vector<ExprId> exprs;         // what its leaves need, ascending, closed under children
  uint32_t place = 0;
};

// Where control flow reads one cell: element(indices) = offset + sum of index * stride.
struct CellRead {
  uint32_t storage = 0;  // of an integer dtype
  ExprId offset = kNoExpr;
  std::vector<ExprId> strides;
  std::vector<ExprId> indices;
  std::vector<ExprId> valid;         // an index outside of [0, valid) is a kernel fault
  std::vector<ExprId> non_negative;  // starts of the view; a negative one is a kernel fault
};

struct ControlNode {
  enum class Kind : uint8_t { kLoop = 0, kIf = 1, kRoot = 2, kRead = 3, kSet = 4, kCheck = 5 };
  Kind kind = Kind::kRoot;
  // kRoot
  uint32_t root = 0;  // index into Plan::roots
  // kLoop
  uint32_t loop = 0;
  ExprId start = kNoExpr;
  ExprId stop = kNoExpr;
  ExprId step = kNoExpr;
  bool parallel = false;
  bool submit_before = false;
  std::vector<uint32_t> fresh;  // outcasts that begin anew with each iteration: its first write takes a buffer
  // kRead
  CellRead read;
  uint32_t slot = 0;
  // kSet
  std::vector<SlotValue> sets;
  // kCheck
  ExprId checked = kNoExpr;  // 0: a kernel fault with the text
  std::string text;
  // kIf; of kRead, kSet and kCheck: takes place only where it is not 0 (kNoExpr: always)
  ExprId condition = kNoExpr;
  std::vector<ControlNode> body;       // of the loop, or the branch taken when the condition is not 0
  std::vector<ControlNode> otherwise;  // kIf
  uint32_t place = 0;
};

enum class Direction : uint8_t { kIn = 0, kOut = 1, kInOut = 2, kUnused = 3 };

struct PlanParameter {
  std::string name;
  bool is_tensor = true;
  ScalarKind scalar_kind = ScalarKind::kInt;
  uint32_t scalar = 0;  // of a scalar parameter
  DType dtype = DType::kFp32;
  std::vector<Dim> dims;
  Direction direction = Direction::kIn;
  std::string partial_reason;  // for kInOut by partial writes: "line 12 writes only part of it"
};

// Sizes of the workspace pools as expressions of the dims (reference/workspace.md §2), in the order root_inner,
// assemble_outcast, exclusive_outcast.
struct PlanWorkspace {
  std::array<ExprId, 3> unit_bytes{kNoExpr, kNoExpr, kNoExpr};
  std::array<bool, 3> present{};
  ExprId boundary_bytes = kNoExpr;
};

// Workspace options in force when the program was compiled.
struct PlanOptions {
  uint32_t stitch_function_max_num = 128;
  uint64_t max_workspace_kb = 0;
  std::array<uint32_t, 3> stitch_function_num_per_pool{};
  uint32_t parallelism = 1;
  bool operator==(const PlanOptions&) const = default;
};

struct Plan {
  std::string name;
  std::vector<PlanParameter> parameters;
  std::vector<Symbol> symbols;
  std::vector<Scalar> scalars;
  std::vector<Slot> slots;
  bool reads_tensors = false;  // control flow depends on contents of tensors
  uint32_t loop_count = 0;
  ExprPool exprs;
  std::vector<Storage> storages;
  std::vector<RootFunction> roots;
  std::vector<ControlNode> control;
  PlanWorkspace workspace;
  PlanOptions options;
  uint64_t flops_hint = 0;  // rough operations of one launch with every dynamic dim at 1, for scheduling choices
};

// Everything that is not part of a program's identity.
struct DebugInfo {
  std::vector<SourceFile> files;    // the kernel's first
  std::vector<SourcePlace> places;  // places[0] is unknown
};

// That the ids, ranks, dtypes and lists of a plan refer to each other soundly, so that the engine can execute it
// without checking them again. kProgramFormat with what is wrong.
PYPTO_API base::Status ValidatePlan(const Plan& plan);

// A damaged or hostile byte string gives kProgramFormat, never a crash: every count, id, rank and enum is checked, and
// so is that the plan's ids refer to each other soundly.
std::vector<uint8_t> SerializePlan(const Plan& plan);
// The same without source places and line numbers in texts: what the fingerprint is made of.
std::vector<uint8_t> SerializePlanIdentity(const Plan& plan);
base::Result<Plan> ParsePlan(std::span<const uint8_t> bytes);
std::vector<uint8_t> SerializeDebug(const DebugInfo& debug);
base::Result<DebugInfo> ParseDebug(std::span<const uint8_t> bytes);

PYPTO_API std::string ToText(const Plan& plan, const DebugInfo& debug);

}  // namespace pypto::program
