// Building files byte by byte, in little-endian order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rafter/base/random.h"

namespace rafter::test {

using Bytes = std::vector<std::byte>;

inline void append(Bytes& out, const void* data, size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  out.insert(out.end(), first, first + size);
}

template <typename T>
requires std::is_arithmetic_v<T>
void append(Bytes& out, T value) { append(out, &value, sizeof(T)); }

inline void append(Bytes& out, std::string_view text) { append(out, text.data(), text.size()); }
inline void append(Bytes& out, const Bytes& more) { append(out, more.data(), more.size()); }

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out;
  append(out, values.data(), values.size() * sizeof(T));
  return out;
}

// `count` values drawn evenly from [-scale, scale), as f32.
inline Bytes random_f32(uint64_t seed, int64_t count, float scale = 1) {
  Random random(seed);
  Bytes out;
  for (int64_t i = 0; i < count; ++i) append(out, random.uniform(-scale, scale));
  return out;
}

inline Bytes random_bytes(uint64_t seed, int64_t count) {
  Random random(seed);
  Bytes out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<std::byte>(random.below(256)));
  return out;
}

}  // namespace rafter::test
