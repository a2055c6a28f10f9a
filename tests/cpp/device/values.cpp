// Scalar conversions written independently of the kernels.
#include "device/values.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace pypto::device::testing {
namespace {

struct FloatFormat {
  int digits;  // of the significand, the implicit one included
  int min_exponent;
  double largest;
};

FloatFormat FormatOfFloat(DType dtype) {
  if (dtype == DType::kFp16) return {11, -14, 65504.0};
  if (dtype == DType::kBf16) return {8, -126, 0x1.fep127};
  return {24, -126, 0x1.fffffep127};
}

// Half to even on the grid of the format.
double RoundToFormat(double value, const FloatFormat& format) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const double unit = std::ldexp(1.0, exponent - format.digits + 1);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) > format.largest ? std::copysign(HUGE_VAL, value) : rounded;
}

int64_t Wrap(double value, int bits, bool is_signed) {
  const double modulus = std::ldexp(1.0, bits);
  double rest = std::fmod(value, modulus);
  if (rest < 0) rest += modulus;
  auto whole = static_cast<int64_t>(rest);
  if (is_signed && whole >= (int64_t{1} << (bits - 1))) whole -= int64_t{1} << bits;
  return whole;
}

uint16_t HalfBits(double value, DType dtype) {
  const auto wide = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (dtype == DType::kBf16) return static_cast<uint16_t>(std::isnan(value) ? 0x7fc0 : wide >> 16);
  const auto sign = static_cast<uint16_t>(wide >> 16 & 0x8000);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto significand = static_cast<uint32_t>(std::ldexp(magnitude, 10 - exponent));
  return static_cast<uint16_t>(
      sign | (significand < 1024 ? significand : static_cast<uint32_t>(exponent + 14) * 1024 + significand));
}

double HalfValue(uint16_t bits, DType dtype) {
  if (dtype == DType::kBf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int significand = bits & 1023;
  if (exponent == 31) return significand != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(significand, -24) : std::ldexp(1024 + significand, exponent - 25));
}

template <typename T>
void Put(std::byte* to, double value) {
  const auto typed = static_cast<T>(value);
  std::memcpy(to, &typed, sizeof(T));
}
template <typename T>
double Get(const std::byte* from) {
  T typed;
  std::memcpy(&typed, from, sizeof(T));
  return static_cast<double>(typed);
}

}  // namespace

double RoundTo(DType dtype, double value) {
  switch (dtype) {
    case DType::kFp32: return RoundToFormat(value, FormatOfFloat(dtype));
    case DType::kFp16:
    case DType::kBf16: return RoundToFormat(RoundToFormat(value, FormatOfFloat(DType::kFp32)), FormatOfFloat(dtype));
    case DType::kBool: return value != 0 ? 1 : 0;
    case DType::kInt8: return static_cast<double>(Wrap(value, 8, true));
    default: return static_cast<double>(Wrap(value, 32, true));
  }
}

double UlpOf(DType dtype, double value) {
  const FloatFormat format = FormatOfFloat(dtype);
  const int exponent = value == 0 ? format.min_exponent : std::max(std::ilogb(value), format.min_exponent);
  return std::ldexp(1.0, exponent - format.digits + 1);
}

std::vector<std::byte> Encode(DType dtype, const std::vector<double>& values) {
  const size_t bytes = program::BytesOf(dtype);
  std::vector<std::byte> out(values.size() * bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte* to = out.data() + i * bytes;
    switch (dtype) {
      case DType::kFp32: Put<float>(to, values[i]); break;
      case DType::kInt32: Put<int32_t>(to, values[i]); break;
      case DType::kInt8: Put<int8_t>(to, values[i]); break;
      case DType::kBool: Put<uint8_t>(to, values[i]); break;
      default: Put<uint16_t>(to, HalfBits(values[i], dtype)); break;
    }
  }
  return out;
}

std::vector<double> Decode(DType dtype, const std::byte* bytes, size_t count) {
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* from = bytes + i * program::BytesOf(dtype);
    switch (dtype) {
      case DType::kFp32: out[i] = Get<float>(from); break;
      case DType::kInt32: out[i] = Get<int32_t>(from); break;
      case DType::kInt8: out[i] = Get<int8_t>(from); break;
      case DType::kBool: out[i] = Get<uint8_t>(from); break;
      default: out[i] = HalfValue(static_cast<uint16_t>(Get<uint16_t>(from)), dtype); break;
    }
  }
  return out;
}

std::vector<double> RandomValues(DType dtype, size_t count, double low, double high, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> spread(low, high);
  std::vector<double> out(count);
  for (double& value : out) {
    value = spread(random);
    if (!program::IsFloat(dtype)) value = std::floor(value);
    value = RoundTo(dtype, value);
  }
  return out;
}

}  // namespace pypto::device::testing
