// Little-endian byte strings: a writer, and a reader that checks every bound. Private to the program library.
//
// Both offer the same calls, so that one function per record describes its layout for both directions.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pypto::program {

static_assert(std::endian::native == std::endian::little, "the file format is the layout in memory");

// Appends to a byte string. Thread rule: a value.
class ByteWriter {
 public:
  static constexpr bool kReading = false;

  // Leaves out what is not part of a program's identity.
  explicit ByteWriter(bool identity_only = false) : identity_only_(identity_only) {}

  template <typename T>
    requires(std::integral<T> || std::floating_point<T>)
  void Number(const T& value) {
    static_assert(!std::same_as<T, bool>);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  void Bool(const bool& value) { Number<uint8_t>(value ? 1 : 0); }
  template <typename E>
  void Enum(const E& value, E) {
    Number(static_cast<std::underlying_type_t<E>>(value));
  }
  void Text(const std::string& value) {
    Number(static_cast<uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  template <typename T, typename Each>
  void List(const std::vector<T>& values, Each each) {
    Number(static_cast<uint32_t>(values.size()));
    for (const T& value : values) each(value);
  }
  // Source place of an item, and a text with line numbers.
  void Place(const uint32_t& place) { Number<uint32_t>(identity_only_ ? 0 : place); }
  void DebugText(const std::string& value) { Text(identity_only_ ? std::string() : value); }
  bool Enter() { return true; }
  void Leave() {}
  bool ok() const { return true; }

  void Append(std::span<const uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void PadTo(size_t alignment) { bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment); }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t> Take() && { return std::move(bytes_); }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  bool identity_only_;
};

// Reads a byte string from its start. The first thing that does not fit stops it: later reads give zeros, `ok` is false
// and `error` says what and where. Memory taken is bounded by the bytes there are, whatever counts they claim.
// Thread rule: a value.
class ByteReader {
 public:
  static constexpr bool kReading = true;

  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
    requires(std::integral<T> || std::floating_point<T>)
  void Number(T& value) {
    static_assert(!std::same_as<T, bool>);
    value = T{};
    if (!Need(sizeof(T))) return;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
  }
  void Bool(bool& value) {
    uint8_t byte = 0;
    Number(byte);
    if (byte > 1) Fail("a flag is neither 0 nor 1");
    value = byte == 1;
  }
  // Values above `last` are refused.
  template <typename E>
  void Enum(E& value, E last) {
    std::underlying_type_t<E> number{};
    Number(number);
    if (number > static_cast<std::underlying_type_t<E>>(last)) Fail("an enumerator is unknown");
    value = ok() ? static_cast<E>(number) : E{};
  }
  void Text(std::string& value) {
    value.clear();
    const uint32_t count = Count();
    if (!ok()) return;
    value.assign(reinterpret_cast<const char*>(bytes_.data() + at_), count);
    at_ += count;
  }
  template <typename T, typename Each>
  void List(std::vector<T>& values, Each each) {
    values.clear();
    const uint32_t count = Count();
    for (uint32_t i = 0; i < count && ok(); ++i) each(values.emplace_back());
  }
  void Place(uint32_t& place) { Number(place); }
  void DebugText(std::string& value) { Text(value); }
  // Nested records; false when they are nested too deep.
  bool Enter() {
    if (++depth_ > kMaxDepth) Fail("records are nested too deep");
    return ok();
  }
  void Leave() { --depth_; }

  bool ok() const { return error_ == nullptr; }
  bool at_end() const { return at_ == bytes_.size(); }
  size_t position() const { return at_; }
  const char* error() const { return error_; }
  void Fail(const char* why) {
    if (error_ == nullptr) error_ = why;
  }

 private:
  static constexpr int kMaxDepth = 64;

  bool Need(size_t count) {
    if (ok() && bytes_.size() - at_ < count) Fail("the bytes end early");
    return ok();
  }
  // A number of items; every item takes at least one byte.
  uint32_t Count() {
    uint32_t count = 0;
    Number(count);
    return Need(count) ? count : 0;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  const char* error_ = nullptr;
};

// T, const for an archive that writes.
template <typename Archive, typename T>
using Coded = std::conditional_t<Archive::kReading, T, const T>;

}  // namespace pypto::program
