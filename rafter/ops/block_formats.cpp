#include "rafter/ops/block_formats.h"

#include <cstring>

#include "rafter/base/half.h"

namespace rafter {

namespace {

void decode(const BlockQ4_0& b, float* out) {
  const float d = f16_to_float(b.d);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>((b.nibbles[j] & 15) - 8);
    out[j + 16] = d * static_cast<float>((b.nibbles[j] >> 4) - 8);
  }
}

void decode(const BlockQ4_1& b, float* out) {
  const float d = f16_to_float(b.d), m = f16_to_float(b.m);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(b.nibbles[j] & 15) + m;
    out[j + 16] = d * static_cast<float>(b.nibbles[j] >> 4) + m;
  }
}

int fifth_bit(const uint8_t high[4], int j) { return (high[j / 8] >> (j % 8) & 1) << 4; }

void decode(const BlockQ5_0& b, float* out) {
  const float d = f16_to_float(b.d);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(((b.nibbles[j] & 15) | fifth_bit(b.high, j)) - 16);
    out[j + 16] = d * static_cast<float>(((b.nibbles[j] >> 4) | fifth_bit(b.high, j + 16)) - 16);
  }
}

void decode(const BlockQ5_1& b, float* out) {
  const float d = f16_to_float(b.d), m = f16_to_float(b.m);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>((b.nibbles[j] & 15) | fifth_bit(b.high, j)) + m;
    out[j + 16] = d * static_cast<float>((b.nibbles[j] >> 4) | fifth_bit(b.high, j + 16)) + m;
  }
}

void decode(const BlockQ8_0& b, float* out) {
  const float d = f16_to_float(b.d);
  for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(b.q[j]);
}

void decode(const BlockQ4_K& b, float* out) {
  const float d = f16_to_float(b.d), dmin = f16_to_float(b.dmin);
  for (int g = 0; g < 8; ++g) {
    const auto [scale, minimum] = scale_and_minimum(b.scales, g);
    for (int i = 0; i < 32; ++i) {
      const int q = b.nibbles[g / 2 * 32 + i] >> (g % 2 * 4) & 15;
      out[g * 32 + i] = d * scale * static_cast<float>(q) - dmin * minimum;
    }
  }
}

void decode(const BlockQ5_K& b, float* out) {
  const float d = f16_to_float(b.d), dmin = f16_to_float(b.dmin);
  for (int g = 0; g < 8; ++g) {
    const auto [scale, minimum] = scale_and_minimum(b.scales, g);
    for (int i = 0; i < 32; ++i) {
      const int q = (b.nibbles[g / 2 * 32 + i] >> (g % 2 * 4) & 15) | (b.high[i] >> g & 1) << 4;
      out[g * 32 + i] = d * scale * static_cast<float>(q) - dmin * minimum;
    }
  }
}

void decode(const BlockQ6_K& b, float* out) {
  const float d = f16_to_float(b.d);
  for (int w = 0; w < 256; ++w) {
    const int half = w / 128, k = w % 128 / 32, i = w % 32;
    const int low = b.low[half * 64 + k % 2 * 32 + i] >> (k / 2 * 4) & 15;
    const int high = b.high[half * 32 + i] >> (k * 2) & 3;
    out[w] = d * b.scales[w / 16] * static_cast<float>((low | high << 4) - 32);
  }
}

template <typename Block>
void decode_blocks(const void* source, int64_t elements, float* out) {
  constexpr int64_t kElements = sizeof(Block) >= 100 ? 256 : 32;
  const auto* bytes = static_cast<const std::byte*>(source);
  for (int64_t i = 0; i < elements / kElements; ++i) {
    Block block;
    std::memcpy(&block, bytes + i * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
    decode(block, out + i * kElements);
  }
}

template <typename T, typename Convert>
void decode_plain(const void* source, int64_t elements, float* out, Convert convert) {
  const auto* bytes = static_cast<const std::byte*>(source);
  for (int64_t i = 0; i < elements; ++i) {
    T value;
    std::memcpy(&value, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = convert(value);
  }
}

}  // namespace

void decode_row(DType dtype, const void* source, int64_t elements, float* out) {
  switch (dtype) {
    case DType::f32:
      std::memcpy(out, source, static_cast<size_t>(elements) * 4);
      return;
    case DType::f16:
      return decode_plain<uint16_t>(source, elements, out, f16_to_float);
    case DType::bf16:
      return decode_plain<uint16_t>(source, elements, out, bf16_to_float);
    case DType::i32:
      return decode_plain<int32_t>(source, elements, out, [](int32_t v) { return static_cast<float>(v); });
    case DType::q4_0:
      return decode_blocks<BlockQ4_0>(source, elements, out);
    case DType::q4_1:
      return decode_blocks<BlockQ4_1>(source, elements, out);
    case DType::q5_0:
      return decode_blocks<BlockQ5_0>(source, elements, out);
    case DType::q5_1:
      return decode_blocks<BlockQ5_1>(source, elements, out);
    case DType::q8_0:
      return decode_blocks<BlockQ8_0>(source, elements, out);
    case DType::q4_k:
      return decode_blocks<BlockQ4_K>(source, elements, out);
    case DType::q5_k:
      return decode_blocks<BlockQ5_K>(source, elements, out);
    case DType::q6_k:
      return decode_blocks<BlockQ6_K>(source, elements, out);
  }
}

}  // namespace rafter
