// SHA-256 against the examples of FIPS 180-4 and against itself in pieces.
#include "pypto/base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pypto::base {
namespace {

std::string Hex(const std::string& text) {
  return DigestHex(HashBytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameDigest) {
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  Sha256 hash;
  for (size_t at = 0, step = 1; at < bytes.size(); at += step++) {
    hash.Update(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
  }
  EXPECT_EQ(hash.Finish(), HashBytes(bytes));
}

}  // namespace
}  // namespace pypto::base
