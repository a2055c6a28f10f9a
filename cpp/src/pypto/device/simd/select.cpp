// Kernel tables by name and by what the processor supports.
#include "pypto/device/simd/select.h"

#include "pypto/base/environment.h"

namespace pypto::device::simd {

namespace plain {
extern const KernelTable kTable;
}
#if defined(__x86_64__)
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
namespace avx512_bf16 {
extern const KernelTable kTable;
}
#endif

namespace {

#if defined(__x86_64__)
bool SupportsAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("f16c");
}
bool SupportsAvx512() {
  return SupportsAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool SupportsAvx512Bf16() {
  return SupportsAvx512() && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
}
constexpr std::string_view kKnown = "plain, avx2, avx512, avx512_bf16";
#elif defined(__aarch64__)
constexpr std::string_view kKnown = "plain, neon";
#else
constexpr std::string_view kKnown = "plain";
#endif

Selection Refuse(std::string_view name, std::string_view reason) {
  return {nullptr, "PYPTO_SIMD=" + std::string(name) + " " + std::string(reason) + "; unset it, or choose one of " +
                       std::string(kKnown)};
}

}  // namespace

Selection SelectKernels(std::string_view name) {
  if (name == "plain") return {&plain::kTable, {}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (name == "avx2") {
    return SupportsAvx2() ? Selection{&avx2::kTable, {}} : Refuse(name, "is not supported by this processor");
  }
  if (name == "avx512") {
    return SupportsAvx512() ? Selection{&avx512::kTable, {}} : Refuse(name, "is not supported by this processor");
  }
  if (name == "avx512_bf16") {
    return SupportsAvx512Bf16() ? Selection{&avx512_bf16::kTable, {}}
                                : Refuse(name, "is not supported by this processor");
  }
  if (name.empty()) {
    if (SupportsAvx512Bf16()) return {&avx512_bf16::kTable, {}};
    return {SupportsAvx512() ? &avx512::kTable : SupportsAvx2() ? &avx2::kTable : &plain::kTable, {}};
  }
#else
  if (name.empty()) return {&plain::kTable, {}};
#endif
#if defined(__aarch64__)
  if (name == "neon") return {&plain::kTable, {}};
#endif
  return Refuse(name, "names no set of kernels");
}

const Selection& ActiveKernels() {
  static const Selection selection = SelectKernels(base::GetEnvironment("PYPTO_SIMD").value_or(""));
  return selection;
}

}  // namespace pypto::device::simd
