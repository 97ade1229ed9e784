// The arithmetic that the decode matmuls share: weights as they are loaded, x as it is staged, sums as they are reduced.
#pragma once

#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/streaming.cuh"
#include "rafter/kernels/matmul/cuda/decode_args.cuh"

namespace rafter::decode {

// Both halves of a 32-bit word as floats.
template <typename Weight>
__device__ inline float2 unpack_pair(uint32_t word) {
  if constexpr (std::is_same_v<Weight, cuda::f16>) {
    return __half22float2(*reinterpret_cast<const __half2*>(&word));
  } else {
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
  }
}

// Eight weights of a row as they came from memory.
template <typename Weight>
struct RawChunk {
  static constexpr int kVectors = sizeof(Weight) * kChunk / 16;
  uint4 raw[kVectors];

  __device__ void load(const unsigned char* row, int chunk, uint64_t policy) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) raw[v] = cuda::load_streaming(row + (chunk * kVectors + v) * int64_t{16}, policy);
  }

  __device__ void load_misaligned(const unsigned char* row, int chunk) {
    Weight* out = reinterpret_cast<Weight*>(raw);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) out[i] = reinterpret_cast<const Weight*>(row)[chunk * kChunk + i];
  }

  // sum + weights . x, element after element.
  __device__ float dot(const float (&x)[kChunk], float sum) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const uint32_t word[4] = {raw[v].x, raw[v].y, raw[v].z, raw[v].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (sizeof(Weight) == 4) {
          sum = fmaf(__uint_as_float(word[i]), x[v * 4 + i], sum);
        } else {
          const float2 pair = unpack_pair<Weight>(word[i]);
          sum = fmaf(pair.x, x[i * 2], sum);
          sum = fmaf(pair.y, x[i * 2 + 1], sum);
        }
      }
    }
    return sum;
  }
};

// x in shared memory as f32: the low and the high half of every chunk in planes of their own, so that the 16-byte reads
// of neighbouring lanes fall into different banks.
struct StagedX {
  float4* planes;  // [tokens][2][chunks]
  int chunks;

  __device__ void write(int t, int chunk, const float (&in)[kChunk]) const {
    planes[(t * 2) * chunks + chunk] = {in[0], in[1], in[2], in[3]};
    planes[(t * 2 + 1) * chunks + chunk] = {in[4], in[5], in[6], in[7]};
  }
  __device__ void read(int t, int chunk, float (&out)[kChunk]) const {
    const float4 low = planes[(t * 2) * chunks + chunk], high = planes[(t * 2 + 1) * chunks + chunk];
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
  }
};

// x, times the norm's weight where there is one, and its sums of squares by warp. Tokens past a.tokens are zeros.
// `thread` of `threads`, whole warps, share the work; thread i takes chunks i, i + threads, ...
template <int kTokens, int kMaxWarps>
__device__ inline void stage_x(const Args& a, const StagedX& x, float (&squares)[kTokens][kMaxWarps], int thread, int threads) {
  float sum[kTokens] = {};
  for (int c = thread; c < x.chunks; c += threads) {
    float scale[kChunk];
    if (a.norm != nullptr) load_norm(a, c, scale);
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      float in[kChunk] = {};
      if (t < a.tokens) load_x(a, t, c, in);
      if (a.norm != nullptr) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) {
          sum[t] = fmaf(in[i], in[i], sum[t]);
          in[i] *= scale[i];
        }
      }
      x.write(t, c, in);
    }
  }
  if (a.norm == nullptr) return;
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    const float total = cuda::warp_sum(sum[t]);
    if (thread % cuda::kWarp == 0) squares[t][thread / cuda::kWarp] = total;
  }
}

__device__ inline float sum_of(const float* values, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

// kValues sums over a warp at once, a power of two up to 32: each exchange halves the values a lane is in charge of, so
// that 8 sums take 9 shuffles and not 40. Lane l ends with the total of value value_of_lane(l).
template <int kValues>
__device__ inline int value_of_lane(int lane) {
  return lane / (cuda::kWarp / kValues);
}

template <int kValues, int kOffset = cuda::kWarp / 2>
__device__ inline float reduce_to_lanes(const float (&value)[kValues], int lane) {
  if constexpr (kValues == 1) {
    float total = value[0];
#pragma unroll
    for (int offset = kOffset; offset > 0; offset /= 2) total += __shfl_xor_sync(cuda::kFullMask, total, offset);
    return total;
  } else {
    constexpr int kHalf = kValues / 2;
    const bool upper = (lane & kOffset) != 0;
    float kept[kHalf];
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const float mine = upper ? value[i + kHalf] : value[i], theirs = upper ? value[i] : value[i + kHalf];
      kept[i] = mine + __shfl_xor_sync(cuda::kFullMask, theirs, kOffset);
    }
    return reduce_to_lanes<kHalf, kOffset / 2>(kept, lane);
  }
}

}  // namespace rafter::decode
