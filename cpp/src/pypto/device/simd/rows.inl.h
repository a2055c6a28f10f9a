// Copies of long rows.
#pragma once

#include "pypto/device/simd/vector.inl.h"

namespace pypto::device::simd::PYPTO_SIMD_SET {
namespace {

typedef uint8_t VecB __attribute__((vector_size(PYPTO_SIMD_BYTES)));
typedef uint8_t VecBMemory __attribute__((vector_size(PYPTO_SIMD_BYTES), aligned(1), may_alias));

// Past the caches; `to` is aligned to a vector.
PYPTO_SIMD_INLINE void StoreStreamed(uint8_t* to, VecB value) {
#if defined(__AVX512F__)
  typedef long long Wide __attribute__((vector_size(64)));
  __builtin_ia32_movntdq512(reinterpret_cast<Wide*>(to), reinterpret_cast<Wide>(value));
#elif defined(__AVX2__)
  typedef long long Wide __attribute__((vector_size(32)));
  __builtin_ia32_movntdq256(reinterpret_cast<Wide*>(to), reinterpret_cast<Wide>(value));
#else
  *reinterpret_cast<VecBMemory*>(to) = value;
#endif
}

PYPTO_SIMD_INLINE VecB LoadBytes(const uint8_t* from) { return *reinterpret_cast<const VecBMemory*>(from); }

// What comes after a row, that processors do not foresee.
struct NextRow {
  uint8_t* to;
  const uint8_t* from;
};

// Asks for bytes [at, at + bytes) of the next row, and for the place it goes to unless stores go past the caches.
PYPTO_SIMD_INLINE void AskForRow(const NextRow& next, int64_t at, int64_t bytes, bool streamed) {
  for (int64_t line = at; line < at + bytes; line += 64) {
    __builtin_prefetch(next.from + line, 0, 2);
    if (!streamed) __builtin_prefetch(next.to + line, 1, 2);
  }
}

// Whole vectors up to a last one that may overlap the one before: short copies have a loop of their own.
template <bool kAsks>
PYPTO_SIMD_INLINE void CopyRow(uint8_t* to, const uint8_t* from, int64_t bytes, bool streamed, NextRow next) {
  constexpr int64_t kWidth = PYPTO_SIMD_BYTES;
  if (bytes < kWidth) {
    __builtin_memcpy(to, from, static_cast<uint64_t>(bytes));
    return;
  }
  int64_t at = 0;
  if (streamed) {
    const int64_t lead = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kWidth - 1);
    if (lead != 0) *reinterpret_cast<VecBMemory*>(to) = LoadBytes(from);
    for (at = lead; at + kWidth <= bytes; at += kWidth) {
      if constexpr (kAsks) AskForRow(next, at, kWidth, true);
      StoreStreamed(to + at, LoadBytes(from + at));
    }
  } else {
    for (; at + 4 * kWidth <= bytes; at += 4 * kWidth) {
      if constexpr (kAsks) AskForRow(next, at, 4 * kWidth, false);
      const VecB a = LoadBytes(from + at);
      const VecB b = LoadBytes(from + at + kWidth);
      const VecB c = LoadBytes(from + at + 2 * kWidth);
      const VecB d = LoadBytes(from + at + 3 * kWidth);
      *reinterpret_cast<VecBMemory*>(to + at) = a;
      *reinterpret_cast<VecBMemory*>(to + at + kWidth) = b;
      *reinterpret_cast<VecBMemory*>(to + at + 2 * kWidth) = c;
      *reinterpret_cast<VecBMemory*>(to + at + 3 * kWidth) = d;
    }
    for (; at + kWidth <= bytes; at += kWidth) {
      if constexpr (kAsks) AskForRow(next, at, kWidth, false);
      *reinterpret_cast<VecBMemory*>(to + at) = LoadBytes(from + at);
    }
  }
  if (at < bytes) *reinterpret_cast<VecBMemory*>(to + bytes - kWidth) = LoadBytes(from + bytes - kWidth);
}

PYPTO_SIMD_INLINE void CopyRow(uint8_t* to, const uint8_t* from, int64_t bytes, bool streamed) {
  CopyRow<false>(to, from, bytes, streamed, {nullptr, nullptr});
}

// What is asked for is some rows away if rows are short.
constexpr int64_t kAskedBytes = 2048;

void CopyRows(void* out, int64_t out_row, const void* source, int64_t source_row, int64_t rows, int64_t bytes,
              bool streamed, bool asks) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const uint8_t*>(source);
  if (asks) {
    const int64_t away = bytes < kAskedBytes ? (kAskedBytes + bytes - 1) / bytes : 1;
    for (int64_t row = 0; row < rows; ++row, to += out_row, from += source_row) {
      CopyRow<true>(to, from, bytes, streamed, {to + away * out_row, from + away * source_row});
    }
  } else {
    for (int64_t row = 0; row < rows; ++row) CopyRow(to + row * out_row, from + row * source_row, bytes, streamed);
  }
#if defined(__x86_64__)
  if (streamed) __builtin_ia32_sfence();
#endif
}

// What is asked for is some outer places away: those of one are read one after another.
constexpr int64_t kAskedPlaces = 4;

template <bool kAsks>
PYPTO_SIMD_INLINE void CopyPlaces(const RunGrid& grid) {
  auto* to = static_cast<uint8_t*>(grid.out);
  const auto* from = static_cast<const uint8_t*>(grid.source);
  const int64_t to_next = kAskedPlaces * grid.out_outer;
  const int64_t from_next = kAskedPlaces * grid.source_outer;
  for (int64_t place = 0; place < grid.outer; ++place, to += grid.out_outer, from += grid.source_outer) {
    for (int64_t run = 0; run < grid.inner; ++run) {
      uint8_t* out = to + run * grid.out_inner;
      const uint8_t* source = from + run * grid.source_inner;
      CopyRow<kAsks>(out, source, grid.bytes, grid.streamed, {out + to_next, source + from_next});
    }
  }
}

void CopyGrid(const RunGrid* grid) {
  grid->asks ? CopyPlaces<true>(*grid) : CopyPlaces<false>(*grid);
#if defined(__x86_64__)
  if (grid->streamed) __builtin_ia32_sfence();
#endif
}

}  // namespace
}  // namespace pypto::device::simd::PYPTO_SIMD_SET
