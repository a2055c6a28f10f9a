// One tile after another, block by block: place the operands, clip to what is valid, call the operations.
#include "pypto/device/leaf_runner.h"

#include <algorithm>
#include <bit>
#include <new>

#include "pypto/base/clock.h"
#include "pypto/device/bound_chain.h"
#include "pypto/device/formats.h"
#include "pypto/device/matrix.h"
#include "pypto/device/reduction.h"
#include "pypto/device/tile.h"
#include "pypto/device/vector_ops.h"
#include "pypto/device/whole/whole.h"

namespace pypto::device {
namespace {

constexpr int64_t kNoStrides[program::kMaxRank] = {};
constexpr int64_t kLineBytes = 64;  // of the cache

// The tiles of one call of RunTiles.
class TileRunner {
 public:
  TileRunner(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels, std::byte* scratch,
             const std::atomic<bool>* abort, TileFault* fault)
      : record_(record),
        slots_(slots),
        leaf_(*record.program),
        kernels_(kernels),
        scratch_(scratch),
        abort_(abort),
        fault_(*fault),
        pointers_(reinterpret_cast<std::byte**>(scratch)) {
    for (const ChainProgram& chain : leaf_.chains) new (scratch_ + chain.offset) BoundChain;
  }

  // `after(i)` is called behind operation i.
  template <typename After>
  void Run(int64_t tile, const After& after) {
    Place(tile);
    if (leaf_.kind == program::LeafKind::kWhole) {
      RunWhole();
      return after(0);
    }
    ForEachBlock([&] {
      PlaceAccesses();
      const bool whole = IsWholeBlock();
      auto chain = leaf_.chains.begin();
      for (size_t i = 0; i < leaf_.ops.size();) {
        if (chain != leaf_.chains.end() && chain->first == i && RunChain(*chain++)) {
          for (const uint32_t last = (chain - 1)->last; i < last; ++i) after(i);
          continue;
        }
        if (leaf_.has_blocks) FetchNext(i);
        if (whole && leaf_.direct[i].usable) {
          CallDirectly(leaf_.ops[i], leaf_.direct[i].args);
        } else {
          RunOperation(i);
        }
        after(i++);
      }
      return true;
    });
  }

  // Tiles [tile, last) of a matrix product, as many at a time as make a rectangle: they share packed panels.
  void RunProducts(int64_t tile, int64_t last) {
    const int64_t across = record_.grid[leaf_.rank - 1];
    const int64_t down = record_.grid[leaf_.rank - 2];
    while (tile < last && (abort_ == nullptr || !abort_->load(std::memory_order_relaxed))) {
      Place(tile);
      const int64_t row = tile % down;
      const bool whole_columns = row == 0 && last - tile >= down;
      const int64_t rows = std::min(down - row, last - tile);
      const int64_t columns = whole_columns ? std::min(across - tile / down % across, (last - tile) / down) : 1;
      RunProduct(rows, columns);
      tile += rows * columns;
    }
  }

  // Of a leaf of kind kVector.
  bool Bind(int64_t tile, size_t most, std::vector<RowsCall>* calls) {
    Place(tile);
    return ForEachBlock([&] { return BindBlock(most, calls); });
  }

 private:
  bool BindBlock(size_t most, std::vector<RowsCall>* calls) {
    PlaceAccesses();
    for (size_t i = 0; i < leaf_.ops.size(); ++i) {
      const OpProgram& op = leaf_.ops[i];
      int64_t cells[program::kMaxRank];
      if (!Cells(op, i, cells)) continue;
      if (op.action != Action::kCompute || calls->size() == most) return false;
      OperandView views[Nest::kMostOperands];
      ViewOperands(op, views);
      RowsCall call{op.rows, {}};
      if (!BindCompute(op, kernels_, leaf_.rank, cells, views, &call.args)) return false;
      calls->push_back(call);
    }
    return true;
  }

  // Without a division for the first tile, which often is the only one.
  void Place(int64_t tile) {
    if (tile != 0) return PlaceTile(record_, tile, begin_.data());
    for (int dim = 0; dim < leaf_.rank; ++dim) begin_[dim] = 0;
  }

  // Calls body() for the blocks of the tile, one after another, until it gives false.
  template <typename Body>
  bool ForEachBlock(const Body& body) {
    if (!leaf_.has_blocks) {
      room_ = leaf_.tile;
      return body();
    }
    const Extents first = begin_;
    Extents at{};
    for (;;) {
      for (int dim = 0; dim < leaf_.rank; ++dim) {
        begin_[dim] = first[dim] + at[dim];
        room_[dim] = std::min(leaf_.block[dim], leaf_.tile[dim] - at[dim]);
      }
      if (!body()) return false;
      int dim = leaf_.rank - 1;
      for (; dim >= 0; --dim) {
        at[dim] += leaf_.block[dim];
        if (at[dim] < leaf_.tile[dim] && first[dim] + at[dim] < leaf_.extents[dim]) break;
        at[dim] = 0;
      }
      if (dim < 0) return true;
    }
  }

  // Asks for the memory of the next block while operation `turn` of this one runs: one access a turn, the last turn
  // what is left.
  void FetchNext(size_t turn) const {
    const int dim = leaf_.block_dim;
    if (begin_[dim] + room_[dim] >= leaf_.extents[dim]) return;
    const size_t accesses = leaf_.accesses.size();
    const size_t last = turn + 1 == leaf_.ops.size() ? accesses : std::min(turn + 1, accesses);
    for (size_t i = turn; i < last; ++i) FetchAccess(i, dim);
  }

  void FetchAccess(size_t index, int dim) const {
    const AccessProgram& access = leaf_.accesses[index];
    const int64_t* strides = record_.accesses[index].strides;
    const int inner = leaf_.rank - 1;
    if (access.asked_for || access.extents[dim] <= 1 || (strides[inner] != 1 && room_[inner] > 1)) return;
    int64_t cells[program::kMaxRank];
    for (int i = 0; i < leaf_.rank; ++i) {
      cells[i] = access.extents[i] > 1 ? std::min(room_[i], leaf_.extents[i] - begin_[i]) : 1;
    }
    const OperandView view = {pointers_[index] + room_[dim] * strides[dim] * access.element_bytes, access.format,
                              access.element_bytes, strides};
    Nest nest;
    if (!nest.Make(leaf_.rank, cells, -1, &view, 1)) return;
    const int64_t bytes = nest.counts[nest.rank - 1] * access.element_bytes;
    nest.ForEachOuter(1, [bytes](const std::array<std::byte*, Nest::kMostOperands>& at) {
      for (int64_t line = 0; line < bytes; line += kLineBytes) __builtin_prefetch(at[0] + line, 0, 3);
    });
  }

  // The operations' direct calls do for this block.
  bool IsWholeBlock() const {
    if (!record_.uncut) return false;
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      if (room_[dim] != leaf_.block[dim] || begin_[dim] + room_[dim] > leaf_.extents[dim]) return false;
    }
    return true;
  }

  void CallDirectly(const OpProgram& op, simd::RowArgs args) const {
    args.out = Address(op.output);
    args.a = Address(op.inputs[0]);
    if (op.input_count > 1) args.b = Address(op.inputs[1]);
    if (op.input_count > 2) args.c = Address(op.inputs[2]);
    op.rows(&args);
  }

  // Of the first cell that the block has of an operand.
  std::byte* Address(const OperandProgram& operand) const {
    switch (operand.source) {
      case Source::kAccess: return pointers_[operand.index];
      case Source::kLocal: return scratch_ + leaf_.locals[operand.index].offset;
      case Source::kNumber: break;
    }
    // Numbers are only read; their low bytes come first.
    static_assert(std::endian::native == std::endian::little);
    return reinterpret_cast<std::byte*>(const_cast<uint64_t*>(record_.numbers + operand.index));
  }

  void PlaceAccesses() {
    for (size_t i = 0; i < leaf_.accesses.size(); ++i) pointers_[i] = Pointer(i, leaf_.rank);
  }

  void ViewOperands(const OpProgram& op, OperandView* views) const {
    views[0] = View(op.output);
    for (int i = 0; i < op.input_count; ++i) views[1 + i] = View(op.inputs[i]);
  }

  // Address of an access at the tile's first `dims` coordinates.
  std::byte* Pointer(size_t access, int dims) const {
    const AccessRecord& at = record_.accesses[access];
    int64_t elements = 0;
    for (int dim = 0; dim < dims; ++dim) {
      if (leaf_.accesses[access].extents[dim] > 1) elements += begin_[dim] * at.strides[dim];
    }
    return slots_[at.slot] + at.offset + elements * leaf_.accesses[access].element_bytes;
  }

  OperandView View(const OperandProgram& operand) const {
    switch (operand.source) {
      case Source::kAccess: {
        const AccessProgram& access = leaf_.accesses[operand.index];
        return {Address(operand), access.format, access.element_bytes, record_.accesses[operand.index].strides};
      }
      case Source::kLocal: {
        const LocalProgram& local = leaf_.locals[operand.index];
        return {Address(operand), local.format, ElementBytes(local.format), local.strides.data()};
      }
      case Source::kNumber: break;
    }
    const simd::Format format = ComputeFormat(leaf_.numbers[operand.index].format);
    return {Address(operand), format, ElementBytes(format), kNoStrides};
  }

  // Extents of what operation `index` computes of this block. False when another one does it, or there is nothing.
  bool Cells(const OpProgram& op, size_t index, int64_t* cells) const {
    const int64_t* bounds = record_.bounds + index * static_cast<size_t>(leaf_.rank);
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      if (op.varies[dim]) {
        cells[dim] = std::min(bounds[dim] - begin_[dim], room_[dim]);
        if (cells[dim] <= 0) return false;
        continue;
      }
      cells[dim] = bounds[dim];
      if (op.action == Action::kReduce && dim == op.axis) {
        if (bounds[dim] < 0) return false;
        continue;
      }
      if (bounds[dim] <= 0) return false;
      cells[dim] = 1;
      // A cell that several tiles share is stored by the first.
      if (op.output.source == Source::kAccess && begin_[dim] != 0) return false;
    }
    return true;
  }

  // False when its operations are to be run one by one.
  bool RunChain(const ChainProgram& chain) {
    auto& bound = *reinterpret_cast<BoundChain*>(scratch_ + chain.offset);
    if (!Repeats(bound) && !Rebind(chain, &bound)) return false;
    bound.Run(chain, kernels_, pointers_);
    return true;
  }

  // Whether the chain is bound for just such a block.
  bool Repeats(const BoundChain& bound) const {
    if (bound.state != BoundChain::State::kFits || !bound.whole) return false;
    bool repeats = true;
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      repeats = repeats && room_[dim] == bound.room[dim] && begin_[dim] + room_[dim] <= bound.end[dim];
    }
    return repeats;
  }

  bool Rebind(const ChainProgram& chain, BoundChain* to) const {
    BoundChain& bound = *to;
    Extents cells{};
    if (!Cells(leaf_.ops[chain.first], chain.first, cells.data())) return false;
    for (size_t i = chain.first + 1; i < chain.last; ++i) {
      Extents others{};
      if (!Cells(leaf_.ops[i], i, others.data()) || others != cells) return false;
    }
    bound.whole = true;
    bound.room = room_;
    for (int dim = 0; dim < leaf_.rank; ++dim) {
      const bool varies = chain.varies[dim];
      bound.end[dim] = varies ? begin_[dim] + cells[dim] : INT64_MAX;
      bound.whole = bound.whole && (!varies || cells[dim] == room_[dim]);
      for (size_t i = chain.first; bound.whole && varies && i < chain.last; ++i) {
        const int64_t end = record_.bounds[i * static_cast<size_t>(leaf_.rank) + static_cast<size_t>(dim)];
        bound.end[dim] = i == chain.first ? end : std::min(bound.end[dim], end);
      }
    }
    if (bound.state == BoundChain::State::kUnbound || bound.cells != cells) {
      // Room for the longest chain, of which most use little.
      alignas(OperandView) std::byte room[ChainProgram::kMostMemories * sizeof(OperandView)];
      auto* const views = reinterpret_cast<OperandView*>(room);
      uint32_t count = 0;
      for (const ChainStep& step : chain.steps) {
        if (step.memory != ChainStep::Memory::kNone) new (views + count++) OperandView(View(step.operand));
      }
      bound.Bind(chain, leaf_, kernels_, cells, views);
    }
    return bound.state == BoundChain::State::kFits;
  }

  void RunOperation(size_t index) {
    const OpProgram& op = leaf_.ops[index];
    int64_t cells[program::kMaxRank];
    if (!Cells(op, index, cells)) return;
    OperandView views[Nest::kMostOperands];
    ViewOperands(op, views);
    switch (op.action) {
      case Action::kCompute: return RunCompute(op, kernels_, leaf_.rank, cells, views);
      case Action::kCast: return RunCast(op, kernels_, leaf_.rank, cells, views);
      case Action::kCopy: return RunCopy(op, kernels_, leaf_.rank, cells, views);
      case Action::kReduce: return RunReduce(op, kernels_, leaf_.rank, cells, views);
      case Action::kTriangle: return RunTriangleTile(op, kernels_, leaf_.rank, cells, views, TriangleOf(op));
      case Action::kMatmul:
      case Action::kWhole: return;  // RunProduct, RunWhole
    }
  }

  TriangleArgs TriangleOf(const OpProgram& op) const {
    const auto number = [&](int input) { return std::bit_cast<double>(record_.numbers[op.inputs[input].index]); };
    const int row = leaf_.rank - 2;
    return {op.varies[row] ? begin_[row] : 0, op.varies[row + 1] ? begin_[row + 1] : 0, static_cast<int64_t>(number(1)),
            number(2) != 0};
  }

  // Of `rows` × `columns` tiles. A is placed by batch and M, B by batch and N.
  void RunProduct(int64_t rows, int64_t columns) {
    const OpProgram& op = leaf_.ops[0];
    const int rank = leaf_.rank;
    int64_t cells[program::kMaxRank];
    for (int dim = 0; dim < rank; ++dim) {
      const int64_t tiles = dim == rank - 1 ? columns : dim == rank - 2 ? rows : 1;
      cells[dim] = std::min(record_.bounds[dim] - begin_[dim], leaf_.tile[dim] * tiles);
    }
    pointers_[op.output.index] = Pointer(op.output.index, rank);
    pointers_[op.inputs[0].index] = Pointer(op.inputs[0].index, rank - 1);
    std::byte* b = Pointer(op.inputs[1].index, rank - 2);
    const AccessRecord& b_record = record_.accesses[op.inputs[1].index];
    const AccessProgram& b_access = leaf_.accesses[op.inputs[1].index];
    b += begin_[rank - 1] * b_record.strides[rank - 1] * b_access.element_bytes;
    OperandView views[Nest::kMostOperands] = {View(op.output), View(op.inputs[0]), View(op.inputs[1])};
    views[2].data = b;
    RunMatmul(leaf_, kernels_, record_.bounds, cells, views, scratch_, abort_);
  }

  void RunWhole() {
    const OpProgram& op = leaf_.ops[0];
    WholeArgs args{op, kernels_, leaf_, fault_, leaf_.rank, begin_};
    for (size_t i = 0; i <= op.input_count; ++i) {
      const OperandProgram& operand = i == 0 ? op.output : op.inputs[i - 1];
      WholeOperand& to = i == 0 ? args.out : args.in[i - 1];
      if (operand.source != Source::kAccess) {
        args.numbers[i - 1] = std::bit_cast<double>(record_.numbers[operand.index]);
        continue;
      }
      const AccessProgram& access = leaf_.accesses[operand.index];
      to.view = View(operand);
      to.view.data = Pointer(operand.index, 0);
      for (int dim = 0; dim < leaf_.rank; ++dim) {
        const int64_t valid = record_.bounds[i * static_cast<size_t>(leaf_.rank) + static_cast<size_t>(dim)];
        to.cells[dim] = valid;
        if (leaf_.tile[dim] == leaf_.extents[dim] || !FollowsTile(op, i, dim)) continue;
        to.cells[dim] = std::clamp<int64_t>(valid - begin_[dim], 0, leaf_.tile[dim]);
        if (access.extents[dim] > 1) to.view.data += begin_[dim] * to.view.strides[dim] * access.element_bytes;
        if (i == 0 && to.cells[dim] == 0) return;
      }
    }
    op.whole(args);
  }

  const LeafRecord& record_;
  std::byte* const* slots_;
  const LeafProgram& leaf_;
  const simd::KernelTable& kernels_;
  std::byte* scratch_;
  const std::atomic<bool>* abort_;
  TileFault& fault_;
  std::byte** pointers_;  // per access, at the start of the scratch arena
  Extents begin_{};       // of the tile, or of the block that is worked on
  Extents room_{};        // extents of that block
};

template <typename After>
void RunAll(TileRunner* runner, const LeafRecord& record, int64_t first, int64_t last, const std::atomic<bool>* abort,
            const TileFault& fault, const After& after) {
  if (record.program->kind == program::LeafKind::kCube) {
    runner->RunProducts(first, last);
    return after(0);
  }
  for (int64_t tile = first; tile < last; ++tile) {
    if (abort != nullptr && abort->load(std::memory_order_relaxed)) return;
    if (fault.raised()) return;
    runner->Run(tile, after);
  }
}

}  // namespace

void RunTiles(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels, std::byte* scratch,
              int64_t first, int64_t last, const std::atomic<bool>* abort, TileFault* fault) {
  TileRunner runner(record, slots, kernels, scratch, abort, fault);
  RunAll(&runner, record, first, last, abort, *fault, [](size_t) {});
}

void RunTilesTimed(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels,
                   std::byte* scratch, int64_t first, int64_t last, const std::atomic<bool>* abort, TileFault* fault,
                   uint64_t* ticks) {
  TileRunner runner(record, slots, kernels, scratch, abort, fault);
  uint64_t before = base::Ticks();
  RunAll(&runner, record, first, last, abort, *fault, [&](size_t operation) {
    const uint64_t now = base::Ticks();
    ticks[operation] += now - before;
    before = now;
  });
}

namespace {

// What registers save is more than what calls without a look at the launch save.
bool GainsByChains(const LeafProgram& leaf) {
  constexpr int64_t kLeastSaved = 4096;  // elements that are neither stored nor loaded
  int64_t cells = 1;
  for (int dim = 0; dim < leaf.rank; ++dim) cells *= leaf.tile[dim];
  return std::any_of(leaf.chains.begin(), leaf.chains.end(), [cells](const ChainProgram& chain) {
    return cells * int64_t{chain.last - chain.first - 1} >= kLeastSaved;
  });
}

}  // namespace

bool BindTiles(const LeafRecord& record, std::byte* const* slots, const simd::KernelTable& kernels, std::byte* scratch,
               size_t most, std::vector<RowsCall>* calls) {
  if (record.program->kind != program::LeafKind::kVector || GainsByChains(*record.program)) return false;
  TileFault no_fault;
  TileRunner runner(record, slots, kernels, scratch, nullptr, &no_fault);
  for (int64_t tile = 0; tile < record.tiles; ++tile) {
    if (!runner.Bind(tile, most, calls)) return false;
  }
  return true;
}

}  // namespace pypto::device
