// What every target shares: bad input may end in an input Error and in nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "rafter/base/error.h"

namespace rafter::fuzz {

// Any other exception, and a fault that is not the input's, is a finding.
template <typename Call>
void expect_only_input_errors(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.fault() == Fault::input) return;
    std::fprintf(stderr, "not an input error: %s\n", error.what());
    std::abort();
  }
}

inline std::span<const std::byte> as_bytes(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

inline std::string_view as_text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Reads the first and the last byte of a tensor: its claim to lie inside the file is put to the sanitizer.
inline uint8_t touch(const std::byte* data, int64_t bytes) { return static_cast<uint8_t>(data[0] ^ data[bytes - 1]); }

}  // namespace rafter::fuzz
