// Copies past the caches. A function for an instruction set has it as its own attribute and internal linkage, and calls
// nothing but intrinsics: no code of it can become the copy that other processors run.
#include "pypto/base/bulk_copy.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pypto::base {
namespace {

using CopyFunction = void (*)(std::byte* to, const std::byte* from, size_t bytes);

constexpr size_t kLine = 64;
constexpr size_t kBlock = 4 * kLine;
constexpr size_t kLeastStreaming = size_t{2} << 20;
constexpr size_t kUnknownCache = size_t{32} << 20;

#if defined(__x86_64__)
// Lines are asked for this far ahead; the processor's own look-ahead ends at each page.
constexpr size_t kAhead = 2048;

// `to` is aligned to lines, `bytes` a multiple of kBlock.
[[gnu::target("avx2")]] void StreamAvx2(std::byte* to, const std::byte* from, size_t bytes) {
  for (const std::byte* const end = from + bytes; from != end; from += kBlock, to += kBlock) {
    const auto* in = reinterpret_cast<const __m256i*>(from);
    auto* out = reinterpret_cast<__m256i*>(to);
    for (size_t line = 0; line < 4; ++line) _mm_prefetch(from + kAhead + line * kLine, _MM_HINT_NTA);
    for (size_t half = 0; half < 8; half += 4) {
      const __m256i a = _mm256_loadu_si256(in + half);
      const __m256i b = _mm256_loadu_si256(in + half + 1);
      const __m256i c = _mm256_loadu_si256(in + half + 2);
      const __m256i d = _mm256_loadu_si256(in + half + 3);
      _mm256_stream_si256(out + half, a);
      _mm256_stream_si256(out + half + 1, b);
      _mm256_stream_si256(out + half + 2, c);
      _mm256_stream_si256(out + half + 3, d);
    }
  }
  _mm_sfence();
}

[[gnu::target("avx512f")]] void StreamAvx512(std::byte* to, const std::byte* from, size_t bytes) {
  for (const std::byte* const end = from + bytes; from != end; from += kBlock, to += kBlock) {
    auto* out = reinterpret_cast<__m512i*>(to);
    for (size_t line = 0; line < 4; ++line) _mm_prefetch(from + kAhead + line * kLine, _MM_HINT_NTA);
    const __m512i a = _mm512_loadu_si512(from);
    const __m512i b = _mm512_loadu_si512(from + kLine);
    const __m512i c = _mm512_loadu_si512(from + 2 * kLine);
    const __m512i d = _mm512_loadu_si512(from + 3 * kLine);
    _mm512_stream_si512(out, a);
    _mm512_stream_si512(out + 1, b);
    _mm512_stream_si512(out + 2, c);
    _mm512_stream_si512(out + 3, d);
  }
  _mm_sfence();
}
#endif

CopyFunction FunctionOf([[maybe_unused]] CopyWay way) noexcept {
#if defined(__x86_64__)
  if (way == CopyWay::kAvx2) return StreamAvx2;
  if (way == CopyWay::kAvx512) return StreamAvx512;
#endif
  return nullptr;
}

// The whole of it: up to a line of the target and behind the last block the library copies.
void Stream(CopyFunction stream, void* to, const void* from, size_t bytes) noexcept {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const size_t head = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(out) % kLine) % kLine);
  const size_t body = (bytes - head) / kBlock * kBlock;
  std::memcpy(out, in, head);
  if (body > 0) stream(out + head, in + head, body);
  std::memcpy(out + head + body, in + head + body, bytes - head - body);
}

CopyWay BestWay() noexcept {
  if (CopyWayRuns(CopyWay::kAvx512)) return CopyWay::kAvx512;
  return CopyWayRuns(CopyWay::kAvx2) ? CopyWay::kAvx2 : CopyWay::kLibrary;
}

size_t LastLevelCacheBytes() noexcept {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return static_cast<size_t>(bytes);
#endif
  return kUnknownCache;
}

struct Choice {
  CopyWay way = BestWay();
  CopyFunction stream = FunctionOf(way);
  size_t from_bytes = stream == nullptr ? SIZE_MAX : std::max(kLeastStreaming, LastLevelCacheBytes() / 16 * 3);
};

const Choice& TheChoice() noexcept {
  static const Choice choice;
  return choice;
}

}  // namespace

bool CopyWayRuns(CopyWay way) noexcept {
  if (way == CopyWay::kLibrary) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (way == CopyWay::kAvx2) return __builtin_cpu_supports("avx2") != 0;
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

void CopyBy(CopyWay way, void* to, const void* from, size_t bytes) noexcept {
  const CopyFunction stream = FunctionOf(way);
  if (stream == nullptr) {
    std::memcpy(to, from, bytes);
  } else {
    Stream(stream, to, from, bytes);
  }
}

size_t StreamingCopyBytes() noexcept { return TheChoice().from_bytes; }

CopyWay WayForBytes(size_t bytes) noexcept {
  const bool small = bytes < kLeastStreaming || bytes < TheChoice().from_bytes;
  return small ? CopyWay::kLibrary : TheChoice().way;
}

bool RangesOverlap(const void* a, const void* b, size_t bytes) noexcept {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return first - second < bytes || second - first < bytes;
}

void BulkCopy(void* to, const void* from, size_t bytes) noexcept {
  const CopyWay way = WayForBytes(bytes);
  if (way == CopyWay::kLibrary || RangesOverlap(to, from, bytes)) {
    std::memmove(to, from, bytes);
  } else {
    CopyBy(way, to, from, bytes);
  }
}

}  // namespace pypto::base
