// GGUF's block formats on the device: one weight, or 32 weights as int8 with their scale and minimum.
// ops/block_formats.h has the layouts. Rows may start at any even address.
#pragma once

#include "rafter/kernels/cuda/convert.cuh"
#include "rafter/ops/block_formats.h"

namespace rafter::cuda {

__device__ inline float half_bits(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }

__device__ inline int fifth_bit(const uint8_t* high, int j) { return (high[j / 8] >> (j % 8) & 1) << 4; }

// 6-bit scale and minimum of group g of a Q4_K or Q5_K block, as scale_and_minimum() in ops/block_formats.h.
__device__ inline void k_scales(const uint8_t* scales, int g, int& scale, int& minimum) {
  if (g < 4) {
    scale = scales[g] & 63;
    minimum = scales[g + 4] & 63;
  } else {
    scale = (scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4;
    minimum = (scales[g + 4] >> 4) | (scales[g] >> 6) << 4;
  }
}

// One weight: its integer q and its block's factors, w = scale q + minimum.
struct BlockElement {
  int q;
  float scale, minimum;
  __device__ float value() const { return scale * static_cast<float>(q) + minimum; }
};

// Weight i of a row of any block format.
__device__ inline BlockElement block_element(DType dtype, const void* row, int64_t i) {
  const auto j = static_cast<int>(i % 32), n = j % 16, shift = j / 16 * 4;
  switch (dtype) {
    case DType::q4_0: {
      const auto& b = static_cast<const BlockQ4_0*>(row)[i / 32];
      return {(b.nibbles[n] >> shift & 15) - 8, half_bits(b.d), 0.0f};
    }
    case DType::q4_1: {
      const auto& b = static_cast<const BlockQ4_1*>(row)[i / 32];
      return {b.nibbles[n] >> shift & 15, half_bits(b.d), half_bits(b.m)};
    }
    case DType::q5_0: {
      const auto& b = static_cast<const BlockQ5_0*>(row)[i / 32];
      return {((b.nibbles[n] >> shift & 15) | fifth_bit(b.high, j)) - 16, half_bits(b.d), 0.0f};
    }
    case DType::q5_1: {
      const auto& b = static_cast<const BlockQ5_1*>(row)[i / 32];
      return {(b.nibbles[n] >> shift & 15) | fifth_bit(b.high, j), half_bits(b.d), half_bits(b.m)};
    }
    case DType::q8_0: {
      const auto& b = static_cast<const BlockQ8_0*>(row)[i / 32];
      return {b.q[j], half_bits(b.d), 0.0f};
    }
    case DType::q4_k: {
      const auto& b = static_cast<const BlockQ4_K*>(row)[i / 256];
      const auto g = static_cast<int>(i % 256) / 32;
      int scale, minimum;
      k_scales(b.scales, g, scale, minimum);
      return {b.nibbles[g / 2 * 32 + j] >> (g % 2 * 4) & 15, half_bits(b.d) * static_cast<float>(scale),
              -half_bits(b.dmin) * static_cast<float>(minimum)};
    }
    case DType::q5_k: {
      const auto& b = static_cast<const BlockQ5_K*>(row)[i / 256];
      const auto g = static_cast<int>(i % 256) / 32;
      int scale, minimum;
      k_scales(b.scales, g, scale, minimum);
      return {(b.nibbles[g / 2 * 32 + j] >> (g % 2 * 4) & 15) | (b.high[j] >> g & 1) << 4,
              half_bits(b.d) * static_cast<float>(scale), -half_bits(b.dmin) * static_cast<float>(minimum)};
    }
    default: {
      const auto& b = static_cast<const BlockQ6_K*>(row)[i / 256];
      const auto w = static_cast<int>(i % 256), half = w / 128, k = w % 128 / 32;
      const int low = b.low[half * 64 + k % 2 * 32 + j] >> (k / 2 * 4) & 15;
      const int high = b.high[half * 32 + j] >> (k * 2) & 3;
      return {(low | high << 4) - 32, half_bits(b.d) * static_cast<float>(b.scales[w / 16]), 0.0f};
    }
  }
}

__device__ inline bool is_block_format(DType dtype) { return dtype >= DType::q4_0; }

// Weight i of a row of any dtype.
__device__ inline float weight_at(DType dtype, const void* row, int64_t i) {
  return is_block_format(dtype) ? block_element(dtype, row, i).value() : load_float(row, dtype, i);
}

}  // namespace rafter::cuda
