// Integer arithmetic on block formats, one group of 32 at a time, in plain scalar code: the rules that every CPU kernel
// of quantised weights follows, vectorised or not.
//
// A product of activations x and weights w is a sum over groups of 32 along K:
//   y = sum over groups of  d_x * (d_w * (q_w . q_x) + m_w * sum(q_x))
// with x quantised per group (d_x = max|x| / 16256, q_x = rint(x / d_x)), the dot product exact in integers and the rest
// in f32, group after group. A Q6_K group has two scales, one for each half: d_w (q_w . q_x) is then
// d (scale_0 dot_0 + scale_1 dot_1).
//
// q_x has 15 bits: two int8 limbs, q = 128 high + low, where there are byte dot products to take one for each limb, else a
// 16-bit number. One int8 limb alone would be twice as fast, but its rounding is chaotic: a last-bit difference between two
// machines, or between two orders of addition, flips a rounding, and thirty layers turn the flips into other words. With 15
// bits the rounding of activations is lost in that of f32.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstring>

#include "rafter/base/half.h"
#include "rafter/ops/block_formats.h"

namespace rafter::quant {

inline constexpr int kGroup = 32;
inline constexpr int kTop = 127 * 128;  // the largest |q|: both limbs fit in int8

// A group of activations.
struct GroupScale {
  float scale;  // d_x; NaN where the group holds a NaN or an infinity, so that the product shows it
  int32_t sum;  // of q
};

inline GroupScale quantise_group(const float* x, int16_t* q) {
  float top = 0, probe = 0;
  for (int i = 0; i < kGroup; ++i) {
    top = std::fmax(top, std::fabs(x[i]));
    probe += x[i] * 0.0f;
  }
  const float scale = top / static_cast<float>(kTop) + probe;
  // Below FLT_MIN the inverse would be infinite; such a group counts as zeros.
  const float inverse = scale >= FLT_MIN ? 1.0f / scale : 0.0f;
  GroupScale result{scale, 0};
  for (int i = 0; i < kGroup; ++i) {
    q[i] = static_cast<int16_t>(inverse > 0 ? std::lrintf(x[i] * inverse) : 0);
    result.sum += q[i];
  }
  return result;
}

// A group of weights: w = scale multiplier[i / 16] q[i] + minimum.
struct WeightGroup {
  float scale, minimum;
  int multiplier[2];
  int8_t q[kGroup];
};

inline void unpack_nibbles(const uint8_t nibbles[16], int offset, int8_t* q) {
  for (int j = 0; j < 16; ++j) {
    q[j] = static_cast<int8_t>((nibbles[j] & 15) - offset);
    q[j + 16] = static_cast<int8_t>((nibbles[j] >> 4) - offset);
  }
}

inline void add_fifth_bits(const uint8_t high[4], int8_t* q) {
  for (int j = 0; j < kGroup; ++j) q[j] = static_cast<int8_t>(q[j] + ((high[j / 8] >> (j % 8) & 1) << 4));
}

inline void unpack(const BlockQ4_0& b, int, WeightGroup& w) {
  unpack_nibbles(b.nibbles, 8, w.q);
  w.scale = f16_to_float(b.d);
}

inline void unpack(const BlockQ4_1& b, int, WeightGroup& w) {
  unpack_nibbles(b.nibbles, 0, w.q);
  w.scale = f16_to_float(b.d);
  w.minimum = f16_to_float(b.m);
}

inline void unpack(const BlockQ5_0& b, int, WeightGroup& w) {
  unpack_nibbles(b.nibbles, 16, w.q);
  add_fifth_bits(b.high, w.q);
  w.scale = f16_to_float(b.d);
}

inline void unpack(const BlockQ5_1& b, int, WeightGroup& w) {
  unpack_nibbles(b.nibbles, 0, w.q);
  add_fifth_bits(b.high, w.q);
  w.scale = f16_to_float(b.d);
  w.minimum = f16_to_float(b.m);
}

inline void unpack(const BlockQ8_0& b, int, WeightGroup& w) {
  std::memcpy(w.q, b.q, kGroup);
  w.scale = f16_to_float(b.d);
}

inline void unpack(const BlockQ4_K& b, int g, WeightGroup& w) {
  const auto [scale, minimum] = scale_and_minimum(b.scales, g);
  for (int i = 0; i < kGroup; ++i) w.q[i] = static_cast<int8_t>(b.nibbles[g / 2 * 32 + i] >> (g % 2 * 4) & 15);
  w.scale = f16_to_float(b.d) * scale;
  w.minimum = -(f16_to_float(b.dmin) * minimum);
}

inline void unpack(const BlockQ5_K& b, int g, WeightGroup& w) {
  const auto [scale, minimum] = scale_and_minimum(b.scales, g);
  for (int i = 0; i < kGroup; ++i) {
    w.q[i] = static_cast<int8_t>((b.nibbles[g / 2 * 32 + i] >> (g % 2 * 4) & 15) | (b.high[i] >> g & 1) << 4);
  }
  w.scale = f16_to_float(b.d) * scale;
  w.minimum = -(f16_to_float(b.dmin) * minimum);
}

inline void unpack(const BlockQ6_K& b, int g, WeightGroup& w) {
  const int half = g / 4, k = g % 4;
  for (int i = 0; i < kGroup; ++i) {
    const int low = b.low[half * 64 + k % 2 * 32 + i] >> (k / 2 * 4) & 15;
    const int high = b.high[half * 32 + i] >> (k * 2) & 3;
    w.q[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
  w.scale = f16_to_float(b.d);
  w.multiplier[0] = b.scales[g * 2];
  w.multiplier[1] = b.scales[g * 2 + 1];
}

template <typename Block>
WeightGroup read_group_of(const std::byte* row, int64_t group) {
  constexpr int64_t kGroupsPerBlock = sizeof(Block) >= 100 ? 8 : 1;
  Block block;  // a copy, since the source may be misaligned
  std::memcpy(&block, row + group / kGroupsPerBlock * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
  WeightGroup result{.scale = 0, .minimum = 0, .multiplier = {1, 1}, .q = {}};
  unpack(block, static_cast<int>(group % kGroupsPerBlock), result);
  return result;
}

// Group `group` of a row of weights in a block format.
inline WeightGroup read_group(DType dtype, const std::byte* row, int64_t group) {
  switch (dtype) {
    case DType::q4_0:
      return read_group_of<BlockQ4_0>(row, group);
    case DType::q4_1:
      return read_group_of<BlockQ4_1>(row, group);
    case DType::q5_0:
      return read_group_of<BlockQ5_0>(row, group);
    case DType::q5_1:
      return read_group_of<BlockQ5_1>(row, group);
    case DType::q8_0:
      return read_group_of<BlockQ8_0>(row, group);
    case DType::q4_k:
      return read_group_of<BlockQ4_K>(row, group);
    case DType::q5_k:
      return read_group_of<BlockQ5_K>(row, group);
    default:
      return read_group_of<BlockQ6_K>(row, group);
  }
}

}  // namespace rafter::quant
