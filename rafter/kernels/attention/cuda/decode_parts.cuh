// What the splitting kernels of attention_decode share: which pages a block takes, and how partial softmaxes join, first
// of a block's warps, then of a sequence's splits.
//
// A partial result over some keys is (top, total, out): the largest score, in units of log2, and with the weights
// 2^(score - top) their sum and their weighted sum of V. Two join by scaling both to the larger top.
#pragma once

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/attention/cuda/problem.cuh"

namespace rafter::attention {

struct Parts {
  float* out;     // [tokens, q_heads, splits, head_dim]
  float2* stats;  // [tokens, q_heads, splits]: top, total
  int splits;     // 1: no parts, blocks write the op's output
  int min_pages;

  __device__ int64_t index(const Problem& p, int64_t t, int head, int split) const {
    return (t * p.q_heads + head) * splits + split;
  }
};

int64_t parts_bytes(const OpView& op, int splits);
Parts parts(const OpView& op, int splits, int min_pages);

// Joins the parts into the op's output; nothing to do for one split.
void launch_join(const Problem& p, const Parts& parts, Stream& stream);

// The pages [first, last) of a split, from the sequence's length alone.
struct PageRange {
  int first, last;
};

__device__ inline int pages_per_split(const Parts& parts, int position) {
  const int pages = position / kPageTokens + 1;
  return max(parts.min_pages, (pages + parts.splits - 1) / parts.splits);
}

// Splits that have pages; the others wrote nothing.
__device__ inline int active_splits(const Parts& parts, int position) {
  const int pages = position / kPageTokens + 1, each = pages_per_split(parts, position);
  return (pages + each - 1) / each;
}

__device__ inline PageRange pages_of(const Parts& parts, int position, int split) {
  const int pages = position / kPageTokens + 1, each = pages_per_split(parts, position);
  return {min(split * each, pages), min((split + 1) * each, pages)};
}

// The partial results of a block's warps, in shared memory: sizes at run time, in one array of floats.
struct WarpResults {
  float* memory;
  int warps, heads, dim;

  __host__ __device__ static size_t bytes(int warps, int heads, int dim) {
    return static_cast<size_t>(warps * heads * (dim + 2)) * sizeof(float);
  }
  __device__ float& top(int warp, int head) const { return memory[warp * heads + head]; }
  __device__ float& total(int warp, int head) const { return memory[(warps + warp) * heads + head]; }
  __device__ float& out(int warp, int head, int i) const { return memory[2 * warps * heads + (warp * heads + head) * dim + i]; }
};

// Joins the warps and writes the block's result for `heads` query heads from `first_head` on: to the split's part, or
// to the output where there is one split. All threads of the block, after a barrier. Warps without keys have top -inf.
__device__ inline void write_block(const Problem& p, const Parts& parts, const WarpResults& results, int64_t t, int first_head,
                                   int heads, int split) {
  for (int i = static_cast<int>(threadIdx.x); i < heads * p.head_dim; i += static_cast<int>(blockDim.x)) {
    const int head = i / p.head_dim, d = i % p.head_dim;
    float top = results.top(0, head), total = 0, out = 0;
    for (int w = 1; w < results.warps; ++w) top = fmaxf(top, results.top(w, head));
    for (int w = 0; w < results.warps; ++w) {
      const float scale = exp2f(results.top(w, head) - top);
      total += scale * results.total(w, head);
      out += scale * results.out(w, head, d);
    }
    if (parts.splits == 1) {
      p.out.set(t, static_cast<int64_t>(first_head + head) * p.head_dim + d, out / total);
    } else {
      const int64_t part = parts.index(p, t, first_head + head, split);
      parts.out[part * p.head_dim + d] = out;
      if (d == 0) parts.stats[part] = {top, total};
    }
  }
}

// A padding row: zeros, by whoever writes the output.
__device__ inline void write_zeros(const Problem& p, int64_t t, int first_head, int heads) {
  for (int i = static_cast<int>(threadIdx.x); i < heads * p.head_dim; i += static_cast<int>(blockDim.x)) {
    p.out.set(t, static_cast<int64_t>(first_head) * p.head_dim + i, 0.0f);
  }
}

inline constexpr float kLog2E = 1.4426950408889634f;

}  // namespace rafter::attention
