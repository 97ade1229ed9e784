// Reads little-endian values from a span front to back. It never reads past the end: what is cut off is an input Error
// that says what was being read, where, and how many bytes it wanted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "rafter/base/error.h"

namespace rafter {

static_assert(std::endian::native == std::endian::little, "file readers copy little-endian values as they are");

// What is being read, for the error: "the length of key" and a name, which may be empty.
struct Reading {
  std::string_view part;
  std::string_view of = {};
};

class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, const std::string& path, size_t position = 0)
      : bytes_(bytes), path_(path), position_(position) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  template <typename T>
  T take(const Reading& what) {
    require(sizeof(T), what);
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // A 64-bit length, then that many bytes. The view points into the file.
  std::string_view take_text(const Reading& what) {
    const auto length = take<uint64_t>(what);
    require(length, what);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + position_, static_cast<size_t>(length));
    position_ += text.size();
    return text;
  }

  void skip(uint64_t count, const Reading& what) {
    require(count, what);
    position_ += static_cast<size_t>(count);
  }

  // `count` things of at least `each` bytes follow.
  void require_each(uint64_t count, uint64_t each, const Reading& what) const {
    if (count > remaining() / each) fail(fmt::format("{} of at least {} bytes each", count, each), what);
  }

 private:
  void require(uint64_t count, const Reading& what) const {
    if (count > remaining()) fail(fmt::format("{} bytes", count), what);
  }

  [[noreturn]] void fail(const std::string& wanted, const Reading& what) const {
    const std::string name = what.of.empty() ? "" : " " + in_quotes(what.of, 80);
    throw input_error({fmt::format("{}: {}{} at byte {}", in_quotes(path_), what.part, name, position_),
                       fmt::format("cut off: it takes {}, and {} are left", wanted, remaining()), "a whole file",
                       "download it again"});
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  size_t position_;
};

}  // namespace rafter
