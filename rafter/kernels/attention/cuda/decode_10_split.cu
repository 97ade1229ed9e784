// Step 10: each sequence's keys are cut into splits, a block each, so that one sequence fills the GPU.
//
// A block serves up to four query heads that share a KV head, so that K and V are read once for them. Its warps take
// pages of 16 keys in turn: two lanes score a key, then every lane sums its columns of V. All in f32, for any mix of
// dtypes; step 11 does the same on the tensor cores where q and the cache are of one 16-bit type.
// T. Dao et al., "Flash-Decoding for long-context inference", 2023.
#include <algorithm>

#include "rafter/kernels/attention/cuda/decode.h"
#include "rafter/kernels/attention/cuda/decode_config.h"
#include "rafter/kernels/attention/cuda/decode_parts.cuh"
#include "rafter/kernels/cuda/device_limits.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/vector.cuh"

namespace rafter::attention {

namespace {

using cuda::kFullMask;
using cuda::kWarp;

constexpr int kWarps = 4;
constexpr int kHeads = 4;  // query heads of a block
constexpr int kRun = 4;    // elements of K that a lane reads at once
constexpr int kMaxDim = 256;

// kRun elements; single reads where rows are not aligned.
template <typename T>
__device__ void load_run(const T* source, bool aligned, float (&out)[kRun]) {
  if (aligned) {
    cuda::load_floats(source, out);
  } else {
#pragma unroll
    for (int i = 0; i < kRun; ++i) out[i] = cuda::to_float(source[i]);
  }
}

// A warp's online softmax over the pages it is given.
template <typename T, int kColumns>
struct Softmax {
  float top[kHeads], total[kHeads];  // total: over this lane's keys only, until finish()
  float out[kHeads][kColumns];       // column lane + 32 i of V

  __device__ Softmax() {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      top[h] = -INFINITY;
      total[h] = 0;
#pragma unroll
      for (int i = 0; i < kColumns; ++i) out[h][i] = 0;
    }
  }

  // The first `keys` slots of a page. `q` is scaled to log2 units; `weights` is this warp's scratch, [kHeads][16].
  __device__ void add(const Problem& p, const float* q, float* weights, int64_t row, int keys, bool aligned) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, key = lane / 2, half = lane % 2;
    float score[kHeads] = {};
    if (key < keys) {
      const T* k = p.k_cache.row<T>(row + key);
      for (int d = half * kRun; d < p.head_dim; d += 2 * kRun) {
        float in[kRun];
        load_run(k + d, aligned, in);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          const float4 query = *reinterpret_cast<const float4*>(q + h * p.head_dim + d);
          score[h] = fmaf(query.x, in[0], fmaf(query.y, in[1], fmaf(query.z, in[2], fmaf(query.w, in[3], score[h]))));
        }
      }
    }
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      const float s = score[h] + __shfl_xor_sync(kFullMask, score[h], 1);
      const float masked = key < keys ? s : -INFINITY;
      const float new_top = fmaxf(top[h], cuda::warp_max(masked));
      const float rescale = exp2f(top[h] - new_top), weight = exp2f(masked - new_top);
      top[h] = new_top;
      total[h] = total[h] * rescale + weight;
#pragma unroll
      for (int i = 0; i < kColumns; ++i) out[h][i] *= rescale;
      if (half == 0) weights[h * kPageTokens + key] = weight;
    }
    __syncwarp();
    for (int j = 0; j < keys; ++j) {
      const T* v = p.v_cache.row<T>(row + j);
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const int d = lane + i * kWarp;
        const float in = d < p.head_dim ? cuda::to_float(v[d]) : 0.0f;
#pragma unroll
        for (int h = 0; h < kHeads; ++h) out[h][i] = fmaf(weights[h * kPageTokens + j], in, out[h][i]);
      }
    }
    __syncwarp();
  }

  __device__ void write(const WarpResults& results, int warp, int heads) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      const float sum = cuda::warp_sum(lane % 2 == 0 ? total[h] : 0.0f);  // two lanes held each key
      if (h >= heads) continue;
      if (lane == 0) {
        results.top(warp, h) = top[h];
        results.total(warp, h) = sum;
      }
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        if (lane + i * kWarp < results.dim) results.out(warp, h, lane + i * kWarp) = out[h][i];
      }
    }
  }
};

template <typename T, int kColumns>
__global__ void __launch_bounds__(kWarps* kWarp)
    decode_split(const __grid_constant__ Problem p, const __grid_constant__ Parts parts, bool aligned) {
  extern __shared__ float4 memory[];
  __shared__ float weights[kWarps][kHeads * kPageTokens];
  cuda::allow_next();
  const int warp = static_cast<int>(threadIdx.x) / kWarp, split = static_cast<int>(blockIdx.x);
  const int head_blocks = (p.group() + kHeads - 1) / kHeads;
  const int kv_head = static_cast<int>(blockIdx.y) / head_blocks, within = static_cast<int>(blockIdx.y) % head_blocks * kHeads;
  const int first_head = kv_head * p.group() + within, heads = min(kHeads, p.group() - within);
  const int64_t t = blockIdx.z;
  float* q = reinterpret_cast<float*>(memory);  // [kHeads][head_dim], then the warps' results
  const WarpResults results{q + kHeads * p.head_dim, kWarps, kHeads, p.head_dim};

  cuda::wait_for_previous();
  const int position = p.positions[t];
  if (position < 0) {
    if (parts.splits == 1) write_zeros(p, t, first_head, heads);
    return;
  }
  const PageRange range = pages_of(parts, position, split);
  if (range.first >= range.last) return;
  for (int i = static_cast<int>(threadIdx.x); i < kHeads * p.head_dim; i += kWarps * kWarp) {
    const int64_t column = static_cast<int64_t>(first_head) * p.head_dim + i;
    q[i] = i < heads * p.head_dim ? p.q.get(t, column) * p.scale * kLog2E : 0.0f;
  }
  __syncthreads();
  Softmax<T, kColumns> softmax;
  const int* pages = p.table.of_token(t);
  for (int page = range.first + warp; page < range.last; page += kWarps) {
    const int first_key = page * kPageTokens;
    softmax.add(p, q, weights[warp], cuda::cache_row(pages, p.kv_heads, first_key, kv_head),
                min(kPageTokens, position + 1 - first_key), aligned);
  }
  softmax.write(results, warp, heads);
  __syncthreads();
  write_block(p, parts, results, t, first_head, heads, split);
}

int splits_of(const OpView& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  const int64_t head_blocks = cuda::ceil_div(attrs.q_heads / attrs.kv_heads, kHeads);
  return decode_splits(decode_config(), op.inputs[q].shape[0] * attrs.kv_heads * head_blocks, op.inputs[block_table].shape[1],
                       cuda::multiprocessors());
}

template <typename T, int kColumns>
void launch_shape(const Problem& p, const Parts& parts, bool aligned, Stream& stream) {
  const auto kernel = decode_split<T, kColumns>;
  static const bool ready = [&] {
    cuda::share_whole_sm(kernel);
    return true;
  }();
  static_cast<void>(ready);
  const int64_t head_blocks = cuda::ceil_div(p.group(), kHeads);
  const size_t shared =
      static_cast<size_t>(kHeads * p.head_dim) * sizeof(float) + WarpResults::bytes(kWarps, kHeads, p.head_dim);
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(parts.splits), static_cast<unsigned>(p.kv_heads * head_blocks),
                             static_cast<unsigned>(p.tokens)),
                .block = dim3(kWarps * kWarp),
                .shared_bytes = shared,
                .dependent = cuda::Dependent::early},
               kernel, p, parts, aligned);
  launch_join(p, parts, stream);
}

bool supports(const OpView& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  return attrs.head_dim % 8 == 0 && attrs.head_dim <= kMaxDim && op.inputs[block_table].shape[1] > 0 &&
         op.inputs[q].shape[0] <= 65535 && attrs.q_heads <= 65535;
}

int64_t workspace(const OpView& op) { return parts_bytes(op, splits_of(op)); }

void launch(const OpView& op, Stream& stream) { launch_decode_split(op, splits_of(op), stream); }

}  // namespace

void launch_decode_split(const OpView& op, int splits, Stream& stream) {
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  const Parts split = parts(op, splits, decode_config().min_pages);
  const bool aligned = cuda::rows_aligned(op.inputs[k_cache]) && cuda::rows_aligned(op.inputs[v_cache]);
  cuda::with_float_type(op.inputs[k_cache].dtype, [&](auto element) {
    using T = decltype(element);
    if (p.head_dim <= 64) return launch_shape<T, 2>(p, split, aligned, stream);
    if (p.head_dim <= 128) return launch_shape<T, 4>(p, split, aligned, stream);
    launch_shape<T, 8>(p, split, aligned, stream);
  });
}

void add_10_decode_split(Registry& registry) {
  registry.add({.op = OpKind::attention_decode,
                .device = DeviceKind::cuda,
                .name = "10_decode_split",
                .step = 10,
                .supports = supports,
                .launch = launch,
                .workspace = workspace});
}

}  // namespace rafter::attention
