// Where a position of a sequence lies in a paged KV cache [pages, kv_heads, 16, head_dim].
#pragma once

#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/ops/rope_kv.h"

namespace rafter::cuda {

struct BlockTable {
  const int* pages;  // [sequences, width]
  int64_t stride;    // ints from one sequence to the next
  int64_t sequences;
  int width;  // pages per sequence

  // Row of the table that token t reads: its own where every token is a sequence, else the only one.
  __device__ const int* of_token(int64_t t) const { return pages + (sequences == 1 ? 0 : t) * stride; }
};

inline BlockTable block_table(const Tensor& tensor) {
  return {tensor.as<const int>(), tensor.row_stride / static_cast<int64_t>(sizeof(int)), tensor.shape[0],
          static_cast<int>(tensor.shape[1])};
}

// The row of the cache, counted over its first three axes, that holds (position, KV head).
__device__ inline int64_t cache_row(const int* pages, int64_t kv_heads, int position, int64_t head) {
  return (pages[position / kPageTokens] * kv_heads + head) * kPageTokens + position % kPageTokens;
}

}  // namespace rafter::cuda
