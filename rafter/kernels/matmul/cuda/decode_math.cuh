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

  // The same of memory that earlier kernels may have written.
  __device__ void load_plain(const unsigned char* row, int chunk) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) raw[v] = reinterpret_cast<const uint4*>(row)[chunk * kVectors + v];
  }

  __device__ void unpack(float (&out)[kChunk]) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const uint32_t word[4] = {raw[v].x, raw[v].y, raw[v].z, raw[v].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (sizeof(Weight) == 4) {
          out[v * 4 + i] = __uint_as_float(word[i]);
        } else {
          const float2 pair = unpack_pair<Weight>(word[i]);
          out[i * 2] = pair.x;
          out[i * 2 + 1] = pair.y;
        }
      }
    }
  }

  __device__ void load_misaligned(const unsigned char* row, int chunk) {
    Weight* out = reinterpret_cast<Weight*>(raw);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) out[i] = reinterpret_cast<const Weight*>(row)[chunk * kChunk + i];
  }

  // sum + weights . x, element after element.
  __device__ float dot(const float (&x)[kChunk], float sum) const {
    float weights[kChunk];
    unpack(weights);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sum = fmaf(weights[i], x[i], sum);
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

__device__ inline void scale_and_square(float (&in)[kChunk], const float (&scale)[kChunk], float& square) {
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    square = fmaf(in[i], in[i], square);
    in[i] *= scale[i];
  }
}

// Asks L2 for what staging and finishing will read besides activations: weights too, so before wait_for_previous(). A
// cold miss after it would stand in the way of everything.
__device__ inline void prefetch(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

__device__ inline void prefetch_norm(const Args& a, int thread, int threads) {
  constexpr int kLine = 128 / sizeof(float);
  if (a.norm == nullptr) return;
#pragma unroll 1
  for (int i = thread * kLine; i < a.k; i += threads * kLine) prefetch(a.norm + i);
}

// The aligned case of stage_x(). Several chunks are on the way at once, as many as 32 registers hold.
template <typename X, bool kNorm, int kTokens>
__device__ inline void stage_normed_or_not(const Args& a, const StagedX& x, float (&sum)[kTokens], int thread, int threads) {
  constexpr int kChunkRegisters = kTokens * kChunk * static_cast<int>(sizeof(X)) / 4 + (kNorm ? kChunk : 0);
  constexpr int kBatch = 32 / kChunkRegisters > 4 ? 4 : 32 / kChunkRegisters > 0 ? 32 / kChunkRegisters : 1;
#pragma unroll 1
  for (int first = thread; first < x.chunks; first += kBatch * threads) {
    RawChunk<X> raw[kBatch][kTokens];
    RawChunk<float> norm[kNorm ? kBatch : 1];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int c = first + b * threads;
      if (c >= x.chunks) break;
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        if (t < a.tokens) raw[b][t].load_plain(a.x.row<unsigned char>(t), c);
      }
      if constexpr (kNorm) norm[b].load_plain(reinterpret_cast<const unsigned char*>(a.norm), c);
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int c = first + b * threads;
      if (c >= x.chunks) break;
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        float in[kChunk] = {};
        if (t < a.tokens) raw[b][t].unpack(in);
        if constexpr (kNorm) {
          float scale[kChunk];
          norm[b].unpack(scale);
          scale_and_square(in, scale, sum[t]);
        }
        x.write(t, c, in);
      }
    }
  }
}

template <typename X, int kTokens>
__device__ inline void stage_aligned(const Args& a, const StagedX& x, float (&sum)[kTokens], int thread, int threads) {
  if (a.norm != nullptr) {
    stage_normed_or_not<X, true>(a, x, sum, thread, threads);
  } else {
    stage_normed_or_not<X, false>(a, x, sum, thread, threads);
  }
}

// x, times the norm's weight where there is one, and its sums of squares by warp. Tokens past a.tokens are zeros.
// `thread` of `threads`, whole warps, share the work; thread i takes chunks i, i + threads, ...
template <int kTokens, int kMaxWarps>
__device__ inline void stage_x(const Args& a, const StagedX& x, float (&squares)[kTokens][kMaxWarps], int thread, int threads) {
  float sum[kTokens] = {};
  if (a.x_aligned && a.x.dtype == DType::bf16) {
    stage_aligned<cuda::bf16>(a, x, sum, thread, threads);
  } else if (a.x_aligned && a.x.dtype == DType::f16) {
    stage_aligned<cuda::f16>(a, x, sum, thread, threads);
  } else if (a.x_aligned) {
    stage_aligned<float>(a, x, sum, thread, threads);
  } else {
#pragma unroll 1
    for (int c = thread; c < x.chunks; c += threads) {
      float scale[kChunk];
      if (a.norm != nullptr) load_norm(a, c, scale);
#pragma unroll 1
      for (int t = 0; t < kTokens; ++t) {
        float in[kChunk] = {};
        if (t < a.tokens) load_x(a, t, c, in);
        float square = 0;
        if (a.norm != nullptr) scale_and_square(in, scale, square);
#pragma unroll
        for (int other = 0; other < kTokens; ++other) sum[other] += other == t ? square : 0.0f;
        x.write(t, c, in);
      }
    }
  }
  if (a.norm == nullptr) return;
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    const float total = cuda::warp_sum(sum[t]);
    if (thread % cuda::kWarp == 0) squares[t][thread / cuda::kWarp] = total;
  }
}

// The first `count` of up to kMost values, in order; all are asked for before the first is added.
template <int kMost>
__device__ inline float sum_of(const float* values, int stride, int count) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i < count) sum += values[i * stride];
  }
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
