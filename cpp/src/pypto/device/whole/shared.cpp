// What whole operations share: faults, copies, conversions of rows.
#include <cstring>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/halves.h"
#include "pypto/device/vector_ops.h"
#include "pypto/device/whole/whole.h"
#include "pypto/program/op_table.h"

namespace pypto::device {

std::string SubjectOf(const WholeArgs& args, size_t input) {
  const OperandProgram& operand = args.op.inputs[input];
  const bool named = operand.source == Source::kAccess && !args.leaf.accesses[operand.index].name.empty();
  return named ? std::string(args.leaf.accesses[operand.index].name) : "the tensor";
}

void RaiseIndexFault(const WholeArgs& args, int64_t index, const std::string& text) {
  const program::OpInfo* info = program::FindOperation(args.op.code);
  Fault fault;
  fault.kind = program::FaultKind::kBadIndex;
  fault.place = args.op.place;
  fault.value = index;
  fault.text = std::string(info == nullptr ? "operation" : info->shown()) + "(): " + text;
  args.fault.Raise(std::move(fault));
}

bool IndexFault(const WholeArgs& args, int64_t index, int dim, int64_t extent) {
  RaiseIndexFault(args, index,
                  "index " + std::to_string(index) + " is out of range for dim " + std::to_string(dim) + " of " +
                      SubjectOf(args, 0) + ", which has " + std::to_string(extent) + " elements there");
  return false;
}

void CopyWhole(const WholeArgs& args, const WholeOperand& to, const WholeOperand& from) {
  if (to.view.data == from.view.data) return;
  Extents cells{};
  for (int dim = 0; dim < args.rank; ++dim) cells[dim] = std::min(to.cells[dim], from.cells[dim]);
  OpProgram op;
  op.result = to.view.format;
  op.streams = args.op.streams;
  const OperandView views[] = {to.view, from.view};
  RunCopy(op, args.kernels, args.rank, cells.data(), views);
}

namespace {

template <typename T>
void CopyAs(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n) {
  auto* out = reinterpret_cast<T*>(to);
  const auto* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) out[i * to_step] = in[i * from_step];
}

}  // namespace

void CopyCells(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n, int64_t bytes) {
  if (to_step == 1 && from_step == 1) {
    std::memmove(to, from, static_cast<size_t>(n * bytes));
    return;
  }
  switch (bytes) {
    case 1: return CopyAs<uint8_t>(to, to_step, from, from_step, n);
    case 2: return CopyAs<uint16_t>(to, to_step, from, from_step, n);
    case 4: return CopyAs<uint32_t>(to, to_step, from, from_step, n);
    default: return CopyAs<uint64_t>(to, to_step, from, from_step, n);
  }
}

void ZeroCells(std::byte* to, int64_t step, int64_t n, int64_t bytes) {
  const std::byte zero[8] = {};
  if (step != 1) return CopyCells(to, step, zero, 0, n, bytes);
  std::memset(to, 0, static_cast<size_t>(n * bytes));
}

namespace {

template <typename T, typename Wide>
void Combine(T* to, const T* from, int64_t n, Wide factor, bool multiply) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<T>(multiply ? static_cast<Wide>(to[i]) * static_cast<Wide>(from[i])
                                    : static_cast<Wide>(to[i]) + factor * static_cast<Wide>(from[i]));
  }
}

// One cell, as elements that go each to a place of their own are added. False for formats that are left to the kernels.
bool AccumulateCell(simd::Format format, std::byte* to, const std::byte* from, double factor, bool multiply) {
  const auto on = [&]<typename T>(auto widen, auto narrow) {
    auto* cell = reinterpret_cast<T*>(to);
    auto sum = widen(*cell);
    const auto term = widen(*reinterpret_cast<const T*>(from));
    Combine(&sum, &term, 1, factor, multiply);
    *cell = narrow(sum);
    return true;
  };
  const auto same = [](float x) { return x; };
  switch (format) {
    case simd::kF32: return on.operator()<float>(same, same);
    case simd::kBf16: return on.operator()<uint16_t>(FromBf16, ToBf16);
    case simd::kF16: return on.operator()<uint16_t>(FromFp16, ToFp16);
    default: return false;
  }
}

}  // namespace

void AccumulateCells(const WholeArgs& args, std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step,
                     int64_t n, double factor, bool multiply) {
  const simd::Format format = args.out.view.format;
  const int64_t bytes = args.out.view.element_bytes;
  if (n == 1 && AccumulateCell(format, to, from, factor, multiply)) return;
  ChunkBuffer sums;
  ChunkBuffer terms;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t part = std::min(kChunk, n - first);
    std::byte* at = to + first * to_step * bytes;
    args.kernels.load[format](sums.bytes, at, to_step, part);
    args.kernels.load[format](terms.bytes, from + first * from_step * bytes, from_step, part);
    const auto whole = static_cast<uint64_t>(static_cast<int64_t>(factor));
    switch (KindOf(format)) {
      case simd::kKindF32: Combine(sums.floats(), terms.floats(), part, factor, multiply); break;
      case simd::kKindI32: Combine(sums.integers(), terms.integers(), part, whole, multiply); break;
      default: Combine(sums.wide(), terms.wide(), part, whole, multiply); break;
    }
    args.kernels.store[format](at, to_step, sums.bytes, part);
  }
}

void LoadIndices(const WholeOperand& index, const std::byte* from, int64_t step, int64_t n, int64_t* to) {
  if (index.view.format == simd::kI64) {
    const auto* wide = reinterpret_cast<const int64_t*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = wide[i * step];
    return;
  }
  const auto* narrow = reinterpret_cast<const int32_t*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = narrow[i * step];
}

void LoadReals(const WholeArgs& args, const WholeOperand& from, const std::byte* at, int64_t step, int64_t n,
               double* to) {
  const simd::Format format = from.view.format;
  ChunkBuffer buffer;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t part = std::min(kChunk, n - first);
    args.kernels.load[format](buffer.bytes, at + first * step * from.view.element_bytes, step, part);
    for (int64_t i = 0; i < part; ++i) {
      switch (KindOf(format)) {
        case simd::kKindF32: to[first + i] = static_cast<double>(buffer.floats()[i]); break;
        case simd::kKindI32: to[first + i] = buffer.integers()[i]; break;
        default: to[first + i] = static_cast<double>(buffer.wide()[i]); break;
      }
    }
  }
}

}  // namespace pypto::device
