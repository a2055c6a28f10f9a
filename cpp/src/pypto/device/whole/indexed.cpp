// Gather and scatter. Indices outside of what is valid are a kernel fault.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/halves.h"
#include "pypto/device/whole/whole.h"

namespace pypto::device {
namespace {

constexpr int64_t kLeastAskedRow = 2048;  // bytes

// `at` moved to `value` in one dim.
Extents Moved(Extents at, int dim, int64_t value) {
  at[dim] = value;
  return at;
}

// The indices of a 1-D operand.
std::vector<int64_t> AllIndices(const WholeArgs& args, const WholeOperand& index) {
  const int last = args.rank - 1;
  std::vector<int64_t> values(static_cast<size_t>(index.cells[last]));
  LoadIndices(index, index.view.data, index.view.strides[last], index.cells[last], values.data());
  return values;
}

// Those of a choice of slices that belong to the tile.
std::vector<int64_t> TileIndices(const WholeArgs& args) {
  const WholeOperand& index = args.in[1];
  const int last = args.rank - 1;
  const int64_t first = args.begin[args.op.axis];
  const int64_t n = std::clamp<int64_t>(index.cells[last] - first, 0, args.out.cells[args.op.axis]);
  std::vector<int64_t> values(static_cast<size_t>(n));
  const int64_t step = index.view.strides[last];
  LoadIndices(index, index.view.data + first * step * index.view.element_bytes, step, n, values.data());
  return values;
}

// One row of a scatter: steps count elements, those of the result also from one place of the row to the next. The first
// place whose index lies outside of `held`, or n.
template <typename T, typename Index, typename Put>
int64_t ScatterRow(T* to, int64_t axis_step, int64_t to_step, const T* from, int64_t from_step, const Index* index,
                   int64_t index_step, int64_t n, uint64_t held, const Put& put) {
  if (axis_step == 1 && to_step == 0 && from_step == 1 && index_step == 1) {
    for (int64_t i = 0; i < n; ++i) {
      const auto where = static_cast<uint64_t>(index[i]);
      if (where >= held) return i;
      put(to[where], from[i]);
    }
    return n;
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto where = static_cast<uint64_t>(index[i * index_step]);
    if (where >= held) return i;
    put(to[static_cast<int64_t>(where) * axis_step + i * to_step], from[i * from_step]);
  }
  return n;
}

// For each cell of the index, cut to `cells`: put(element of the result, element of the source, or `number`). Indices
// are checked against the first operand; those past what the result has (the store was cut off there) are left out.
template <typename T, typename Put>
void ScatterAs(const WholeArgs& args, const Extents& cells, const std::byte* number, const Put& put) {
  const int axis = args.op.axis;
  const int last = args.rank - 1;
  const WholeOperand& index = args.in[1];
  const WholeOperand& source = args.in[2];
  const int64_t n = cells[last];
  const int64_t axis_step = args.out.view.strides[axis];
  const int64_t to_step = last == axis ? 0 : args.out.view.strides[last];
  const int64_t from_step = number != nullptr ? 0 : source.view.strides[last];
  const int64_t index_step = index.view.strides[last];
  const auto held = static_cast<uint64_t>(std::max<int64_t>(args.out.cells[axis], 0));
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    auto* to = reinterpret_cast<T*>(args.out.At(Moved(at, axis, 0), args.rank));
    const auto* from = reinterpret_cast<const T*>(number != nullptr ? number : source.At(at, args.rank));
    const auto row = [&]<typename Index>(const Index* indices) {
      for (int64_t i = 0; i < n; ++i) {
        i += ScatterRow(to + i * to_step, axis_step, to_step, from + i * from_step, from_step, indices + i * index_step,
                        index_step, n - i, held, put);
        if (i < n && !CheckIndex(args, indices[i * index_step], axis, args.in[0].cells[axis])) return false;
      }
      return true;
    };
    const std::byte* indices = index.At(at, args.rank);
    if (index.view.format == simd::kI64) return row(reinterpret_cast<const int64_t*>(indices));
    return row(reinterpret_cast<const int32_t*>(indices));
  });
}

// Elements of a half type, summed or multiplied in FP32.
template <float (*kWiden)(uint16_t), uint16_t (*kNarrow)(float)>
void ScatterHalves(const WholeArgs& args, const Extents& cells, const std::byte* number, bool multiply) {
  if (multiply) {
    return ScatterAs<uint16_t>(args, cells, number,
                               [](uint16_t& to, uint16_t from) { to = kNarrow(kWiden(to) * kWiden(from)); });
  }
  ScatterAs<uint16_t>(args, cells, number,
                      [](uint16_t& to, uint16_t from) { to = kNarrow(kWiden(to) + kWiden(from)); });
}

// Where a scattered element comes from when it is one number.
struct Constant {
  ChunkBuffer cell;
  Constant(const WholeArgs& args, double value) {
    ChunkBuffer wide;
    switch (KindOf(args.out.view.format)) {
      case simd::kKindF32: wide.floats()[0] = static_cast<float>(value); break;
      case simd::kKindI32: wide.integers()[0] = static_cast<int32_t>(static_cast<int64_t>(value)); break;
      default: wide.wide()[0] = static_cast<int64_t>(value); break;
    }
    args.kernels.store[args.out.view.format](cell.bytes, 1, wide.bytes, 1);
  }
};

// One row of a gather: steps count elements. The first place whose index lies outside of `extent`, or n.
template <typename T, typename Index>
int64_t GatherRow(T* to, int64_t to_step, const T* from, int64_t axis_step, int64_t from_step, const Index* index,
                  int64_t index_step, int64_t n, int64_t extent) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t where = index[i * index_step];
    if (where < 0 || where >= extent) return i;
    to[i * to_step] = from[where * axis_step + i * from_step];
  }
  return n;
}

bool AllInside(const simd::KernelTable& kernels, const int32_t* indices, int64_t n, int64_t extent) {
  return kernels.reduce_i32[simd::kReduceAmin](indices, n) >= 0 &&
         kernels.reduce_i32[simd::kReduceAmax](indices, n) < extent;
}

template <typename T, typename Index>
void LookUp(T* to, const T* from, const Index* indices, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T a = from[indices[i]];
    const T b = from[indices[i + 1]];
    const T c = from[indices[i + 2]];
    const T d = from[indices[i + 3]];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
  for (; i < n; ++i) to[i] = from[indices[i]];
}

void LookUpCells(std::byte* to, const std::byte* from, const int64_t* indices, int64_t n, int64_t bytes) {
  const auto as = [&]<typename T>() { LookUp(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), indices, n); };
  switch (bytes) {
    case 1: return as.operator()<uint8_t>();
    case 2: return as.operator()<uint16_t>();
    case 8: return as.operator()<uint64_t>();
    default: return as.operator()<uint32_t>();
  }
}

template <typename T>
void GatherAs(const WholeArgs& args) {
  const int axis = args.op.axis;
  const int last = args.rank - 1;
  const WholeOperand& x = args.in[0];
  const WholeOperand& index = args.in[1];
  const int64_t extent = x.cells[axis];
  const int64_t axis_step = x.view.strides[axis];
  const int64_t from_step = last == axis ? 0 : x.view.strides[last];
  Extents cells = index.cells;
  for (int dim = 0; dim < args.rank; ++dim) cells[dim] = std::min(cells[dim], args.out.cells[dim]);
  const int64_t n = cells[last];
  const bool dense = last == axis && axis_step == 1 && index.view.format == simd::kI32 &&
                     index.view.strides[last] == 1 && args.out.view.strides[last] == 1 && n > 0;
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    const auto row = [&]<typename Index>(const Index* indices) {
      auto* to = reinterpret_cast<T*>(args.out.At(at, args.rank));
      const auto* from = reinterpret_cast<const T*>(x.At(Moved(at, axis, 0), args.rank));
      const int64_t step = index.view.strides[last];
      if constexpr (sizeof(Index) == 4) {
        if (dense && AllInside(args.kernels, indices, n, extent)) {
          LookUp(to, from, indices, n);
          return true;
        }
      }
      const int64_t done =
          GatherRow(to, args.out.view.strides[last], from, axis_step, from_step, indices, step, n, extent);
      return done == n || IndexFault(args, indices[done * step], axis, extent);
    };
    const std::byte* indices = index.At(at, args.rank);
    if (index.view.format == simd::kI64) return row(reinterpret_cast<const int64_t*>(indices));
    return row(reinterpret_cast<const int32_t*>(indices));
  });
}

}  // namespace

void RunGather(const WholeArgs& args) {
  const int64_t bytes = args.out.view.element_bytes;
  const WholeOperand& x = args.in[0];
  for (int dim = 0; dim < args.rank; ++dim) {
    // Other dims are read at the place of the index.
    const bool inside = dim == args.op.axis || args.in[1].cells[dim] <= x.cells[dim];
    if (!inside) {
      IndexFault(args, args.in[1].cells[dim] - 1, dim, x.cells[dim]);
      return;
    }
  }
  switch (bytes) {
    case 1: return GatherAs<uint8_t>(args);
    case 2: return GatherAs<uint16_t>(args);
    case 8: return GatherAs<uint64_t>(args);
    default: return GatherAs<uint32_t>(args);
  }
}

void RunScatter(const WholeArgs& args) {
  CopyWhole(args, args.out, args.in[0]);
  const int64_t bytes = args.out.view.element_bytes;
  const auto mode = static_cast<int>(args.numbers[3]);
  Constant constant(args, args.numbers[2]);
  const bool number = !args.in[2].given();
  Extents cells = args.in[1].cells;
  for (int dim = 0; dim < args.rank; ++dim) {
    if (dim != args.op.axis) cells[dim] = std::min(cells[dim], args.out.cells[dim]);
    if (!number) cells[dim] = std::min(cells[dim], args.in[2].cells[dim]);
  }
  const std::byte* one = number ? constant.cell.bytes : nullptr;
  const auto on_cells = [&]<typename T>(const auto& put) { ScatterAs<T>(args, cells, one, put); };
  const auto assign = [](auto& to, auto from) { to = from; };
  const auto add = [](auto& to, auto from) { to += from; };
  const auto multiply = [](auto& to, auto from) { to *= from; };
  const auto combine = [&](auto& to, const auto& from) {
    AccumulateCells(args, reinterpret_cast<std::byte*>(&to), 1, reinterpret_cast<const std::byte*>(&from), 1, 1, 1.0,
                    mode == 2);
  };
  if (mode != 0) {
    switch (args.out.view.format) {
      case simd::kBf16: return ScatterHalves<FromBf16, ToBf16>(args, cells, one, mode == 2);
      case simd::kF16: return ScatterHalves<FromFp16, ToFp16>(args, cells, one, mode == 2);
      case simd::kF32: return mode == 2 ? on_cells.operator()<float>(multiply) : on_cells.operator()<float>(add);
      case simd::kI32: return mode == 2 ? on_cells.operator()<uint32_t>(multiply) : on_cells.operator()<uint32_t>(add);
      default: break;
    }
  }
  const auto put_each = [&](const auto& put) {
    switch (bytes) {
      case 1: return on_cells.operator()<uint8_t>(put);
      case 2: return on_cells.operator()<uint16_t>(put);
      case 8: return on_cells.operator()<uint64_t>(put);
      default: return on_cells.operator()<uint32_t>(put);
    }
  };
  mode == 0 ? put_each(assign) : put_each(combine);
}

namespace {

// The slices of x at the indices, which it has.
void CopySlices(const WholeArgs& args, const std::vector<int64_t>& indices) {
  const int axis = args.op.axis;
  const int last = args.rank - 1;
  const WholeOperand& x = args.in[0];
  Extents cells = args.out.cells;
  for (int dim = 0; dim < args.rank; ++dim) {
    cells[dim] = std::min(cells[dim], dim == axis ? static_cast<int64_t>(indices.size()) : x.cells[dim]);
  }
  const int64_t bytes = args.out.view.element_bytes;
  const int64_t to_step = args.out.view.strides[last];
  const int64_t from_step = x.view.strides[last];
  const bool runs = to_step == 1 && from_step == 1 && args.out.view.data != x.view.data;
  if (runs && args.rank == 2 && axis == 0) {
    const int64_t to_row = args.out.view.strides[0] * bytes;
    const int64_t from_row = x.view.strides[0] * bytes;
    const int64_t row_bytes = cells[1] * bytes;
    // Of short rows more than the next one would have to be asked for.
    const bool asks = args.op.asks && row_bytes >= kLeastAskedRow;
    for (int64_t i = 0; i < cells[0]; ++i) {
      const std::byte* from = x.view.data + indices[static_cast<size_t>(i)] * from_row;
      const std::byte* next = x.view.data + indices[static_cast<size_t>(std::min(i + 1, cells[0] - 1))] * from_row;
      args.kernels.copy_rows(args.out.view.data + i * to_row, to_row, from, next - from, 1, row_bytes, args.op.streams,
                             asks);
    }
    return;
  }
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    std::byte* to = args.out.At(at, args.rank);
    if (axis != last) {
      const std::byte* from = x.At(Moved(at, axis, indices[static_cast<size_t>(at[axis])]), args.rank);
      if (runs) {
        args.kernels.copy_rows(to, 0, from, 0, 1, cells[last] * bytes, args.op.streams, false);
      } else {
        CopyCells(to, to_step, from, from_step, cells[last], bytes);
      }
      return true;
    }
    const std::byte* from = x.At(at, args.rank);
    if (to_step == 1 && from_step == 1) {
      LookUpCells(to, from, indices.data(), cells[last], bytes);
      return true;
    }
    for (int64_t i = 0; i < cells[last]; ++i) {
      CopyCells(to + i * to_step * bytes, 1, from + indices[static_cast<size_t>(i)] * from_step * bytes, 1, 1, bytes);
    }
    return true;
  });
}

// Row `table[i / size] * size + i % size` for each index i, all of which x has; nothing after a fault.
std::optional<std::vector<int64_t>> PagedRows(const WholeArgs& args) {
  const std::vector<int64_t> table = AllIndices(args, args.in[2]);
  const auto size = static_cast<int64_t>(args.numbers[3]);
  const auto fault = [&](int64_t index, const std::string& why) {
    RaiseIndexFault(args, index, "index " + std::to_string(index) + " " + why);
    return std::nullopt;
  };
  std::vector<int64_t> rows = TileIndices(args);
  for (int64_t& row : rows) {
    const int64_t index = row;
    const auto pages = static_cast<int64_t>(table.size());
    if (size < 1) return fault(index, "has no block: blocks of " + std::to_string(size) + " rows");
    if (index < 0 || index / size >= pages) {
      return fault(index, "is out of range for the block table " + SubjectOf(args, 2) + ", which has " +
                              std::to_string(pages) + " blocks of " + std::to_string(size) + " rows");
    }
    const int64_t held = args.in[0].cells[0];
    const int64_t block = table[static_cast<size_t>(index / size)];
    const bool inside = block >= 0 && block <= held / size && block * size + index % size < held;
    if (!inside) {
      return fault(index, "is in block " + std::to_string(block) + " of " + SubjectOf(args, 0) + ", which has " +
                              std::to_string(held) + " rows, in blocks of " + std::to_string(size));
    }
    row = block * size + index % size;
  }
  return rows;
}

void RunPagedGather(const WholeArgs& args) {
  if (const auto rows = PagedRows(args)) CopySlices(args, *rows);
}

}  // namespace

void RunIndexSelect(const WholeArgs& args) {
  const int axis = args.op.axis;
  const std::vector<int64_t> indices = TileIndices(args);
  for (const int64_t index : indices) {
    if (!CheckIndex(args, index, axis, args.in[0].cells[axis])) return;
  }
  CopySlices(args, indices);
}

void RunGatherInUb(const WholeArgs& args) { RunPagedGather(args); }
void RunGatherInL1(const WholeArgs& args) { RunPagedGather(args); }

void RunIndexAdd(const WholeArgs& args) {
  const int axis = args.op.axis;
  const int last = args.rank - 1;
  const WholeOperand& source = args.in[2];
  const std::vector<int64_t> indices = AllIndices(args, args.in[1]);
  for (const int64_t index : indices) {
    if (!CheckIndex(args, index, axis, args.in[0].cells[axis])) return;
  }
  CopyWhole(args, args.out, args.in[0]);
  Extents cells = source.cells;
  for (int dim = 0; dim < args.rank; ++dim) {
    cells[dim] = std::min(cells[dim], dim == axis ? static_cast<int64_t>(indices.size()) : args.out.cells[dim]);
  }
  const int64_t bytes = args.out.view.element_bytes;
  const int64_t to_step = args.out.view.strides[last];
  const int64_t from_step = source.view.strides[last];
  const double alpha = args.numbers[3];
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    const std::byte* from = source.At(at, args.rank);
    if (axis != last) {
      if (indices[static_cast<size_t>(at[axis])] >= args.out.cells[axis]) return true;
      std::byte* to = args.out.At(Moved(at, axis, indices[static_cast<size_t>(at[axis])]), args.rank);
      AccumulateCells(args, to, to_step, from, from_step, cells[last], alpha, false);
      return true;
    }
    std::byte* to = args.out.At(at, args.rank);
    for (int64_t i = 0; i < cells[last]; ++i) {
      if (indices[static_cast<size_t>(i)] >= args.out.cells[axis]) continue;
      AccumulateCells(args, to + indices[static_cast<size_t>(i)] * to_step * bytes, 1, from + i * from_step * bytes, 1,
                      1, alpha, false);
    }
    return true;
  });
}

// x, values, accumulate, then an index per leading dim. Values have the indices' dim in place of those dims.
void RunIndexPut(const WholeArgs& args) {
  CopyWhole(args, args.out, args.in[0]);
  const WholeOperand& values = args.in[1];
  const int count = args.op.input_count - 3;
  std::vector<std::vector<int64_t>> indices;
  for (int i = 0; i < count; ++i) indices.push_back(AllIndices(args, args.in[static_cast<size_t>(3 + i)]));
  const int first = count - 1;  // dim of values that counts the indices
  const int last = args.rank - 1;
  Extents cells = values.cells;
  for (int dim = 0; dim < args.rank; ++dim) {
    if (dim > first) cells[dim] = std::min(cells[dim], args.out.cells[dim]);
  }
  for (const auto& each : indices) cells[first] = std::min(cells[first], static_cast<int64_t>(each.size()));
  const bool one_by_one = first == last;
  const int64_t n = one_by_one ? 1 : cells[last];
  const int64_t to_step = args.out.view.strides[last];
  const int64_t from_step = values.view.strides[last];
  const bool accumulate = args.numbers[2] != 0;
  const auto put = [&](const Extents& at, int64_t which) {
    Extents to_at = at;
    for (int i = 0; i < count; ++i) {
      const int64_t index = indices[static_cast<size_t>(i)][static_cast<size_t>(which)];
      if (!CheckIndex(args, index, i, args.in[0].cells[i])) return false;
      if (index >= args.out.cells[i]) return true;
      to_at[i] = index;
    }
    std::byte* to = args.out.At(to_at, args.rank);
    const std::byte* from = values.At(Moved(at, first, which), args.rank);
    if (accumulate) {
      AccumulateCells(args, to, to_step, from, from_step, n, 1.0, false);
    } else {
      CopyCells(to, to_step, from, from_step, n, args.out.view.element_bytes);
    }
    return true;
  };
  ForEachRow(args.rank, cells, [&](const Extents& at) {
    if (!one_by_one) return put(at, at[first]);
    for (int64_t i = 0; i < cells[last]; ++i) {
      if (!put(at, i)) return false;
    }
    return true;
  });
}

}  // namespace pypto::device
