// A warp for each query head of each token, its lanes side by side along the head: keys and values are read in coalesced
// rows, eight keys at a time, and the softmax is taken online in registers. All in f32, for any dtypes and most widths,
// prefill and decode. Neighbouring warps take neighbouring tokens of a head, which read the same keys.
#include "rafter/kernels/attention/cuda/problem.cuh"
#include "rafter/kernels/attention/cuda/steps.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/cuda/vector.cuh"

namespace rafter::attention {

namespace {

constexpr int kWarps = 4;
constexpr int kKeys = 8;  // at a time; they share a page

// A softmax-weighted sum of rows that grows key by key; each lane holds kWidth of its columns.
template <int kWidth>
struct Running {
  float out[kWidth] = {}, top = -INFINITY, total = 0;

  // Scales what is there to the new largest score, and turns the scores into weights.
  __device__ void admit(float (&score)[kKeys]) {
    float new_top = top;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) new_top = fmaxf(new_top, score[i]);
    const float base = new_top == -INFINITY ? 0.0f : new_top, rescale = expf(top - base);
    top = new_top;
    total *= rescale;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) out[j] *= rescale;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      score[i] = expf(score[i] - base);
      total += score[i];
    }
  }
};

template <typename Cache, int kWidth>
__global__ void __launch_bounds__(kWarps* cuda::kWarp) warps(Problem p) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  const int64_t t = unit % p.tokens;
  const auto head = static_cast<int>(unit / p.tokens);
  if (head >= p.q_heads) return;
  const int position = p.positions[t], kv_head = head / p.group(), first_column = lane * kWidth;
  const bool inside = first_column < p.head_dim;  // a width below 32 lanes' worth leaves the last lanes idle
  const int64_t column = static_cast<int64_t>(head) * p.head_dim + first_column;
  const int* pages = p.table.of_token(t);
  float query[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) query[j] = inside ? p.q.get(t, column + j) * p.scale : 0.0f;

  Running<kWidth> running;
  for (int first = 0; first <= position; first += kKeys) {
    const int64_t row = cuda::cache_row(pages, p.kv_heads, first, kv_head);
    float key[kKeys][kWidth] = {}, score[kKeys];
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      if (inside && first + i <= position) cuda::load_floats(p.k_cache.row<Cache>(row + i) + first_column, key[i]);
    }
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      float dot = 0;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) dot = fmaf(query[j], key[i][j], dot);
      dot = cuda::warp_sum(dot);
      score[i] = first + i <= position ? dot : -INFINITY;
    }
    running.admit(score);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      if (!inside || first + i > position) continue;
      float value[kWidth];
      cuda::load_floats(p.v_cache.row<Cache>(row + i) + first_column, value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) running.out[j] = fmaf(score[i], value[j], running.out[j]);
    }
  }
  if (!inside) return;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) p.out.set(t, column + j, position < 0 ? 0.0f : running.out[j] / running.total);
}

template <typename Cache>
void launch_width(const Problem& p, Stream& stream) {
  const unsigned grid = cuda::blocks_for(p.tokens * p.q_heads, kWarps);
  const dim3 block(cuda::kWarp, kWarps);
  if (p.head_dim <= 64) return cuda::launch_in_step<warps<Cache, 2>>(stream, grid, block, p);
  if (p.head_dim <= 128) return cuda::launch_in_step<warps<Cache, 4>>(stream, grid, block, p);
  cuda::launch_in_step<warps<Cache, 8>>(stream, grid, block, p);
}

void launch(const OpView& op, Stream& stream) {
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  cuda::with_float_type(p.k_cache.dtype, [&]<typename Cache>(Cache) { launch_width<Cache>(p, stream); });
}

bool supports(const OpView& op) {
  const int64_t width = op.attrs<AttentionAttrs>().head_dim;
  const Tensor &k = op.inputs[k_cache], &v = op.inputs[v_cache];
  return width % (width <= 64    ? 2
                  : width <= 128 ? 4
                                 : 8) ==
             0 &&
         width <= 256 && k.dtype == v.dtype && cuda::rows_aligned(k) && cuda::rows_aligned(v);
}

}  // namespace

void add_02_warps(Registry& registry) {
  for (const OpKind kind : {OpKind::attention_prefill, OpKind::attention_decode}) {
    registry.add(
        {.op = kind, .device = DeviceKind::cuda, .name = "02_warps", .step = 2, .supports = supports, .launch = launch});
  }
}

}  // namespace rafter::attention
