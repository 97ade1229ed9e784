// Where a position of a sequence lies in a paged KV cache [pages, kv_heads, 16, head_dim].
#pragma once

#include "rafter/ops/paged_cache.h"

namespace rafter {

// The head_dim values of (position, KV head): a row of the cache, whose rows are counted over its first three axes.
inline std::byte* cache_row(const Tensor& cache, const Tensor& block_table, int64_t sequence, int64_t position, int64_t head) {
  const int64_t page = block_table.row<int32_t>(sequence)[position / kPageTokens];
  return cache.row((page * cache.shape[1] + head) * kPageTokens + position % kPageTokens);
}

}  // namespace rafter
