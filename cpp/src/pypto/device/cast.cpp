// Conversions between dtypes. Floats become integers modulo the width of the dtype, or are clamped to it; clamped too
// are floats of 16 and 8 bits, if asked for.
#include <bit>
#include <cmath>

#include "pypto/device/chunk.h"
#include "pypto/device/formats.h"
#include "pypto/device/vector_ops.h"

namespace pypto::device {
namespace {

using simd::Format;
using simd::KernelTable;

// Modes of the program.
enum CastMode : uint8_t { kNone, kRint, kRound, kFloor, kCeil, kTrunc, kOdd };

float Magnitude(float x) { return std::fabs(x); }

// The neighbour of a value of the half format, one step away from or toward zero; infinity and the largest value are
// neighbours.
float Neighbour(Format half, float x, bool away) {
  const bool subnormal = half == simd::kF16 && (away ? Magnitude(x) < 0x1p-14F : Magnitude(x) <= 0x1p-14F);
  if (subnormal) return std::copysign(Magnitude(x) + (away ? 0x1p-24F : -0x1p-24F), x);
  if (half == simd::kF16 && away && Magnitude(x) >= 65504.0F) return std::copysign(INFINITY, x);
  if (half == simd::kF16 && !away && std::isinf(x)) return std::copysign(65504.0F, x);
  const uint32_t step = half == simd::kF16 ? 0x2000U : 0x10000U;
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>(away ? bits + step : bits - step);
}

bool IsOdd(Format half, float x) {
  if (half == simd::kF16 && Magnitude(x) < 0x1p-14F) return std::fmod(Magnitude(x) * 0x1p24F, 2.0F) == 1.0F;
  return (std::bit_cast<uint32_t>(x) & (half == simd::kF16 ? 0x2000U : 0x10000U)) != 0;
}

// x in the half format, given the nearest value there.
float Directed(Format half, uint8_t mode, float x, float nearest) {
  if (nearest == x || std::isnan(x)) return nearest;
  const float inner = Magnitude(nearest) > Magnitude(x) ? Neighbour(half, nearest, false) : nearest;
  const float outer = Neighbour(half, inner, true);
  switch (mode) {
    case kFloor: return x < 0 ? outer : inner;
    case kCeil: return x < 0 ? inner : outer;
    case kTrunc: return inner;
    case kOdd: return IsOdd(half, inner) ? inner : outer;
    default: {
      if (std::isinf(outer)) return nearest;  // which overflows from the same value on
      const double gap = static_cast<double>(Magnitude(x)) - static_cast<double>(Magnitude(inner));
      return gap >= static_cast<double>(Magnitude(outer)) - static_cast<double>(Magnitude(x)) ? outer : inner;
    }
  }
}

void RoundDirected(const KernelTable& kernels, Format half, uint8_t mode, float* data, int64_t n) {
  ChunkBuffer nearest;
  for (int64_t i = 0; i < n; ++i) nearest.floats()[i] = data[i];
  kernels.fit[half](nearest.bytes, n);
  for (int64_t i = 0; i < n; ++i) data[i] = Directed(half, mode, data[i], nearest.floats()[i]);
}

bool HasDirections(Format format) {
  return format == simd::kF16 || format == simd::kBf16 || (IsSmallFloat(format) && format != simd::kHf8);
}

// Values of all codes of a format of 8 bits. Without the sign a larger code is a larger value.
struct CodeValues {
  float of[256];
  CodeValues(const KernelTable& kernels, Format format) {
    uint8_t codes[256];
    for (int code = 0; code < 256; ++code) codes[code] = static_cast<uint8_t>(code);
    kernels.load[format](of, codes, 1, 256);
  }
};

// x in a format of 8 bits, given the code nearest to it. What is too large becomes the
// largest value or infinity as the mode says.
float DirectedSmall(const CodeValues& values, Format format, uint8_t mode, float x, uint8_t code) {
  const float nearest = values.of[code];
  const bool unsign = format == simd::kE8m0;
  if (unsign) x = Magnitude(x);
  if (nearest == x || !std::isfinite(x)) return nearest;
  const bool above = !std::isfinite(nearest) || Magnitude(nearest) > Magnitude(x);
  if (above && (code & 0x7fU) == 0 && (!unsign || code == 0)) return nearest;  // below the least power
  const auto inner = static_cast<uint8_t>(above ? code - 1 : code);
  const float low = values.of[inner];
  const float next = values.of[static_cast<uint8_t>(inner + 1)];
  const float high = std::isnan(next) && !unsign ? low : next;
  switch (mode) {
    case kFloor: return x < 0 ? high : low;
    case kCeil: return x < 0 ? low : high;
    case kTrunc: return low;
    case kOdd: return unsign ? nearest : (inner & 1U) != 0 ? low : high;
    default: {
      if (!std::isfinite(high)) return nearest;
      const double gap = static_cast<double>(Magnitude(x)) - static_cast<double>(Magnitude(low));
      return gap >= static_cast<double>(Magnitude(high)) - static_cast<double>(Magnitude(x)) ? high : low;
    }
  }
}

void RoundDirectedSmall(const KernelTable& kernels, Format format, uint8_t mode, float* data, int64_t n) {
  const CodeValues values(kernels, format);
  ChunkBuffer codes;
  kernels.store[format](codes.bytes, 1, data, n);
  for (int64_t i = 0; i < n; ++i) {
    data[i] = DirectedSmall(values, format, mode, data[i], std::to_integer<uint8_t>(codes.bytes[i]));
  }
}

// Toward zero, modulo 2^64; NaN and infinities give 0.
int64_t TruncatedModulo(float x) {
  if (!std::isfinite(x)) return 0;
  if (Magnitude(x) < 0x1p63F) return static_cast<int64_t>(x);
  int exponent = 0;
  const auto significand = static_cast<uint64_t>(std::ldexp(std::frexp(Magnitude(x), &exponent), 24));
  const int shift = exponent - 24;
  const uint64_t bits = shift > 63 ? 0 : significand << shift;
  return static_cast<int64_t>(x < 0 ? 0 - bits : bits);
}

int64_t Saturated(Format to, float x) {
  if (std::isnan(x)) return 0;
  const IntegerRange range = RangeOf(to);
  if (to == simd::kU64 && x >= 0x1p63F) {
    return x >= 0x1p64F ? -1 : static_cast<int64_t>(static_cast<uint64_t>(x));
  }
  if (x >= 0x1p63F) return range.high;
  if (x < -0x1p63F) return range.low;
  return std::clamp(static_cast<int64_t>(x), range.low, range.high);
}

// One cast; lives for one call of RunCast.
class Caster {
 public:
  Caster(const OpProgram& op, const KernelTable& kernels, Format from)
      : op_(op), kernels_(kernels), from_(KindOf(from)), to_(KindOf(op.result)), unsigned_(from == simd::kU64) {}

  // Converts n elements of the kind of the source in place to the kind of the result.
  void Convert(ChunkBuffer& data, int64_t n) const {
    if (op_.to_bool) return ToFlags(data, n);
    if (from_ == simd::kKindF32) return FromFloat(data, n);
    if (to_ == simd::kKindF32) return ToFloat(data, n);
    FromInteger(data, n);
  }

  // Nothing is done between load and store.
  bool Keeps() const {
    return from_ == simd::kKindF32 && to_ == simd::kKindF32 && !op_.to_bool && !op_.rounds && !op_.saturate &&
           !Directs();
  }

 private:
  bool Directs() const { return HasDirections(op_.result) && op_.input != op_.result && op_.cast_mode > kRint; }

  void ToFlags(ChunkBuffer& data, int64_t n) const {
    if (from_ == simd::kKindF32) return kernels_.f32_to_flag(data.integers(), data.floats(), n);
    for (int64_t i = 0; i < n && from_ == simd::kKindI64; ++i) data.integers()[i] = data.wide()[i] != 0 ? 1 : 0;
  }

  void FromFloat(ChunkBuffer& data, int64_t n) const {
    if (op_.rounds) kernels_.round_f32[op_.round](data.bytes, n);
    if (to_ == simd::kKindF32) {
      if (op_.saturate) ClampFloats(data.floats(), n);
      if (!Directs()) return;
      const auto round = IsSmallFloat(op_.result) ? RoundDirectedSmall : RoundDirected;
      return round(kernels_, op_.result, op_.cast_mode, data.floats(), n);
    }
    if (to_ == simd::kKindI64) {
      // From the end, because elements grow.
      for (int64_t i = n; i-- > 0;) {
        const float x = data.floats()[i];
        data.wide()[i] = op_.saturate ? Saturated(op_.result, x) : TruncatedModulo(x);
      }
      return;
    }
    if (!op_.saturate) return kernels_.f32_to_i32(data.integers(), data.floats(), n);
    const IntegerRange range = RangeOf(op_.result);
    kernels_.f32_to_i32_saturated(data.integers(), data.floats(), n, static_cast<int32_t>(range.low),
                                  static_cast<int32_t>(range.high));
  }

  void ToFloat(ChunkBuffer& data, int64_t n) const {
    if (from_ == simd::kKindI32) {
      kernels_.i32_to_f32(data.floats(), data.integers(), n);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t x = data.wide()[i];
        data.floats()[i] = unsigned_ ? static_cast<float>(static_cast<uint64_t>(x)) : static_cast<float>(x);
      }
    }
    if (op_.saturate) ClampFloats(data.floats(), n);
  }

  // NaN stays.
  void ClampFloats(float* data, int64_t n) const {
    const float limit = LargestFinite(op_.result);
    for (int64_t i = 0; i < n; ++i) data[i] = Magnitude(data[i]) > limit ? std::copysign(limit, data[i]) : data[i];
  }

  void FromInteger(ChunkBuffer& data, int64_t n) const {
    const IntegerRange range = RangeOf(op_.result);
    const auto clamped = [&](int64_t x) {
      if (!op_.saturate) return x;
      if (unsigned_ && x < 0) return op_.result == simd::kU64 ? x : range.high;
      return std::clamp(x, range.low, range.high);
    };
    if (from_ == simd::kKindI32 && to_ == simd::kKindI32) {
      for (int64_t i = 0; i < n && op_.saturate; ++i) {
        data.integers()[i] = static_cast<int32_t>(clamped(data.integers()[i]));
      }
    } else if (from_ == simd::kKindI32) {
      for (int64_t i = n; i-- > 0;) data.wide()[i] = clamped(data.integers()[i]);
    } else if (to_ == simd::kKindI64) {
      for (int64_t i = 0; i < n; ++i) data.wide()[i] = clamped(data.wide()[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) data.integers()[i] = static_cast<int32_t>(clamped(data.wide()[i]));
    }
  }

  const OpProgram& op_;
  const KernelTable& kernels_;
  const simd::Kind from_;
  const simd::Kind to_;
  const bool unsigned_;
};

// Calls body(output, input, n) for whole rows of the innermost dim.
template <typename Body>
void ForEachRow(const Nest& nest, const Body& body) {
  const int64_t n = nest.counts[nest.rank - 1];
  nest.ForEachOuter(1, [&](const std::array<std::byte*, Nest::kMostOperands>& at) { body(at[0], at[1], n); });
}

}  // namespace

void RunCast(const OpProgram& op, const KernelTable& kernels, int rank, const int64_t* cells,
             const OperandView* views) {
  Nest nest;
  if (!nest.Make(rank, cells, -1, views, 2)) return;
  const Caster caster(op, kernels, op.input);
  if (caster.Keeps() && InnerStep(nest, 0) == 1 && InnerStep(nest, 1) == 1) {
    const bool fits = kernels.fit[op.result] == nullptr;
    if (views[1].format == simd::kF32 && (!IsWide(views[0].format) || fits)) {
      return ForEachRow(nest, [&](std::byte* to, const std::byte* from, int64_t n) {
        kernels.store[views[0].format](to, 1, from, n);
      });
    }
    if (views[0].format == simd::kF32 && fits) {
      return ForEachRow(nest, [&](std::byte* to, const std::byte* from, int64_t n) {
        kernels.load[views[1].format](to, from, 1, n);
      });
    }
  }
  ChunkBuffer buffer;
  ForEachChunk(nest, [&](const std::array<std::byte*, Nest::kMostOperands>& at, int64_t n) {
    kernels.load[views[1].format](buffer.bytes, at[1], InnerStep(nest, 1), n);
    caster.Convert(buffer, n);
    FinishChunk(kernels, op.result, views[0].format, at[0], InnerStep(nest, 0), buffer.bytes, n);
  });
}

}  // namespace pypto::device
