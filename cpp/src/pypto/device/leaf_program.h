// A leaf made ready to run: kernels chosen, constants folded, the core's local buffer laid out.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pypto/base/status.h"
#include "pypto/device/simd/kernel_table.h"
#include "pypto/program/plan.h"

namespace pypto::device {

using program::ExprId;
using Extents = std::array<int64_t, program::kMaxRank>;

// What a leaf writes stays in the caches, where the next reader finds it, when it is less; parts of tensors as large do
// so when they are smaller than kLeastStreamedPart.
inline constexpr double kLeastStreamedBytes = 12 << 20;
inline constexpr double kLeastStreamedPart = 64 << 10;
// Elements that change places: the lines that they go to would have to be fetched one by one.
inline constexpr double kLeastStreamedTurn = 4 << 20;
// Memory of tensors of so many bytes is asked for before it is worked on.
inline constexpr double kLeastAskedBytes = 512 << 10;

// What an operand of an operation is.
enum class Source : uint8_t { kAccess, kLocal, kNumber };

struct OperandProgram {
  Source source = Source::kNumber;
  uint32_t index = 0;  // into accesses, locals or numbers
};

// How an operation is carried out.
enum class Action : uint8_t { kCompute, kCast, kCopy, kReduce, kTriangle, kMatmul, kWhole };

struct WholeArgs;
using WholeFunction = void (*)(const WholeArgs& args);

struct OpProgram {
  Action action = Action::kCompute;
  program::OpCode code = program::OpCode::kCopy;
  simd::Format result = simd::kF32;  // what the output's dtype can hold
  simd::Format input = simd::kF32;   // of the operation's dtype
  simd::Kind kind = simd::kKindF32;  // what it computes with; integers are converted first where that is FP32
  bool to_bool = false;              // kCast
  bool saturate = false;             // kCast
  uint8_t cast_mode = 0;             // kCast, as in the program
  bool rounds = false;               // kCast: to an integral value, by `round`
  simd::RoundMode round = simd::kRoundTrunc;
  simd::ReduceKernel reduce = simd::kReduceSum;
  int32_t axis = -1;  // kReduce, kWhole
  uint8_t input_count = 0;
  std::array<OperandProgram, program::kMaxOperands> inputs;
  OperandProgram output;
  simd::ElementwiseKernel kernel{};              // kCompute
  simd::RowsFunction rows = nullptr;             // kCompute
  WholeFunction whole = nullptr;                 // kWhole
  bool selects = false;                          // kCompute: the first operand is a condition
  bool streams = false;                          // kCopy, kWhole: caches are not to keep what is written
  bool streams_turned = false;                   // kCopy: the same where elements change places
  bool asks = false;                             // kCopy, kWhole: more than first-level caches hold
  std::array<bool, program::kMaxRank> varies{};  // dims in which the output has the leaf's extent
  std::string_view name;                         // of the operation
  uint32_t place = 0;
};

// Dims in which the operation works on the leaf's extent.
inline std::array<bool, program::kMaxRank> CellsOf(const OpProgram& op) {
  std::array<bool, program::kMaxRank> dims = op.varies;
  if (op.action == Action::kReduce) dims[static_cast<size_t>(op.axis)] = true;
  return dims;
}

// Whether operand `index` (0: the output) of a whole operation counts slices: a dim of its own, read by every tile.
inline bool IsIndexOfSlices(const OpProgram& op, size_t index) {
  if (op.code == program::OpCode::kIndexPut) return index > 3;
  if (program::IsPagedGather(op.code)) return index == 2 || index == 3;
  return index == 2 && (op.code == program::OpCode::kIndexSelect || op.code == program::OpCode::kIndexAdd);
}

// Whether the tile of a whole operation cuts operand `index` along the dim: what an index chooses from is whole, and so
// is what bytes are taken from.
inline bool FollowsTile(const OpProgram& op, size_t index, int dim) {
  if (IsIndexOfSlices(op, index)) return false;
  if (op.code == program::OpCode::kBytes) return index == 0;
  const bool chooses = program::ChoosesSlices(op.code) || op.code == program::OpCode::kGather;
  return index != 1 || dim != op.axis || !chooses;
}

struct AccessProgram {
  uint32_t storage = 0;
  std::string_view name;      // of the tensor; lives as long as the plan
  bool fresh = false;         // sees what this instance writes, not what was there before it
  bool is_parameter = false;  // of the kernel
  bool read_only = false;     // a parameter that no leaf of the kernel writes
  bool reads = false;
  bool writes = false;
  bool asked_for = false;    // chains ask for the memory of the next block
  double storage_bytes = 0;  // of the whole tensor; 0 where it is symbolic
  simd::Format format = simd::kF32;
  uint32_t element_bytes = 4;
  ExprId offset = program::kNoExpr;
  std::vector<ExprId> strides;
  std::vector<ExprId> valid;
  std::vector<ExprId> non_negative;
  Extents extents{};
  Extents constant_strides{};  // when has_constant_strides
  bool has_constant_strides = false;
};

// A tile of elements in the core's local buffer.
struct LocalProgram {
  simd::Format format = simd::kF32;  // kF32, kI32 or kI64
  int64_t offset = 0;                // bytes from the start of the scratch arena
  Extents strides{};                 // elements, 0 where it does not vary
  std::vector<ExprId> valid;
  Extents extents{};
};

// A number as an element of an operation: FP32 or an integer in the low bytes of 8, or an FP64 for whole operations.
struct NumberProgram {
  enum class Kind : uint8_t { kConstant, kExpr, kScalar, kFloatExpr };
  Kind kind = Kind::kConstant;
  bool is_double = false;
  simd::Format format = simd::kF32;  // of the operation's dtype: integers wrap to it
  uint64_t bits = 0;                 // kConstant
  ExprId expr = program::kNoExpr;    // kExpr, kFloatExpr
  uint32_t scalar = 0;               // kScalar

  uint64_t BitsOf(int64_t value) const;
  uint64_t BitsOf(double value) const;
};

// An operation on a block that nothing cuts as one call of its kernel. The call is there for an element-wise operation
// of dense operands with constant strides; addresses are put in when it runs.
struct DirectCall {
  bool usable = false;
  simd::RowArgs args{};
};

// One stage of a chain, and the memory it works on.
struct ChainStep {
  enum class Memory : uint8_t { kNone, kLoad, kStore, kAsk, kReduce };
  Memory memory = Memory::kNone;
  uint8_t part = 0;                  // kAsk: quarters of a row in front of what it asks for
  simd::ReduceKernel reduce{};       // kReduce: of the rows that pass
  simd::Format result = simd::kF32;  // kReduce: what the value is rounded to
  OperandProgram operand;            // of kReduce: where its value goes
  simd::StageCode code = nullptr;    // for cells that lie side by side
  simd::StageCode spread = nullptr;  // kLoad: for one cell that serves a whole row
  uint64_t told = 0;                 // kNone: data of the stage
};

// Neighbouring element-wise operations on the same cells, in registers from one to the next, and reductions of their
// rows.
struct ChainProgram {
  static constexpr uint32_t kMostMemories = 64;

  uint32_t first = 0;  // operations [first, last)
  uint32_t last = 0;
  uint32_t memories = 0;                         // steps that work on memory, at most kMostMemories
  uint32_t reductions = 0;                       // of them
  std::array<bool, program::kMaxRank> varies{};  // dims in which its cells have the leaf's extent
  int64_t offset = 0;                            // of its BoundChain in the scratch arena
  bool streams = false;                          // something is stored past the caches
  std::vector<ChainStep> steps;
};

// Buffers of a matrix product in the scratch arena.
struct MatmulProgram {
  simd::GemmKind kind = simd::kGemmFloat;
  int64_t block_rows = 0;  // of A that are packed at a time
  int64_t block_columns = 0;
  int64_t held_rows = 0;  // of C that the arena holds where sums cannot go straight to the output
  float scale = 1;        // of sums that are stored as FP32
  int64_t pieces = 1;     // of the rows of one tile of the plan; LeafProgram::tile is one of them
  int64_t a_offset = 0;
  int64_t heads_offset = 0;
  int64_t b_offset = 0;
  int64_t c_offset = 0;
};

// Immutable; part of an executable.
struct LeafProgram {
  program::LeafKind kind = program::LeafKind::kVector;
  int rank = 0;
  Extents extents{};
  Extents tile{};
  Extents block{};          // of a vector leaf: part of a tile that all operations work on before the next one
  bool has_blocks = false;  // a tile holds several
  int block_dim = 0;        // along which one follows the other
  std::vector<AccessProgram> accesses;
  std::vector<LocalProgram> locals;
  std::vector<NumberProgram> numbers;
  std::vector<OpProgram> ops;
  std::vector<DirectCall> direct;    // per operation of a vector leaf
  std::vector<ChainProgram> chains;  // in the order of their operations
  MatmulProgram matmul;
  ExprId guard = program::kNoExpr;
  std::vector<ExprId> uses;             // every expression that running it needs, for fault checks
  std::vector<uint32_t> touched_inner;  // root-inner storages it loads from or stores to
  std::vector<uint32_t> written;        // outcasts it stores to
  bool constant_numbers = false;
  std::vector<uint64_t> number_bits;  // when constant_numbers
  int64_t pointer_bytes = 0;          // the tile's access pointers and bound chains, at the start of the scratch arena
  int64_t scratch_bytes = 0;
  double tile_ns = 0;            // rough time of one full tile on one core
  int64_t least_tiles = 1;       // that are worth handing to a core
  uint32_t number = 0;           // among all leaves of the executable
  uint32_t first_operation = 0;  // the same of its first operation
  uint32_t place = 0;
};

// Which storages the instance has begun a new generation of, leaf by leaf.
struct GenerationState {
  std::vector<bool> whole;    // per storage: the root function writes it whole
  std::vector<bool> written;  // per storage: a leaf so far has
};

// kUnsupported for dtypes that this version does not compute, kProgramFormat for a leaf that makes no sense.
base::Result<LeafProgram> BuildLeaf(const program::Plan& plan, const program::Leaf& leaf,
                                    const simd::KernelTable& kernels, GenerationState* generations);

}  // namespace pypto::device
