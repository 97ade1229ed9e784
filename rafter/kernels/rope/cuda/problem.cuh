// What every rope_kv kernel is given, and the rotation itself.
#pragma once

#include "rafter/kernels/cuda/paged.cuh"

namespace rafter::rope_kv {

struct Problem {
  cuda::Rows qkv, q, k_cache, v_cache;
  const int* positions;
  cuda::BlockTable table;
  const float *frequencies, *q_norm, *k_norm;  // the norms may be null
  int64_t tokens;
  int q_heads, kv_heads, head_dim;
  bool interleaved;
  float epsilon;

  __host__ __device__ int heads() const { return q_heads + 2 * kv_heads; }  // of a row of qkv
};

inline Problem problem(const OpView& op) {
  const auto& attrs = op.attrs<RopeKvAttrs>();
  return {.qkv = cuda::rows(op.inputs[qkv]),
          .q = cuda::rows(op.outputs[q]),
          .k_cache = cuda::rows(op.outputs[k_cache]),
          .v_cache = cuda::rows(op.outputs[v_cache]),
          .positions = op.inputs[positions].as<const int>(),
          .table = cuda::block_table(op.inputs[block_table]),
          .frequencies = op.inputs[frequencies].as<const float>(),
          .q_norm = op.inputs[q_norm].as<const float>(),
          .k_norm = op.inputs[k_norm].as<const float>(),
          .tokens = op.inputs[qkv].shape[0],
          .q_heads = static_cast<int>(attrs.q_heads),
          .kv_heads = static_cast<int>(attrs.kv_heads),
          .head_dim = static_cast<int>(attrs.head_dim),
          .interleaved = attrs.interleaved,
          .epsilon = static_cast<float>(attrs.norm_epsilon)};
}

struct Rotation {
  float sine, cosine;
};

// The angle position * frequency in half turns, exact in double (17 bits by 24), brought to [-1, 1] before it becomes a
// float: as accurate at position 131072 as at 1, where a float angle would be off by up to 0.004.
__device__ inline Rotation rotation(int position, float frequency) {
  double half_turns = static_cast<double>(position) * static_cast<double>(frequency) * 0.318309886183790671538;
  half_turns -= 2.0 * rint(0.5 * half_turns);
  Rotation result;
  sincospif(static_cast<float>(half_turns), &result.sine, &result.cosine);
  return result;
}

}  // namespace rafter::rope_kv
