// Running sums and products along one axis.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/whole/lines.h"

namespace pypto::device {
namespace {

template <bool kProduct, typename Sum>
constexpr Sum kNothing = kProduct ? 1 : 0;

template <bool kProduct, typename Sum, typename In>
Sum Joined(Sum held, In value) {
  return kProduct ? held * static_cast<Sum>(value) : held + static_cast<Sum>(value);
}

// Lines along the axis at a time: their sums do not wait for each other.
constexpr int kLinesAtOnce = 4;

// In, Out: what is loaded and stored; Sum: what is kept.
template <bool kProduct, typename In, typename Out, typename Sum>
class Runner {
 public:
  explicit Runner(const WholeArgs& args)
      : args_(args),
        n_(std::min(args.in[0].cells[args.op.axis], args.out.cells[args.op.axis])),
        to_step_(StrideOf(args, args.out)),
        from_step_(StrideOf(args, args.in[0])),
        to_bytes_(args.out.view.element_bytes),
        from_bytes_(args.in[0].view.element_bytes),
        load_(args.kernels.load[args.in[0].view.format]),
        store_(args.kernels.store[args.out.view.format]) {}

  void Run() {
    if (args_.op.axis + 1 != args_.rank) return RunColumns();
    ForEachLine(args_, [&](std::byte* to, const std::byte* from) {
      to_[lines_] = to;
      from_[lines_] = from;
      if (++lines_ == kLinesAtOnce) RunLines();
    });
    RunLines();
  }

 private:
  static Out* Results(ChunkBuffer* buffer) { return reinterpret_cast<Out*>(buffer->bytes); }
  static const In* Values(const ChunkBuffer& buffer) { return reinterpret_cast<const In*>(buffer.bytes); }

  void RunLines() {
    Sum sums[kLinesAtOnce];
    std::fill_n(sums, kLinesAtOnce, kNothing<kProduct, Sum>);
    for (int64_t first = 0; first < n_; first += kChunk) {
      const int64_t part = std::min(kChunk, n_ - first);
      for (int line = 0; line < lines_; ++line) {
        load_(in_[line].bytes, from_[line] + first * from_step_ * from_bytes_, from_step_, part);
      }
      AddLines(sums, part);
      for (int line = 0; line < lines_; ++line) {
        store_(to_[line] + first * to_step_ * to_bytes_, to_step_, out_[line].bytes, part);
      }
    }
    lines_ = 0;
  }

  // Lines that are not there are computed from what the buffers hold.
  void AddLines(Sum* sums, int64_t n) {
    static_assert(kLinesAtOnce == 4);
    Sum a = sums[0];
    Sum b = sums[1];
    Sum c = sums[2];
    Sum d = sums[3];
    const In* in[] = {Values(in_[0]), Values(in_[1]), Values(in_[2]), Values(in_[3])};
    Out* out[] = {Results(&out_[0]), Results(&out_[1]), Results(&out_[2]), Results(&out_[3])};
    for (int64_t i = 0; i < n; ++i) {
      a = Joined<kProduct>(a, in[0][i]);
      b = Joined<kProduct>(b, in[1][i]);
      c = Joined<kProduct>(c, in[2][i]);
      d = Joined<kProduct>(d, in[3][i]);
      out[0][i] = static_cast<Out>(a);
      out[1][i] = static_cast<Out>(b);
      out[2][i] = static_cast<Out>(c);
      out[3][i] = static_cast<Out>(d);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
  }

  // The axis is not the last dim: a row of sums.
  void RunColumns() {
    ForEachColumnBlock(args_,
                       [this](std::byte* to, const std::byte* from, int64_t columns) { RunBlock(to, from, columns); });
  }

  void RunBlock(std::byte* to, const std::byte* from, int64_t columns) {
    const int last = args_.rank - 1;
    const int64_t from_column = args_.in[0].view.strides[last];
    const int64_t to_column = args_.out.view.strides[last];
    const int64_t from_row = from_step_ * from_bytes_;
    const int64_t to_row = to_step_ * to_bytes_;
    Sum sums[kChunk];
    std::fill_n(sums, columns, kNothing<kProduct, Sum>);
    for (int64_t row = 0; row < n_; ++row, from += from_row, to += to_row) {
      if (row + kRowsAhead < n_ && from_column == 1 && to_column == 1) {
        AskFor(from + kRowsAhead * from_row, columns * from_bytes_);
        AskFor(to + kRowsAhead * to_row, columns * to_bytes_);
      }
      load_(in_[0].bytes, from, from_column, columns);
      AddRow(sums, columns);
      store_(to, to_column, out_[0].bytes, columns);
    }
  }

  void AddRow(Sum* sums, int64_t columns) {
    if constexpr (!kProduct && std::is_same_v<Sum, double>) {
      args_.kernels.running_sums(Results(&out_[0]), Values(in_[0]), sums, columns);
    } else {
      for (int64_t i = 0; i < columns; ++i) {
        sums[i] = Joined<kProduct>(sums[i], Values(in_[0])[i]);
        Results(&out_[0])[i] = static_cast<Out>(sums[i]);
      }
    }
  }

  // Rows lie apart, which processors do not foresee.
  static constexpr int64_t kRowsAhead = 8;
  static void AskFor(const std::byte* row, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at, 0, 2);
  }

  const WholeArgs& args_;
  const int64_t n_;
  const int64_t to_step_;
  const int64_t from_step_;
  const int64_t to_bytes_;
  const int64_t from_bytes_;
  const simd::LoadFunction load_;
  const simd::StoreFunction store_;
  int lines_ = 0;
  std::byte* to_[kLinesAtOnce] = {};
  const std::byte* from_[kLinesAtOnce] = {};
  ChunkBuffer in_[kLinesAtOnce] = {};
  ChunkBuffer out_[kLinesAtOnce];
};

// Sums along the last dim, line by line.
void RunFloatSums(const WholeArgs& args) {
  const WholeOperand& in = args.in[0];
  const int64_t n = std::min(in.cells[args.op.axis], args.out.cells[args.op.axis]);
  const auto load = args.kernels.load[in.view.format];
  const auto store = args.kernels.store[args.out.view.format];
  const bool from_memory = in.view.format == simd::kF32 && StrideOf(args, in) == 1;
  const bool to_memory = args.out.view.format == simd::kF32 && StrideOf(args, args.out) == 1;
  ChunkBuffer values;
  ForEachLine(args, [&](std::byte* to, const std::byte* from) {
    double sum = 0;
    for (int64_t first = 0; first < n; first += kChunk) {
      const int64_t part = std::min(kChunk, n - first);
      const std::byte* source = from + first * StrideOf(args, in) * in.view.element_bytes;
      std::byte* target = to + first * StrideOf(args, args.out) * args.out.view.element_bytes;
      if (!from_memory) load(values.bytes, source, StrideOf(args, in), part);
      const float* read = from_memory ? reinterpret_cast<const float*>(source) : values.floats();
      float* made = to_memory ? reinterpret_cast<float*>(target) : values.floats();
      args.kernels.running_sum(made, read, part, &sum);
      if (!to_memory) store(target, StrideOf(args, args.out), values.bytes, part);
    }
  });
}

// kProduct: products instead of sums. Kept in FP64 or INT64, rounded to the result for each cell.
template <bool kProduct>
void Running(const WholeArgs& args) {
  const bool floats = IsFloat(args.out.view.format);
  if (floats && !kProduct && args.op.axis + 1 == args.rank) return RunFloatSums(args);
  if (floats) return Runner<kProduct, float, float, double>(args).Run();
  if constexpr (!kProduct) Runner<false, int32_t, int64_t, int64_t>(args).Run();
}

}  // namespace

void RunCumSum(const WholeArgs& args) { Running<false>(args); }
void RunCumProd(const WholeArgs& args) { Running<true>(args); }

}  // namespace pypto::device
