// Element types: what a number is stored as, and how many bytes a run of them takes.
//
// The block formats are those of GGUF: a block of `block_elements` weights shares its scales and cannot be split.
// A new type (fp8, fp4, a new block format) is one more enumerator and one more row of the table in dtype.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rafter {

enum class DType : uint8_t { f32, f16, bf16, i32, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k };
inline constexpr int kDTypeCount = 12;

struct DTypeInfo {
  std::string_view name;  // as results files and GGUF spell it, in lower case
  int block_elements;     // 1 for plain types
  int block_bytes;
};

const DTypeInfo& info(DType type);
inline std::string_view name(DType type) { return info(type).name; }
std::optional<DType> dtype_named(std::string_view name);

inline bool is_quantised(DType type) { return info(type).block_elements > 1; }

// Bytes of `elements` values in a row; `elements` must be a multiple of the block.
int64_t row_bytes(DType type, int64_t elements);

}  // namespace rafter
