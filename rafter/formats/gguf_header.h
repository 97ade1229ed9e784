// The part of a GGUF file before its weights, read and checked in one pass; GgufFile answers questions about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/formats/stored_tensor.h"

namespace rafter {

enum class GgufValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
inline constexpr uint32_t kGgufValueTypes = 13;
std::string_view name(GgufValueType type);
// 0 for text and array, whose values differ in length.
size_t fixed_bytes(GgufValueType type);

// A metadata value stays where it is in the file: a vocabulary of 150,000 strings costs nothing until it is asked for.
struct GgufEntry {
  std::string_view key;
  GgufValueType type;     // of the value
  GgufValueType element;  // of an array's elements; otherwise the same as `type`
  uint64_t count;         // of an array's elements; otherwise 1
  size_t offset;          // of the first element, all of which are proved to lie inside the file
};

struct GgufHeader {
  uint32_t version = 0;
  std::vector<GgufEntry> entries;     // in the file's order, keys unique
  std::vector<StoredTensor> tensors;  // in the file's order, names unique, bytes disjoint and inside the file
};

// `path` is for messages. Views and pointers in the result point into `bytes`.
GgufHeader read_gguf_header(std::span<const std::byte> bytes, const std::string& path);

}  // namespace rafter
