// 32 neighbouring weights of a block format as int8, four to a word, ready for integer dot products.
// ops/block_formats.h has the layouts. Rows may start at any even address, so words are read in halves.
#pragma once

#include "rafter/kernels/cuda/block_formats.cuh"

namespace rafter::cuda {

// w = scale multiplier[i / 16] q[i] + minimum. Only Q6_K has multipliers other than 1, and it has no minimum.
struct WeightGroup {
  uint32_t q[8];
  float scale, minimum;
  int multiplier[2];
};

__device__ inline uint32_t word_at(const uint8_t* even_address, int word) {
  const auto* halves = reinterpret_cast<const uint16_t*>(even_address) + 2 * word;
  return halves[0] | static_cast<uint32_t>(halves[1]) << 16;
}

// 1 in each byte for each of the low four bits of `bits`.
__device__ inline uint32_t spread_bits(uint32_t bits) { return (bits & 15u) * 0x00204081u & 0x01010101u; }

// `offset` taken from each byte, all of which are below 128.
__device__ inline uint32_t subtract_bytes(uint32_t bytes, uint32_t offset) {
  return ((bytes | 0x80808080u) - offset * 0x01010101u) ^ 0x80808080u;
}

__device__ inline void unpack_nibbles(const uint8_t* nibbles, uint32_t (&q)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = word_at(nibbles, i);
    q[i] = word & 0x0f0f0f0fu;
    q[i + 4] = word >> 4 & 0x0f0f0f0fu;
  }
}

__device__ inline void add_fifth_bits(const uint8_t* high, uint32_t (&q)[8]) {
  const uint32_t bits = word_at(high, 0);
#pragma unroll
  for (int i = 0; i < 8; ++i) q[i] |= spread_bits(bits >> (4 * i)) << 4;
}

__device__ inline void subtract_offset(uint32_t offset, uint32_t (&q)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) q[i] = subtract_bytes(q[i], offset);
}

// Q4_K and Q5_K: group g of eight; `high` is null for Q4_K.
__device__ inline void unpack_k(uint16_t d, uint16_t dmin, const uint8_t* scales, const uint8_t* nibbles, const uint8_t* high,
                                int g, WeightGroup& w) {
  int scale, minimum;
  k_scales(scales, g, scale, minimum);
  w.scale = half_bits(d) * static_cast<float>(scale);
  w.minimum = -(half_bits(dmin) * static_cast<float>(minimum));
#pragma unroll
  for (int i = 0; i < 8; ++i) w.q[i] = word_at(nibbles + g / 2 * 32, i) >> (g % 2 * 4) & 0x0f0f0f0fu;
  if (high == nullptr) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) w.q[i] |= (word_at(high, i) >> g & 0x01010101u) << 4;
}

__device__ inline void unpack_six(const BlockQ6_K& b, int g, WeightGroup& w) {
  const int half = g / 4, k = g % 4;
  w.scale = half_bits(b.d);
  w.multiplier[0] = b.scales[g * 2];
  w.multiplier[1] = b.scales[g * 2 + 1];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint32_t low = word_at(b.low + half * 64 + k % 2 * 32, i) >> (k / 2 * 4) & 0x0f0f0f0fu;
    const uint32_t high = word_at(b.high + half * 32, i) >> (k * 2) & 0x03030303u;
    w.q[i] = subtract_bytes(low | high << 4, 32);
  }
}

// Group `group` of a row.
__device__ inline WeightGroup weight_group(DType dtype, const void* row, int group) {
  WeightGroup w{.q = {}, .scale = 0, .minimum = 0, .multiplier = {1, 1}};
  switch (dtype) {
    case DType::q4_0: {
      const auto& b = static_cast<const BlockQ4_0*>(row)[group];
      w.scale = half_bits(b.d);
      unpack_nibbles(b.nibbles, w.q);
      subtract_offset(8, w.q);
      break;
    }
    case DType::q4_1: {
      const auto& b = static_cast<const BlockQ4_1*>(row)[group];
      w.scale = half_bits(b.d);
      w.minimum = half_bits(b.m);
      unpack_nibbles(b.nibbles, w.q);
      break;
    }
    case DType::q5_0: {
      const auto& b = static_cast<const BlockQ5_0*>(row)[group];
      w.scale = half_bits(b.d);
      unpack_nibbles(b.nibbles, w.q);
      add_fifth_bits(b.high, w.q);
      subtract_offset(16, w.q);
      break;
    }
    case DType::q5_1: {
      const auto& b = static_cast<const BlockQ5_1*>(row)[group];
      w.scale = half_bits(b.d);
      w.minimum = half_bits(b.m);
      unpack_nibbles(b.nibbles, w.q);
      add_fifth_bits(b.high, w.q);
      break;
    }
    case DType::q8_0: {
      const auto& b = static_cast<const BlockQ8_0*>(row)[group];
      w.scale = half_bits(b.d);
#pragma unroll
      for (int i = 0; i < 8; ++i) w.q[i] = word_at(reinterpret_cast<const uint8_t*>(b.q), i);
      break;
    }
    case DType::q4_k: {
      const auto& b = static_cast<const BlockQ4_K*>(row)[group / 8];
      unpack_k(b.d, b.dmin, b.scales, b.nibbles, nullptr, group % 8, w);
      break;
    }
    case DType::q5_k: {
      const auto& b = static_cast<const BlockQ5_K*>(row)[group / 8];
      unpack_k(b.d, b.dmin, b.scales, b.nibbles, b.high, group % 8, w);
      break;
    }
    default:
      unpack_six(static_cast<const BlockQ6_K*>(row)[group / 8], group % 8, w);
  }
  return w;
}

}  // namespace rafter::cuda
