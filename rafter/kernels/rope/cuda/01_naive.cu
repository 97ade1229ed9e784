// A warp for each head of each token, a pair of values at a time: any head width, dtypes and pairing.
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/rope/cuda/problem.cuh"
#include "rafter/kernels/rope/cuda/steps.h"

namespace rafter::rope_kv {

namespace {

constexpr int kWarps = 4;

__device__ void turn_head(const Problem& p, int64_t t, int position, int64_t from, const float* norm, cuda::Rows out,
                          int64_t out_row, int64_t to) {
  const int lane = threadIdx.x;
  float inverse = 1;
  if (norm != nullptr) {
    float squares = 0;
    for (int i = lane; i < p.head_dim; i += cuda::kWarp) squares += p.qkv.get(t, from + i) * p.qkv.get(t, from + i);
    inverse = 1.0f / sqrtf(cuda::warp_sum(squares) / static_cast<float>(p.head_dim) + p.epsilon);
  }
  for (int i = lane; i < p.head_dim / 2; i += cuda::kWarp) {
    const int first = p.interleaved ? 2 * i : i, second = p.interleaved ? 2 * i + 1 : i + p.head_dim / 2;
    float a = p.qkv.get(t, from + first), b = p.qkv.get(t, from + second);
    if (norm != nullptr) {
      a *= inverse * norm[first];
      b *= inverse * norm[second];
    }
    const Rotation turn = rotation(position, p.frequencies[i]);
    out.set(out_row, to + first, a * turn.cosine - b * turn.sine);
    out.set(out_row, to + second, a * turn.sine + b * turn.cosine);
  }
}

__global__ void naive(Problem p) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int lane = threadIdx.x;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  const int64_t t = index / p.heads();
  const int head = static_cast<int>(index % p.heads());
  if (t >= p.tokens) return;
  const int position = p.positions[t];
  const int64_t from = static_cast<int64_t>(head) * p.head_dim;
  if (head < p.q_heads) {
    if (position >= 0) return turn_head(p, t, position, from, p.q_norm, p.q, t, from);
    for (int i = lane; i < p.head_dim; i += cuda::kWarp) p.q.set(t, from + i, 0.0f);
    return;
  }
  if (position < 0) return;
  const int* pages = p.table.of_token(t);
  const int kv_head = (head - p.q_heads) % p.kv_heads;
  const int64_t slot = cuda::cache_row(pages, p.kv_heads, position, kv_head);
  if (head < p.q_heads + p.kv_heads) return turn_head(p, t, position, from, p.k_norm, p.k_cache, slot, 0);
  for (int i = lane; i < p.head_dim; i += cuda::kWarp) p.v_cache.set(slot, i, p.qkv.get(t, from + i));
}

void launch(const OpView& op, Stream& stream) {
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  cuda::launch_in_step<naive>(stream, cuda::blocks_for(p.tokens * p.heads(), kWarps), dim3(cuda::kWarp, kWarps), p);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::rope_kv,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::rope_kv
