// Step 11: the splits of step 10 on the tensor cores, with K and V going from global memory straight into fragments.
//
// With six query heads to a KV head, f32 arithmetic takes as long as DRAM needs for the keys. Both products are turned
// round so that the up to eight heads of a group are the narrow side of mma.m16n8k16, where nothing is wasted:
//   S^T = K Q^T    16 keys of a page x 8 heads, over head_dim     A = K, B = Q
//   O^T = V^T P^T  16 columns of V x 8 heads, over the 16 keys    A = V^T, B = P^T
// Any order of head_dim serves in S as long as K and Q agree on it, so lane 4 g + c reads 16 bytes of keys g and g + 8 and
// has its fragments of two mma. V^T pairs up neighbouring keys: the lane reads 16 bytes of keys 2c, 2c + 1, 2c + 8 and
// 2c + 9 and swaps halves of words. P^T is the transpose of S^T, which movmatrix does in a register. Nothing but the final
// join of the warps passes through shared memory, and each warp asks for its next page as soon as it has used this one.
#include <algorithm>

#include "rafter/kernels/attention/cuda/decode.h"
#include "rafter/kernels/attention/cuda/decode_config.h"
#include "rafter/kernels/attention/cuda/decode_parts.cuh"
#include "rafter/kernels/cuda/device_limits.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/mma.cuh"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/streaming.cuh"

namespace rafter::attention {

namespace {

using cuda::kFullMask;
using cuda::kWarp;

constexpr int kTile = 8;    // query heads of one mma
constexpr int kVector = 8;  // elements in 16 bytes

// Lane 4 g + c has elements 2c, 2c + 1 of row g of an 8 x 8 matrix of 16-bit values, and gets those of column g.
__device__ uint32_t transpose_8x8(uint32_t word) {
  uint32_t out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(word));
  return out;
}

__device__ uint32_t word_of(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// One page as a lane holds it. Slots from `keys` on count as zeros and are not read: they may hold NaN.
template <int kDim>
struct Page {
  uint4 k[2][kDim / 32];  // keys g, g + 8: columns 32 j + 8 c ..
  uint4 v[4][kDim / 64];  // keys 2c, 2c + 1, 2c + 8, 2c + 9: columns 64 j + 8 g ..

  static __device__ uint4 load(const cuda::Rows& cache, int64_t row, int key, int keys, int column) {
    if (key >= keys) return {};
    return cuda::load_past_l1(cache.row<unsigned char>(row + key) + column * 2);
  }
  __device__ void request_k(const Problem& p, int64_t row, int keys, int g, int c) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < kDim / 32; ++j) k[i][j] = load(p.k_cache, row, g + 8 * i, keys, 32 * j + kVector * c);
    }
  }
  __device__ void request_v(const Problem& p, int64_t row, int keys, int g, int c) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < kDim / 64; ++j) {
        v[i][j] = load(p.v_cache, row, 2 * c + i % 2 + i / 2 * 8, keys, 64 * j + kVector * g);
      }
    }
  }
};

// A warp's online softmax for kTile heads. A lane answers for heads 2c and 2c + 1.
template <typename T, int kDim>
struct Softmax {
  uint4 q[kDim / 32];          // head g: columns 32 j + 8 c ..
  float top[2], total[2];      // of heads 2c and 2c + 1; total over this lane's keys only
  float out[kDim / 64][4][4];  // [j][i]: columns 64 j + 8 g + 2 i (first two) and + 1, heads 2c and 2c + 1

  __device__ void start(const Problem& p, int64_t t, int first_head, int heads, int g, int c) {
#pragma unroll
    for (int j = 0; j < kDim / 32; ++j) {
      const auto* row = p.q.row<unsigned char>(t) + ((first_head + g) * kDim + 32 * j + kVector * c) * 2;
      q[j] = g < heads ? cuda::load_past_l1(row) : uint4{};
    }
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      top[e] = -INFINITY;
      total[e] = 0;
    }
#pragma unroll
    for (int j = 0; j < kDim / 64; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) out[j][i][e] = 0;
      }
    }
  }

  // score[0], score[1]: key g, heads 2c and 2c + 1; score[2], score[3]: key g + 8.
  __device__ void scores(const Page<kDim>& page, float (&score)[4]) const {
#pragma unroll
    for (int j = 0; j < kDim / 32; ++j) {
      const uint4 &low = page.k[0][j], &high = page.k[1][j];
      cuda::mma<T>(score, {low.x, high.x, low.y, high.y}, {q[j].x, q[j].y});
      cuda::mma<T>(score, {low.z, high.z, low.w, high.w}, {q[j].z, q[j].w});
    }
  }

  // Scores to weights, as P^T's fragment; rescales what is there to the new top.
  __device__ void weigh(float (&score)[4], float scale, int keys, int g, uint32_t (&weights)[2]) {
#pragma unroll
    for (int e = 0; e < 4; ++e) score[e] = g + e / 2 * 8 < keys ? score[e] * scale : -INFINITY;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float most = fmaxf(score[e], score[e + 2]);
#pragma unroll
      for (int offset = 4; offset < kWarp; offset *= 2) most = fmaxf(most, __shfl_xor_sync(kFullMask, most, offset));
      const float new_top = fmaxf(top[e], most), rescale = exp2f(top[e] - new_top);
      top[e] = new_top;
      score[e] = exp2f(score[e] - new_top);
      score[e + 2] = exp2f(score[e + 2] - new_top);
      total[e] = total[e] * rescale + score[e] + score[e + 2];
#pragma unroll
      for (int j = 0; j < kDim / 64; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          out[j][i][e] *= rescale;
          out[j][i][e + 2] *= rescale;
        }
      }
    }
    weights[0] = transpose_8x8(cuda::pack_pair<T>(score[0], score[1]));
    weights[1] = transpose_8x8(cuda::pack_pair<T>(score[2], score[3]));
  }

  __device__ void add_values(const Page<kDim>& page, const uint32_t (&weights)[2]) {
#pragma unroll
    for (int j = 0; j < kDim / 64; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t w0 = word_of(page.v[0][j], i), w1 = word_of(page.v[1][j], i);
        const uint32_t w2 = word_of(page.v[2][j], i), w3 = word_of(page.v[3][j], i);
        cuda::mma<T>(out[j][i],
                     {__byte_perm(w0, w1, 0x5410), __byte_perm(w0, w1, 0x7632), __byte_perm(w2, w3, 0x5410),
                      __byte_perm(w2, w3, 0x7632)},
                     weights);
      }
    }
  }

  __device__ void write(const WarpResults& results, int warp, int g, int c) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int head = 2 * c + e;
      float sum = total[e];
#pragma unroll
      for (int offset = 4; offset < kWarp; offset *= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
      if (head >= results.heads) continue;
      if (g == 0) {
        results.top(warp, head) = top[e];
        results.total(warp, head) = sum;
      }
#pragma unroll
      for (int j = 0; j < kDim / 64; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          results.out(warp, head, 64 * j + 8 * g + 2 * i) = out[j][i][e];
          results.out(warp, head, 64 * j + 8 * g + 2 * i + 1) = out[j][i][e + 2];
        }
      }
    }
  }
};

template <typename T, int kDim, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    decode_split_mma(const __grid_constant__ Problem p, const __grid_constant__ Parts parts) {
  extern __shared__ float memory[];
  cuda::allow_next();
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int g = lane / 4, c = lane % 4, split = static_cast<int>(blockIdx.x);
  const int tiles = (p.group() + kTile - 1) / kTile;  // blocks that share a KV head
  const int kv_head = static_cast<int>(blockIdx.y) / tiles, within = static_cast<int>(blockIdx.y) % tiles * kTile;
  const int first_head = kv_head * p.group() + within, heads = min(kTile, p.group() - within);
  const int64_t t = blockIdx.z;
  const WarpResults results{memory, kWarps, heads, kDim};

  cuda::wait_for_previous();
  const int position = p.positions[t];
  if (position < 0) {
    if (parts.splits == 1) write_zeros(p, t, first_head, heads);
    return;
  }
  const PageRange range = pages_of(parts, position, split);
  if (range.first >= range.last) return;
  const int* pages = p.table.of_token(t);
  const auto row_of = [&](int page) { return (static_cast<int64_t>(pages[page]) * p.kv_heads + kv_head) * kPageTokens; };
  const auto keys_of = [&](int page) { return min(kPageTokens, position + 1 - page * kPageTokens); };

  Softmax<T, kDim> softmax;
  Page<kDim> page;
  int index = range.first + warp;
  // The rows of the page in hand, and of the one after it, whose number is looked up a page ahead.
  int64_t row = index < range.last ? row_of(index) : 0;
  int64_t next_row = index + kWarps < range.last ? row_of(index + kWarps) : 0;
  if (index < range.last) {
    page.request_k(p, row, keys_of(index), g, c);
    page.request_v(p, row, keys_of(index), g, c);
  }
  softmax.start(p, t, first_head, heads, g, c);
  while (index < range.last) {
    const int next = index + kWarps, keys = keys_of(index);
    const int64_t after = next + kWarps < range.last ? row_of(next + kWarps) : 0;
    float score[4] = {};
    uint32_t weights[2];
    softmax.scores(page, score);
    if (next < range.last) page.request_k(p, next_row, keys_of(next), g, c);
    softmax.weigh(score, p.scale * kLog2E, keys, g, weights);
    softmax.add_values(page, weights);
    if (next < range.last) page.request_v(p, next_row, keys_of(next), g, c);
    index = next;
    next_row = after;
  }
  softmax.write(results, warp, g, c);
  __syncthreads();
  write_block(p, parts, results, t, first_head, heads, split);
}

template <typename T, int kDim, int kWarps>
void launch_shape(const Problem& p, const Parts& parts, Stream& stream) {
  const auto kernel = decode_split_mma<T, kDim, kWarps>;
  const size_t most = WarpResults::bytes(kWarps, kTile, kDim);
  static const bool ready = [&] {
    cuda::share_whole_sm(kernel);
    cuda::allow_shared(kernel, most);
    return true;
  }();
  static_cast<void>(ready);
  const int64_t tiles = cuda::ceil_div(p.group(), kTile);
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(parts.splits), static_cast<unsigned>(p.kv_heads * tiles),
                             static_cast<unsigned>(p.tokens)),
                .block = dim3(kWarps * kWarp),
                .shared_bytes = WarpResults::bytes(kWarps, std::min(kTile, p.group()), kDim),
                .dependent = cuda::Dependent::early},
               kernel, p, parts);
  launch_join(p, parts, stream);
}

template <typename T, int kDim>
void launch_dim(const Problem& p, const Parts& parts, Stream& stream) {
  if (decode_config().warps == 8) return launch_shape<T, kDim, 8>(p, parts, stream);
  launch_shape<T, kDim, 4>(p, parts, stream);
}

template <typename T>
void launch_type(const Problem& p, const Parts& parts, Stream& stream) {
  if (p.head_dim == 64) return launch_dim<T, 64>(p, parts, stream);
  if (p.head_dim == 128) return launch_dim<T, 128>(p, parts, stream);
  launch_dim<T, 256>(p, parts, stream);
}

int splits_of(const OpView& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  const int64_t tiles = cuda::ceil_div(attrs.q_heads / attrs.kv_heads, kTile);
  return decode_splits(decode_config(), op.inputs[q].shape[0] * attrs.kv_heads * tiles, op.inputs[block_table].shape[1],
                       cuda::multiprocessors());
}

bool aligned(const OpView& op) {
  return cuda::rows_aligned(op.inputs[q]) && cuda::rows_aligned(op.inputs[k_cache]) && cuda::rows_aligned(op.inputs[v_cache]);
}

bool supports(const OpView& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  const DType cache = op.inputs[k_cache].dtype;
  return cuda::architecture() >= 80 && (attrs.head_dim == 64 || attrs.head_dim == 128 || attrs.head_dim == 256) &&
         (cache == DType::bf16 || cache == DType::f16) && op.inputs[q].dtype == cache && op.inputs[block_table].shape[1] > 0 &&
         op.inputs[q].shape[0] <= 65535 && attrs.q_heads <= 65535 && aligned(op);
}

void launch(const OpView& op, Stream& stream) {
  const int splits = splits_of(op);
  if (!aligned(op)) return launch_decode_split(op, splits, stream);  // a misaligned view, which shapes do not show
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  const Parts split = parts(op, splits, decode_config().min_pages);
  if (op.inputs[k_cache].dtype == DType::bf16) {
    launch_type<cuda::bf16>(p, split, stream);
  } else {
    launch_type<cuda::f16>(p, split, stream);
  }
}

int64_t workspace(const OpView& op) { return parts_bytes(op, splits_of(op)); }

}  // namespace

void add_11_decode_split_mma(Registry& registry) {
  registry.add({.op = OpKind::attention_decode,
                .device = DeviceKind::cuda,
                .name = "11_decode_split_mma",
                .step = 11,
                .supports = supports,
                .launch = launch,
                .workspace = workspace});
}

}  // namespace rafter::attention
