// The index of the first extreme along an axis: chunks of lines, or rows of columns where the axis is an outer dim.
#include <algorithm>
#include <cmath>

#include "pypto/device/chunk.h"
#include "pypto/device/whole/lines.h"

namespace pypto::device {
namespace {

// The first NaN, else the first largest value, or the first smallest one.
class FirstExtreme {
 public:
  FirstExtreme(const WholeArgs& args, bool smallest)
      : args_(args),
        smallest_(smallest),
        n_(args.in[0].cells[args.op.axis]),
        step_(StrideOf(args, args.in[0])),
        bytes_(args.in[0].view.element_bytes),
        load_(args.kernels.load[args.in[0].view.format]),
        reduce_(args.kernels.reduce_f32[smallest ? simd::kReduceAmin : simd::kReduceAmax]) {}

  void Run() {
    if (n_ > 1 && args_.op.axis + 1 != args_.rank) return RunColumns();
    ForEachLine(args_,
                [this](std::byte* to, const std::byte* from) { *reinterpret_cast<int32_t*>(to) = PlaceInLine(from); });
  }

 private:
  const float* Values(const std::byte* from, int64_t step, int64_t n) {
    if (args_.in[0].view.format == simd::kF32 && step == 1) return reinterpret_cast<const float*>(from);
    load_(values_.bytes, from, step, n);
    return values_.floats();
  }

  int32_t PlaceInLine(const std::byte* from) {
    float held = 0;
    int64_t place = 0;
    for (int64_t first = 0; first < n_; first += kChunk) {
      const int64_t part = std::min(kChunk, n_ - first);
      const float* values = Values(from + first * step_ * bytes_, step_, part);
      const float best = reduce_(values, part);
      const bool better = std::isnan(best) ? !std::isnan(held) : (smallest_ ? best < held : best > held);
      if (first != 0 && !better) continue;
      held = best;
      place = first + args_.kernels.first_same(values, part, best);
    }
    return static_cast<int32_t>(place);
  }

  void RunColumns() {
    ForEachColumnBlock(args_,
                       [this](std::byte* to, const std::byte* from, int64_t columns) { RunBlock(to, from, columns); });
  }

  void RunBlock(std::byte* to, const std::byte* from, int64_t columns) {
    const int64_t column_step = columns == 1 ? 1 : args_.in[0].view.strides[args_.rank - 1];
    const auto improve = args_.kernels.improve_extremes[smallest_ ? 1 : 0];
    const float* values = Values(from, column_step, columns);
    std::copy_n(values, columns, held_.floats());
    std::fill_n(places_.integers(), columns, 0);
    for (int64_t row = 1; row < n_; ++row) {
      values = Values(from + row * step_ * bytes_, column_step, columns);
      improve(held_.floats(), places_.integers(), values, static_cast<int32_t>(row), columns);
    }
    args_.kernels.store[simd::kI32](to, args_.out.view.strides[args_.rank - 1], places_.bytes, columns);
  }

  const WholeArgs& args_;
  const bool smallest_;
  const int64_t n_;
  const int64_t step_;
  const int64_t bytes_;
  const simd::LoadFunction load_;
  float (*const reduce_)(const float* data, int64_t n);
  ChunkBuffer values_;
  ChunkBuffer held_;
  ChunkBuffer places_;
};

}  // namespace

void RunArgMax(const WholeArgs& args) { FirstExtreme(args, false).Run(); }
void RunArgMin(const WholeArgs& args) { FirstExtreme(args, true).Run(); }

}  // namespace pypto::device
