#include "rafter/base/dtype.h"

#include <array>

#include "rafter/base/error.h"

namespace rafter {

namespace {
constexpr std::array<DTypeInfo, kDTypeCount> kTypes = {{
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"i32", 1, 4},
    {"q4_0", 32, 18},    // f16 scale, 16 bytes of nibbles
    {"q4_1", 32, 20},    // f16 scale, f16 minimum, nibbles
    {"q5_0", 32, 22},    // f16 scale, 32 high bits, nibbles
    {"q5_1", 32, 24},    // f16 scale, f16 minimum, 32 high bits, nibbles
    {"q8_0", 32, 34},    // f16 scale, 32 int8
    {"q4_k", 256, 144},  // f16 scale of scales and of minimums, 12 bytes of 6-bit pairs, nibbles
    {"q5_k", 256, 176},  // as q4_k, with 32 bytes of high bits
    {"q6_k", 256, 210},  // 128 low nibbles, 64 high pairs, 16 int8 scales, f16 scale
}};
}  // namespace

const DTypeInfo& info(DType type) { return kTypes.at(static_cast<size_t>(type)); }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int64_t row_bytes(DType type, int64_t elements) {
  const DTypeInfo& t = info(type);
  if (elements % t.block_elements != 0) {
    throw input_error({fmt::format("a row of {} elements of {}", elements, t.name), "not a whole number of blocks",
                       fmt::format("a multiple of {}", t.block_elements)});
  }
  return elements / t.block_elements * t.block_bytes;
}

}  // namespace rafter
