// GGUF's block formats: how 32 or 256 weights share scales, and their exact decoding.
// Layouts: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h
#pragma once

#include <cstddef>
#include <cstdint>

#include "rafter/base/dtype.h"

namespace rafter {

// Within a block of 32, byte j of `nibbles` holds weight j (low) and weight j + 16 (high). Scales are f16 bits.
struct BlockQ4_0 {  // w = d (q - 8)
  uint16_t d;
  uint8_t nibbles[16];
};
struct BlockQ4_1 {  // w = d q + m
  uint16_t d, m;
  uint8_t nibbles[16];
};
struct BlockQ5_0 {  // w = d (q - 16); bit j of `high` is bit 4 of weight j
  uint16_t d;
  uint8_t high[4];
  uint8_t nibbles[16];
};
struct BlockQ5_1 {  // w = d q + m
  uint16_t d, m;
  uint8_t high[4];
  uint8_t nibbles[16];
};
struct BlockQ8_0 {  // w = d q
  uint16_t d;
  int8_t q[32];
};
// Eight groups of 32, w = d scale q - dmin minimum. Bytes 32p..32p+31 of `nibbles` hold group 2p (low) and 2p + 1 (high).
struct BlockQ4_K {
  uint16_t d, dmin;
  uint8_t scales[12];  // eight 6-bit scales and minimums: see scale_and_minimum()
  uint8_t nibbles[128];
};
struct BlockQ5_K {  // bit g of high[i] is bit 4 of weight i of group g
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t high[32];
  uint8_t nibbles[128];
};
// Sixteen groups of 16, w = d scale (q - 32). In each half of 128, for i in 0..31: weights i and i + 64 have their low
// bits in low[i] (low and high nibble), i + 32 and i + 96 in low[i + 32]; pair k of high[i] belongs to weight i + 32k.
struct BlockQ6_K {
  uint8_t low[128];
  uint8_t high[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24 &&
              sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

struct ScaleAndMinimum {
  uint8_t scale, minimum;
};

// Group g's 6-bit scale and minimum of a Q4_K or Q5_K block.
inline ScaleAndMinimum scale_and_minimum(const uint8_t scales[12], int g) {
  if (g < 4) return {static_cast<uint8_t>(scales[g] & 63), static_cast<uint8_t>(scales[g + 4] & 63)};
  return {static_cast<uint8_t>((scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4),
          static_cast<uint8_t>((scales[g + 4] >> 4) | (scales[g] >> 6) << 4)};
}

// `elements` consecutive values of any dtype as floats; a multiple of the block for block formats. `source` may be
// misaligned.
void decode_row(DType dtype, const void* source, int64_t elements, float* out);

}  // namespace rafter
