// Joins the splits of attention_decode: a block per query head of a token scales each part to the largest top, and adds.
#include <algorithm>

#include "rafter/kernels/attention/cuda/decode.h"
#include "rafter/kernels/attention/cuda/decode_parts.cuh"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/vector.cuh"

namespace rafter::attention {

namespace {

constexpr int kThreads = 128;
constexpr int kRun = 4;  // columns of a thread

__global__ void __launch_bounds__(kThreads) join(const __grid_constant__ Problem p, const __grid_constant__ Parts parts) {
  __shared__ float sums[kThreads][kRun];
  cuda::allow_next();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % cuda::kWarp, head = static_cast<int>(blockIdx.x);
  const int64_t t = blockIdx.y;
  // Threads of a row share a part; each row takes every rows-th part.
  const int per_row = p.head_dim / kRun, rows = kThreads / per_row, row = thread / per_row, run = thread % per_row * kRun;
  cuda::wait_for_previous();
  const int position = p.positions[t];
  if (position < 0) return write_zeros(p, t, head, 1);
  const int splits = active_splits(parts, position);
  const int64_t first = parts.index(p, t, head, 0);

  float top = -INFINITY, total = 0;
  for (int s = lane; s < splits; s += cuda::kWarp) top = fmaxf(top, parts.stats[first + s].x);
  top = cuda::warp_max(top);
  for (int s = lane; s < splits; s += cuda::kWarp) {
    const float2 stats = parts.stats[first + s];
    total += stats.y * exp2f(stats.x - top);
  }
  total = cuda::warp_sum(total);

  float sum[kRun] = {};
  if (row < rows) {
#pragma unroll 4
    for (int s = row; s < splits; s += rows) {
      float part[kRun];
      cuda::load_floats(parts.out + (first + s) * p.head_dim + run, part);
      const float scale = exp2f(parts.stats[first + s].x - top);
#pragma unroll
      for (int i = 0; i < kRun; ++i) sum[i] = fmaf(scale, part[i], sum[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kRun; ++i) sums[thread][i] = sum[i];
  __syncthreads();
  for (int d = thread; d < p.head_dim; d += kThreads) {
    float value = 0;
    for (int r = 0; r < rows; ++r) value += sums[r * per_row + d / kRun][d % kRun];
    p.out.set(t, static_cast<int64_t>(head) * p.head_dim + d, value / total);
  }
}

}  // namespace

int64_t parts_bytes(const OpView& op, int splits) {
  if (splits == 1) return 0;
  const auto& attrs = op.attrs<AttentionAttrs>();
  return op.inputs[q].shape[0] * attrs.q_heads * splits *
         (attrs.head_dim * static_cast<int64_t>(sizeof(float)) + static_cast<int64_t>(sizeof(float2)));
}

Parts parts(const OpView& op, int splits, int min_pages) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  auto* out = static_cast<float*>(op.workspace);
  const int64_t floats = op.inputs[q].shape[0] * attrs.q_heads * splits * attrs.head_dim;
  return {out, reinterpret_cast<float2*>(out + floats), splits, min_pages};
}

void launch_join(const Problem& p, const Parts& parts, Stream& stream) {
  if (parts.splits == 1) return;
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(p.q_heads), static_cast<unsigned>(p.tokens)),
                .block = dim3(kThreads),
                .dependent = cuda::Dependent::early},
               join, p, parts);
}

}  // namespace rafter::attention

namespace rafter {

void register_attention_decode_cuda(Registry& registry) {
  attention::add_10_decode_split(registry);
  attention::add_11_decode_split_mma(registry);
}

}  // namespace rafter
