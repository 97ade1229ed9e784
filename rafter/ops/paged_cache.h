// Where a position of a sequence lies in a paged cache [pages, kv_heads, 16, head_dim]: shared by the references of
// rope_kv and attention.
#pragma once

#include "rafter/ops/rope_kv.h"

namespace rafter {

// Row of block_table that token t reads: its own where every token is a sequence, else the only one.
inline int64_t sequence_of(const Tensor& block_table, int64_t token) { return block_table.shape[0] == 1 ? 0 : token; }

// Index of element 0 of (position, head).
inline int64_t cache_index(const Tensor& cache, const Tensor& block_table, int64_t sequence, int64_t position, int64_t head) {
  const int64_t page = block_table.row<int32_t>(sequence)[position / kPageTokens];
  return ((page * cache.shape[1] + head) * kPageTokens + position % kPageTokens) * cache.shape[3];
}

}  // namespace rafter
