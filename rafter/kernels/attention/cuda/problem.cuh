// What every attention kernel of this folder is given.
#pragma once

#include "rafter/kernels/cuda/paged.cuh"
#include "rafter/ops/attention.h"

namespace rafter::attention {

struct Problem {
  cuda::Rows q, k_cache, v_cache, out;
  cuda::BlockTable table;
  const int* positions;
  int64_t tokens;
  int q_heads, kv_heads, head_dim;
  float scale;

  __host__ __device__ int group() const { return q_heads / kv_heads; }  // query heads that share a KV head
};

inline Problem problem(const OpView& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  return {.q = cuda::rows(op.inputs[q]),
          .k_cache = cuda::rows(op.inputs[k_cache]),
          .v_cache = cuda::rows(op.inputs[v_cache]),
          .out = cuda::rows(op.outputs[out]),
          .table = cuda::block_table(op.inputs[block_table]),
          .positions = op.inputs[positions].as<const int>(),
          .tokens = op.inputs[q].shape[0],
          .q_heads = static_cast<int>(attrs.q_heads),
          .kv_heads = static_cast<int>(attrs.kv_heads),
          .head_dim = static_cast<int>(attrs.head_dim),
          .scale = static_cast<float>(attrs.scale)};
}

}  // namespace rafter::attention
