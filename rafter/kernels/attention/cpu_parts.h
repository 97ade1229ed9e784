// The parts of the vectorised CPU attention: cpu_block.cpp computes, for every Highway target; cpu_pages.cpp says for
// which heads and tokens, and on which thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rafter/device/tensor.h"
#include "rafter/ops/rope_kv.h"

namespace rafter::attention_cpu {

// Keys whose softmax is kept apart until it is merged into the whole, block after block: the same blocks in the same
// order whoever computes them, so that prefill and decode, and any number of threads, give the same bits.
inline constexpr int64_t kBlockPages = 8;
inline constexpr int64_t kBlockKeys = kBlockPages * kPageTokens;

// One KV head of one sequence.
struct Keys {
  DType dtype;
  const std::byte *k, *v;  // the head's first row in page 0
  int64_t page_bytes;      // from one page to the next
  int64_t head_dim;
  const int32_t* pages;  // the sequence's row of the block table
};

// A query or a result on its way: head_dim rounded up to whole vectors.
inline int64_t padded(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }

// The state of a row's softmax: the largest score, the sum of 2^(score - top) in the lanes of the keys, and, behind it,
// padded(head_dim) sums of those times v.
struct State {
  float top;
  float unused[15];
  float total[16];
  float* sum() { return reinterpret_cast<float*>(this + 1); }
  const float* sum() const { return reinterpret_cast<const float*>(this + 1); }
};
inline int64_t state_bytes(int64_t head_dim) { return static_cast<int64_t>(sizeof(State)) + padded(head_dim) * 4; }

// The keys, transposed, and the values of two pages, as floats: made once for all rows of a call.
inline int64_t pair_floats(int64_t head_dim) { return 4 * kPageTokens * padded(head_dim); }

struct BlockKernels {
  // head_dim values as floats, times `scale` and log2(e); zeros up to padded(head_dim).
  void (*load_query)(DType dtype, const void* q, int64_t head_dim, float scale, float* out);
  // The states of `rows` queries (padded(head_dim) floats apart) over block `block`. Row i attends up to position last[i]:
  // where that lies before the block, its state is that of no keys. `floats` is scratch of pair_floats().
  void (*attend)(const Keys& keys, int64_t block, int64_t rows, const float* queries, const int32_t* last, float* floats,
                 std::byte* states);
  // The state of no keys; one state added to another; the result of a state, which is used up.
  void (*start)(int64_t head_dim, State* state);
  void (*merge)(int64_t head_dim, const State& block, State* whole);
  void (*finish)(State* whole, DType dtype, int64_t head_dim, void* out);
};

BlockKernels block_kernels();  // null members on a machine without vectors

}  // namespace rafter::attention_cpu
