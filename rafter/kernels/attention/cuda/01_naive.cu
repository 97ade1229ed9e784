// A block for each query head of each token: a thread scores a key, then a thread sums a column of V. Any head width and
// dtypes, prefill and decode. The softmax is taken online, chunk after chunk of keys.
// M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.
#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/attention/cuda/problem.cuh"
#include "rafter/kernels/attention/cuda/steps.h"
#include "rafter/kernels/cuda/reduce.cuh"

namespace rafter::attention {

namespace {

constexpr int kThreads = 128;  // and keys of a chunk

__device__ float score(const Problem& p, int64_t t, int64_t column, int64_t cache_row) {
  float sum = 0;
  for (int i = 0; i < p.head_dim; ++i) sum += p.q.get(t, column + i) * p.k_cache.get(cache_row, i);
  return sum * p.scale;
}

__global__ void naive(Problem p) {
  extern __shared__ float out[];  // [head_dim]
  __shared__ float weights[kThreads], scratch[2][cuda::kWarp];
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t t = blockIdx.x / p.q_heads;
  const int head = static_cast<int>(blockIdx.x % p.q_heads), thread = threadIdx.x;
  const int64_t column = static_cast<int64_t>(head) * p.head_dim;
  const int position = p.positions[t];
  const int* pages = p.table.of_token(t);
  for (int i = thread; i < p.head_dim; i += kThreads) out[i] = 0;
  float top = -INFINITY, total = 0;
  for (int first = 0; first <= position; first += kThreads) {
    const int key = first + thread;
    const float s =
        key <= position ? score(p, t, column, cuda::cache_row(pages, p.kv_heads, key, head / p.group())) : -INFINITY;
    const float new_top = fmaxf(top, cuda::block_fold(s, scratch[0], -INFINITY, [](float a, float b) { return fmaxf(a, b); }));
    const float base = new_top == -INFINITY ? 0.0f : new_top;
    const float weight = key <= position ? expf(s - base) : 0.0f, rescale = expf(top - base);
    top = new_top;
    weights[thread] = weight;
    total = total * rescale + cuda::block_sum(weight, scratch[1]);  // its barrier publishes the weights too
    for (int i = thread; i < p.head_dim; i += kThreads) {
      float sum = out[i] * rescale;
      for (int j = 0; j < kThreads && first + j <= position; ++j) {
        sum += weights[j] * p.v_cache.get(cuda::cache_row(pages, p.kv_heads, first + j, head / p.group()), i);
      }
      out[i] = sum;
    }
    __syncthreads();
  }
  for (int i = thread; i < p.head_dim; i += kThreads) p.out.set(t, column + i, position < 0 ? 0.0f : out[i] / total);
}

void launch(const OpView& op, Stream& stream) {
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  cuda::launch(stream,
               {.grid = static_cast<unsigned>(p.tokens * p.q_heads),
                .block = kThreads,
                .shared_bytes = static_cast<size_t>(p.head_dim) * sizeof(float),
                .dependent = cuda::Dependent::early},
               naive, p);
}

}  // namespace

void add_01_naive(Registry& registry) {
  for (const OpKind kind : {OpKind::attention_prefill, OpKind::attention_decode}) {
    registry.add({.op = kind,
                  .device = DeviceKind::cuda,
                  .name = "01_naive",
                  .step = 1,
                  .supports = [](const OpView&) { return true; },
                  .launch = launch});
  }
}

}  // namespace rafter::attention
