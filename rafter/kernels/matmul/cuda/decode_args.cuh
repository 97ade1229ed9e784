// What every decode matmul is told, and what they all do alike: find a row of the stacked weights, read a chunk of eight
// activations, and finish an output (norm scale, bias, SwiGLU, residual).
#pragma once

#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/silu.cuh"
#include "rafter/kernels/cuda/vector.cuh"
#include "rafter/ops/matmul.h"

namespace rafter::decode {

using cuda::Rows;

inline constexpr int kChunk = 8;  // consecutive elements along K that a thread takes at once: 16 bytes of a 16-bit type

struct StackedWeights {
  const unsigned char* data[3];
  int64_t stride[3];  // bytes from row to row
  int end[3];         // rows of the weights so far; the last is N

  __device__ const unsigned char* row(int n) const {
    const int i = n < end[0] ? 0 : n < end[1] ? 1 : 2;
    return data[i] + (n - (i == 0 ? 0 : end[i - 1])) * stride[i];
  }
};

struct Args {
  StackedWeights weights;
  Rows x, y;
  const unsigned char* residual;  // rows of y's dtype; null where absent
  int64_t residual_stride;
  const float* bias;  // null where absent
  const float* norm;
  double epsilon;
  int tokens, n, k;
  int outputs;  // columns of y: n, or n / 2 with swiglu
  bool swiglu;
  bool x_aligned;  // every chunk of x, and of the norm weight, starts at a multiple of 16 bytes
};

// `first` tokens are skipped and `count` taken, for kernels that take a few at a time.
Args make_args(const OpView& op, int64_t first, int64_t count);

// Whether every row of every weight starts at a multiple of 16 bytes.
bool weights_aligned(const OpView& op);

// All weights of one dtype, at most kMaxTokens tokens, K a multiple of `k_multiple`, and counts that fit an int.
bool fits(const OpView& op, int64_t k_multiple);

// Chunk `chunk` of token t's activations.
__device__ inline void load_x(const Args& a, int t, int chunk, float (&out)[kChunk]) {
  const void* row = a.x.row(t);
  if (!a.x_aligned) {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) out[i] = cuda::load_float(row, a.x.dtype, chunk * kChunk + i);
  } else if (a.x.dtype == DType::bf16) {
    cuda::load_floats(static_cast<const cuda::bf16*>(row) + chunk * kChunk, out);
  } else if (a.x.dtype == DType::f16) {
    cuda::load_floats(static_cast<const cuda::f16*>(row) + chunk * kChunk, out);
  } else {
    cuda::load_floats(static_cast<const float*>(row) + chunk * kChunk, out);
  }
}

__device__ inline void load_norm(const Args& a, int chunk, float (&out)[kChunk]) {
  if (a.x_aligned) {
    cuda::load_floats(a.norm + chunk * kChunk, out);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) out[i] = a.norm[chunk * kChunk + i];
  }
}

// 1 / sqrt(mean square + epsilon) from the sum of squares.
__device__ inline float inverse_rms(const Args& a, float sum_of_squares) {
  return 1.0f / sqrtf(sum_of_squares / static_cast<float>(a.k) + static_cast<float>(a.epsilon));
}

// The end of one output y[t, o]: its operands can be asked for before the dot products are there.
struct Finish {
  float bias = 0, up_bias = 0, residual = 0;

  __device__ void load(const Args& a, int t, int o) {
    if (a.bias != nullptr) {
      bias = a.bias[o];
      if (a.swiglu) up_bias = a.bias[o + a.outputs];
    }
    if (a.residual != nullptr) residual = cuda::load_float(a.residual + t * a.residual_stride, a.y.dtype, o);
  }

  // From the dot products, before the norm's scale, of row o and (with swiglu) of row o + outputs.
  __device__ void store(const Args& a, int t, int o, float gate, float up, float norm_scale) const {
    float z = gate * norm_scale + bias;
    if (a.swiglu) z = cuda::silu(z) * (up * norm_scale + up_bias);
    a.y.set(t, o, z + residual);
  }
};

}  // namespace rafter::decode
