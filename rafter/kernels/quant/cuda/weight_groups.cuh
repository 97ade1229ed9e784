// A group of 32 weights of each block format, in two steps: load() brings a lane its raw words, unpack() turns them into
// int8 in element order for dp4a. Apart, so that loads can be far ahead of the arithmetic. ops/block_formats.h has the
// layouts.
//
// kAlign is what every block is known to be aligned to: 2 always; 4 or 16 where the format's size and the tensor's
// address allow it.
#pragma once

#include "rafter/kernels/cuda/block_formats.cuh"

namespace rafter::quant {

// kCount 32-bit words from an address aligned to kAlign.
template <int kAlign, int kCount>
__device__ inline void load_words(const uint8_t* from, uint32_t (&out)[kCount]) {
  if constexpr (kAlign % 16 == 0 && kCount % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const uint4 v = __ldg(reinterpret_cast<const uint4*>(from) + i / 4);
      out[i] = v.x, out[i + 1] = v.y, out[i + 2] = v.z, out[i + 3] = v.w;
    }
  } else if constexpr (kAlign % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) out[i] = __ldg(reinterpret_cast<const uint32_t*>(from) + i);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const auto* halves = reinterpret_cast<const uint16_t*>(from) + i * 2;
      out[i] = __ldg(halves) | static_cast<uint32_t>(__ldg(halves + 1)) << 16;
    }
  }
}

__device__ inline float low_half(uint32_t word) { return cuda::half_bits(static_cast<uint16_t>(word)); }
__device__ inline float high_half(uint32_t word) { return cuda::half_bits(static_cast<uint16_t>(word >> 16)); }

// Bits 0..3 to bit 4 of the four bytes.
__device__ inline uint32_t spread_to_bit_4(uint32_t bits) { return ((bits & 15u) * 0x00204081u & 0x01010101u) << 4; }

// What a group's products need: w = scale multiplier[half] (q - offset) + minimum, byte e of `q` being element e.
struct UnpackedGroup {
  uint32_t q[8];
  float scale, minimum;
  int offset;
  float multiplier[2];  // of elements 0..15 and 16..31; looked at where kTwoScales
};

template <DType kFormat>
struct RawGroup;

// Q4_0 and Q4_1: nibbles, low ones first.
template <bool kMinimum>
struct RawNibbles {
  static constexpr bool kTwoScales = false;
  static constexpr int kBytes = kMinimum ? sizeof(BlockQ4_1) : sizeof(BlockQ4_0), kAlign = kMinimum ? 4 : 2;
  uint32_t nibbles[4], factors;

  template <int kAlign>
  __device__ void load(const uint8_t* row, int group) {
    const uint8_t* block = row + static_cast<int64_t>(group) * kBytes;
    if constexpr (kMinimum) {
      uint32_t word[1];
      load_words<kAlign>(block, word);
      factors = word[0];
    } else {
      factors = __ldg(reinterpret_cast<const uint16_t*>(block));
    }
    load_words<kAlign>(block + (kMinimum ? 4 : 2), nibbles);
  }
  __device__ UnpackedGroup unpack(int) const {
    UnpackedGroup out{.scale = low_half(factors), .minimum = kMinimum ? high_half(factors) : 0.0f, .offset = kMinimum ? 0 : 8};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out.q[i] = nibbles[i] & 0x0f0f0f0fu;
      out.q[i + 4] = nibbles[i] >> 4 & 0x0f0f0f0fu;
    }
    return out;
  }
};
template <>
struct RawGroup<DType::q4_0> : RawNibbles<false> {};
template <>
struct RawGroup<DType::q4_1> : RawNibbles<true> {};

// Q5_0 and Q5_1: the same with a fifth bit each.
template <bool kMinimum>
struct RawFive {
  static constexpr bool kTwoScales = false;
  static constexpr int kBytes = kMinimum ? sizeof(BlockQ5_1) : sizeof(BlockQ5_0), kAlign = kMinimum ? 4 : 2;
  uint32_t high_and_nibbles[5], factors;

  template <int kAlign>
  __device__ void load(const uint8_t* row, int group) {
    const uint8_t* block = row + static_cast<int64_t>(group) * kBytes;
    if constexpr (kMinimum) {
      uint32_t word[1];
      load_words<kAlign>(block, word);
      factors = word[0];
    } else {
      factors = __ldg(reinterpret_cast<const uint16_t*>(block));
    }
    load_words<kAlign>(block + (kMinimum ? 4 : 2), high_and_nibbles);
  }
  __device__ UnpackedGroup unpack(int) const {
    UnpackedGroup out{.scale = low_half(factors), .minimum = kMinimum ? high_half(factors) : 0.0f, .offset = kMinimum ? 0 : 16};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t nibbles = high_and_nibbles[i + 1];
      out.q[i] = (nibbles & 0x0f0f0f0fu) | spread_to_bit_4(high_and_nibbles[0] >> (i * 4));
      out.q[i + 4] = (nibbles >> 4 & 0x0f0f0f0fu) | spread_to_bit_4(high_and_nibbles[0] >> (i * 4 + 16));
    }
    return out;
  }
};
template <>
struct RawGroup<DType::q5_0> : RawFive<false> {};
template <>
struct RawGroup<DType::q5_1> : RawFive<true> {};

template <>
struct RawGroup<DType::q8_0> {
  static constexpr bool kTwoScales = false;
  static constexpr int kBytes = sizeof(BlockQ8_0), kAlign = 2;
  uint32_t q[8], factors;

  template <int kAlign>
  __device__ void load(const uint8_t* row, int group) {
    const uint8_t* block = row + static_cast<int64_t>(group) * kBytes;
    factors = __ldg(reinterpret_cast<const uint16_t*>(block));
    load_words<kAlign>(block + 2, q);
  }
  __device__ UnpackedGroup unpack(int) const {
    UnpackedGroup out{.scale = low_half(factors), .minimum = 0.0f, .offset = 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) out.q[i] = q[i];
    return out;
  }
};

// Q4_K and Q5_K: eight groups share d and dmin; each has a 6-bit scale and minimum.
template <bool kFifthBit>
struct RawK {
  static constexpr bool kTwoScales = false;
  static constexpr int kBytes = kFifthBit ? sizeof(BlockQ5_K) : sizeof(BlockQ4_K), kAlign = 16;
  uint32_t factors_and_scales[4], nibbles[8], high[kFifthBit ? 8 : 1];

  template <int kAlign>
  __device__ void load(const uint8_t* row, int group) {
    const uint8_t* block = row + static_cast<int64_t>(group / 8) * kBytes;
    load_words<kAlign>(block, factors_and_scales);
    if constexpr (kFifthBit) load_words<kAlign>(block + 16, high);
    load_words<kAlign>(block + (kFifthBit ? 48 : 16) + group % 8 / 2 * 32, nibbles);
  }
  __device__ UnpackedGroup unpack(int group) const {
    const int g = group % 8;
    // Byte i of the twelve scale bytes, without indexing registers.
    const auto byte = [&](int i) {
      const uint32_t word = i < 4 ? factors_and_scales[1] : i < 8 ? factors_and_scales[2] : factors_and_scales[3];
      return static_cast<int>(word >> (i % 4 * 8) & 255u);
    };
    const int scale = g < 4 ? byte(g) & 63 : (byte(g + 4) & 15) | byte(g - 4) >> 6 << 4;
    const int minimum = g < 4 ? byte(g + 4) & 63 : byte(g + 4) >> 4 | byte(g) >> 6 << 4;
    UnpackedGroup out{.scale = low_half(factors_and_scales[0]) * static_cast<float>(scale),
                      .minimum = -(high_half(factors_and_scales[0]) * static_cast<float>(minimum)),
                      .offset = 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      out.q[i] = nibbles[i] >> (g % 2 * 4) & 0x0f0f0f0fu;
      if constexpr (kFifthBit) out.q[i] |= (high[i] >> g & 0x01010101u) << 4;
    }
    return out;
  }
};
template <>
struct RawGroup<DType::q4_k> : RawK<false> {};
template <>
struct RawGroup<DType::q5_k> : RawK<true> {};

// Q6_K: a scale for each half of a group.
template <>
struct RawGroup<DType::q6_k> {
  static constexpr bool kTwoScales = true;
  static constexpr int kBytes = sizeof(BlockQ6_K), kAlign = 2;
  uint32_t low[8], high[8], factors, scales;

  template <int kAlign>
  __device__ void load(const uint8_t* row, int group) {
    const uint8_t* block = row + static_cast<int64_t>(group / 8) * kBytes;
    const int g = group % 8, half = g / 4;
    load_words<kAlign>(block + half * 64 + g % 2 * 32, low);
    load_words<kAlign>(block + 128 + half * 32, high);
    scales = __ldg(reinterpret_cast<const uint16_t*>(block + 192 + g * 2));
    factors = __ldg(reinterpret_cast<const uint16_t*>(block + 208));
  }
  __device__ UnpackedGroup unpack(int group) const {
    const int k = group % 4;
    UnpackedGroup out{.scale = low_half(factors),
                      .minimum = 0.0f,
                      .offset = 0,
                      .multiplier = {static_cast<float>(static_cast<int8_t>(scales & 255u)),
                                     static_cast<float>(static_cast<int8_t>(scales >> 8))}};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      out.q[i] = __vsub4((low[i] >> (k / 2 * 4) & 0x0f0f0f0fu) | (high[i] >> (k * 2) & 0x03030303u) << 4, 0x20202020u);
    }
    return out;
  }
};

}  // namespace rafter::quant
