// SHA-256 (FIPS 180-4): content fingerprints and file checksums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "pypto/base/export.h"

namespace pypto::base {

using Digest = std::array<uint8_t, 32>;

// Incremental hash. Thread rule: one thread at a time.
class PYPTO_API Sha256 {
 public:
  Sha256() noexcept;
  void Update(std::span<const uint8_t> bytes) noexcept;
  Digest Finish() noexcept;

 private:
  void Block(const uint8_t* block) noexcept;
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> buffer_;
  uint64_t length_ = 0;
};

PYPTO_API Digest HashBytes(std::span<const uint8_t> bytes) noexcept;
PYPTO_API std::string DigestHex(const Digest& digest);

}  // namespace pypto::base
