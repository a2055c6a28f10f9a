// Scratch layout: blocks of a tile, strides of locals, and first-fit over their lifetimes.
#include "pypto/device/scratch_layout.h"

#include <algorithm>

#include "pypto/base/checked.h"
#include "pypto/device/bound_chain.h"
#include "pypto/device/chain_builder.h"
#include "pypto/device/formats.h"

namespace pypto::device {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMostBytes = int64_t{1} << 30;
// Packed blocks of A and B that stay in a core's second-level cache together.
constexpr int64_t kBlockRows = 132;
constexpr int64_t kBlockColumns = 512;
// Blocks of rows that share a packed block of B where C is held in the arena.
constexpr int64_t kHeldBlocks = 4;
// What a block of a vector leaf should take, so that it stays in the first-level cache, and the fewest cells that are
// worth a round of calls.
constexpr int64_t kBlockBytes = 32 * 1024;
constexpr int64_t kLeastBlock = 2048;
constexpr int64_t kChainBlock = 16384;  // where registers hand values on
constexpr int64_t kLongestRow = 16384;
// Runs of a copy that are short enough to be taken so many at a time.
constexpr int64_t kLongestRun = 1024;
constexpr int64_t kWovenRuns = 4;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Lifetime {
  uint32_t local = 0;
  size_t first = 0;
  size_t last = 0;
  int64_t bytes = 0;
  bool used = false;
};

base::Status SetStrides(LeafProgram* program, LocalProgram* local, int64_t* bytes) {
  int64_t elements = 1;
  for (int dim = program->rank - 1; dim >= 0; --dim) {
    if (local->extents[dim] <= 1) continue;
    local->strides[dim] = elements;
    const auto product = base::CheckedMul(elements, program->block[dim]);
    if (!product || *product > kMostBytes / 4) {
      return base::MakeStatus(base::StatusCode::kUnsupported,
                              "a tile of more than %lld elements does not fit a core's local buffer; choose smaller "
                              "tile shapes",
                              static_cast<long long>(kMostBytes / 4));
    }
    elements = *product;
  }
  *bytes = Aligned(elements * ElementBytes(local->format));
  return base::OkStatus();
}

std::vector<Lifetime> Lifetimes(const LeafProgram& program) {
  std::vector<Lifetime> lifetimes(program.locals.size());
  const auto use_at = [&](const OperandProgram& operand, size_t at) {
    if (operand.source != Source::kLocal) return;
    Lifetime& lifetime = lifetimes[operand.index];
    if (!lifetime.used) lifetime = {operand.index, at, at, lifetime.bytes, true};
    lifetime.last = at;
  };
  // What a chain uses lives all the time that it runs.
  size_t chain = 0;
  const auto use = [&](const OperandProgram& operand, size_t at) {
    while (chain < program.chains.size() && at >= program.chains[chain].last) ++chain;
    const bool inside = chain < program.chains.size() && at >= program.chains[chain].first;
    use_at(operand, inside ? program.chains[chain].first : at);
    use_at(operand, inside ? program.chains[chain].last - 1 : at);
  };
  for (size_t at = 0; at < program.ops.size(); ++at) {
    const OpProgram& op = program.ops[at];
    for (int i = 0; i < op.input_count; ++i) use(op.inputs[i], at);
    use(op.output, at);
  }
  return lifetimes;
}

// Lowest place that no placed local with an overlapping lifetime holds.
int64_t FirstFit(const std::vector<Lifetime>& placed, const LeafProgram& program, const Lifetime& next, int64_t start) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const Lifetime& other : placed) {
    if (other.last < next.first || other.first > next.last) continue;
    taken.emplace_back(program.locals[other.local].offset, other.bytes);
  }
  std::sort(taken.begin(), taken.end());
  int64_t at = start;
  for (const auto& [offset, bytes] : taken) {
    if (offset - at >= next.bytes) break;
    at = std::max(at, offset + bytes);
  }
  return at;
}

// Locals that chains do not hand on in registers.
std::vector<bool> LocalsInMemory(const LeafProgram& program) {
  std::vector<bool> held(program.locals.size());
  const auto hold = [&held](const OperandProgram& operand) {
    if (operand.source == Source::kLocal) held[operand.index] = true;
  };
  auto chain = program.chains.begin();
  for (uint32_t at = 0; at < program.ops.size(); ++at) {
    while (chain != program.chains.end() && at >= chain->last) ++chain;
    if (chain != program.chains.end() && at >= chain->first) continue;
    const OpProgram& op = program.ops[at];
    for (int i = 0; i < op.input_count; ++i) hold(op.inputs[i]);
    hold(op.output);
  }
  for (const ChainProgram& each : program.chains) {
    for (const ChainStep& step : each.steps) {
      if (step.memory != ChainStep::Memory::kNone) hold(step.operand);
    }
  }
  return held;
}

// Of all locals: chains may not fit what they are run on.
base::Status LayOutLocals(LeafProgram* program) {
  std::vector<int64_t> bytes(program->locals.size());
  for (size_t i = 0; i < program->locals.size(); ++i) {
    PYPTO_RETURN_IF_ERROR(SetStrides(program, &program->locals[i], &bytes[i]));
  }
  std::vector<Lifetime> order = Lifetimes(*program);
  for (size_t i = 0; i < order.size(); ++i) order[i].bytes = bytes[i];
  std::erase_if(order, [](const Lifetime& lifetime) { return !lifetime.used; });
  std::stable_sort(order.begin(), order.end(), [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
  std::vector<Lifetime> placed;
  for (const Lifetime& lifetime : order) {
    const int64_t offset = FirstFit(placed, *program, lifetime, program->pointer_bytes);
    program->locals[lifetime.local].offset = offset;
    program->scratch_bytes = std::max(program->scratch_bytes, offset + lifetime.bytes);
    placed.push_back(lifetime);
  }
  return base::OkStatus();
}

// Whether the tile may be worked on in parts along `dim`: nothing is reduced along it, and every cell that is stored
// belongs to one part.
bool MaySplit(const LeafProgram& program, int dim) {
  return std::all_of(program.ops.begin(), program.ops.end(), [dim](const OpProgram& op) {
    const bool reduced = op.action == Action::kReduce && op.axis == dim;
    return !reduced && (op.output.source != Source::kAccess || op.varies[dim]);
  });
}

// Whether the leaf does nothing but change the place of cells: memory is all that it takes, and the kernels of copies
// choose an order of their own.
bool OnlyMoves(const LeafProgram& program) {
  return program.ops.size() == 1 && program.ops[0].action == Action::kCopy &&
         program.ops[0].inputs[0].source == Source::kAccess && program.ops[0].output.source == Source::kAccess;
}

// Whether it reads neighbours of a row from places apart.
bool Turns(const LeafProgram& program) {
  if (!OnlyMoves(program)) return false;
  const AccessProgram& from = program.accesses[program.ops[0].inputs[0].index];
  const int inner = program.rank - 1;
  return from.extents[inner] > 1 && from.has_constant_strides && from.constant_strides[inner] != 1;
}

// Tiles that are parts of rows become as many tiles of whole rows, which memory is read fastest in; only where no cell
// is shared between tiles.
void StraightenTile(LeafProgram* program) {
  if (program->rank < 2 || Turns(*program)) return;
  const int inner = program->rank - 1;
  const int outer = inner - 1;
  const int64_t columns = program->extents[inner];
  const int64_t cells = program->tile[outer] * program->tile[inner];
  const int64_t rows = cells / columns;
  if (program->tile[inner] == columns || columns > kLongestRow || rows == 0 || cells % columns != 0) return;
  if (columns % program->tile[inner] != 0 || program->extents[outer] % program->tile[outer] != 0) return;
  for (int dim = outer; dim <= inner; ++dim) {
    if (!MaySplit(*program, dim)) return;
  }
  program->tile[outer] = rows;
  program->tile[inner] = columns;
}

// A copy whose runs change places with one another: tiles of a few runs that are neighbours in the source, and as many
// tiles as before, so that memory is read in pieces as long as those that are written.
void WeaveTile(LeafProgram* program) {
  const int inner = program->rank - 1;
  const int rows = inner - 1;
  if (!OnlyMoves(*program) || Turns(*program) || rows < 1) return;
  const AccessProgram& from = program->accesses[program->ops[0].inputs[0].index];
  if (!from.has_constant_strides || program->tile[inner] != program->extents[inner]) return;
  const Extents& strides = from.constant_strides;
  if (program->tile[inner] * from.element_bytes > kLongestRun || strides[rows] <= 0) return;
  int runs = -1;
  for (int dim = 0; dim < rows; ++dim) {
    const bool nearer = from.extents[dim] > 1 && strides[dim] > 0 && strides[dim] < strides[rows];
    if (nearer && (runs < 0 || strides[dim] < strides[runs])) runs = dim;
  }
  if (runs < 0 || program->extents[runs] % kWovenRuns != 0) return;
  int64_t& across = program->tile[runs];
  int64_t& along = program->tile[rows];
  if (program->extents[runs] % across != 0 || program->extents[rows] % along != 0) return;
  // As many cells, of kWovenRuns runs.
  const int64_t cells = across * along;
  const int64_t length = cells / kWovenRuns;
  if (cells % kWovenRuns != 0 || length < kWovenRuns || program->extents[rows] % length != 0) return;
  if (!MaySplit(*program, rows) || !MaySplit(*program, runs)) return;
  across = kWovenRuns;
  along = length;
}

// Bytes that one cell of a tile takes in operands and in locals that live at the same time.
int64_t CellBytes(const LeafProgram& program, int64_t cells) {
  const std::vector<bool> held = LocalsInMemory(program);
  int64_t end = program.pointer_bytes;
  for (const LocalProgram& local : program.locals) {
    if (!held[static_cast<size_t>(&local - program.locals.data())]) continue;
    int64_t elements = 1;
    for (int dim = 0; dim < program.rank; ++dim) elements *= local.extents[dim] > 1 ? program.tile[dim] : 1;
    end = std::max(end, local.offset + elements * ElementBytes(local.format));
  }
  int64_t bytes = (end - program.pointer_bytes + cells - 1) / cells;
  for (const AccessProgram& access : program.accesses) {
    if (access.extents[program.rank - 1] > 1 || program.extents[program.rank - 1] == 1) bytes += access.element_bytes;
  }
  return std::max<int64_t>(bytes, 1);
}

// Locals are handed on from operation to operation: outer dims are split first, until a block fits the cache.
void ChooseBlock(LeafProgram* program) {
  if (OnlyMoves(*program)) return;
  int64_t cells = 1;
  for (int dim = 0; dim < program->rank; ++dim) cells *= program->tile[dim];
  const bool chained =
      program->chains.size() == 1 && program->chains[0].last - program->chains[0].first == program->ops.size();
  const int64_t most = chained ? kChainBlock : std::max(kBlockBytes / CellBytes(*program, cells), kLeastBlock);
  for (int dim = 0; dim < program->rank && cells > most; ++dim) {
    if (program->tile[dim] == 1 || !MaySplit(*program, dim)) continue;
    const int64_t others = cells / program->tile[dim];
    int64_t part = std::max<int64_t>(most / others, 1);
    if (dim + 1 == program->rank && part < program->tile[dim]) part = Aligned(part);
    program->block[dim] = std::min(part, program->tile[dim]);
    if (program->block[dim] < program->tile[dim]) {
      program->has_blocks = true;
      program->block_dim = dim;
    }
    cells = others * program->block[dim];
  }
}

void LayOutMatmul(const simd::KernelTable& kernels, LeafProgram* program) {
  MatmulProgram& matmul = program->matmul;
  const auto up = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
  const int64_t rows = program->extents[program->rank - 2];
  const int64_t columns = up(program->extents[program->rank - 1], kernels.gemm_columns);
  matmul.block_rows = std::min(kBlockRows / kernels.gemm_rows * kernels.gemm_rows, up(rows, kernels.gemm_rows));
  matmul.block_columns = std::min(up(kBlockColumns, kernels.gemm_columns), columns);
  matmul.held_rows = std::min(matmul.block_rows * kHeldBlocks, up(rows, kernels.gemm_rows));
  int64_t end = program->pointer_bytes;
  const auto take = [&end](int64_t elements) {
    const int64_t at = end;
    end += Aligned(elements * 4);
    return at;
  };
  const simd::GemmKernels& gemm = kernels.gemm[matmul.kind];
  const int64_t panel_units = simd::kGemmMaxUnits + gemm.head;
  const int64_t few = std::max(kernels.most_stream_rows * panel_units, gemm.most_dot_rows * kernels.dot_row_units);
  matmul.a_offset = take(std::max(matmul.block_rows * simd::kGemmRowUnits, few));
  matmul.heads_offset = take(matmul.block_rows);
  matmul.b_offset = take(matmul.block_columns * (simd::kGemmMaxUnits + simd::kGemmPanelGap));
  matmul.c_offset = take(matmul.held_rows * matmul.block_columns);
  program->scratch_bytes = end;
}

}  // namespace

base::Status LayOutScratch(const program::Leaf& leaf, const simd::KernelTable& kernels, LeafProgram* program) {
  program->pointer_bytes = Aligned(static_cast<int64_t>(program->accesses.size() * sizeof(void*)));
  for (ChainProgram& chain : program->chains) {
    chain.offset = program->pointer_bytes;
    program->pointer_bytes += Aligned(BoundChain::Bytes(chain));
  }
  program->scratch_bytes = program->pointer_bytes;
  if (leaf.kind == program::LeafKind::kCube) {
    LayOutMatmul(kernels, program);
    return base::OkStatus();
  }
  if (leaf.kind == program::LeafKind::kWhole) return base::OkStatus();
  StraightenTile(program);
  WeaveTile(program);
  program->block = program->tile;
  PYPTO_RETURN_IF_ERROR(LayOutLocals(program));
  ChooseBlock(program);
  if (!program->has_blocks) return base::OkStatus();
  for (LocalProgram& local : program->locals) local.strides = {};
  program->scratch_bytes = program->pointer_bytes;
  return LayOutLocals(program);
}

}  // namespace pypto::device
