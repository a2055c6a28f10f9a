// What the tests of kernel tables share.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "pypto/device/simd/select.h"

namespace pypto::device::simd {

// The sets that this processor runs.
inline std::vector<const KernelTable*> Tables() {
  std::vector<const KernelTable*> tables;
  for (const char* name : {"plain", "avx2", "avx512", "avx512_bf16"}) {
    const Selection selection = SelectKernels(name);
    if (selection.table != nullptr) tables.push_back(selection.table);
  }
  return tables;
}

// A kernel over one row of FP32 or INT32; `y` of one element is the same for all.
template <typename T>
std::vector<T> Apply(const KernelTable& table, ElementwiseKernel kernel, const std::vector<T>& x,
                     const std::vector<T>& y = {}) {
  std::vector<T> out(x.size());
  RowArgs args{};
  args.rows = 1;
  args.n = static_cast<int64_t>(x.size());
  args.out = out.data();
  args.a = x.data();
  args.a_step = 1;
  args.b = y.data();
  args.b_step = y.size() == 1 ? 0 : 1;
  table.rows[std::is_same_v<T, float> ? kKindF32 : kKindI32][kernel](&args);
  return out;
}

}  // namespace pypto::device::simd
