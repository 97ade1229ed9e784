// Prefill on the tensor cores, tile by tile: a block keeps 64 rows of queries in registers and walks over their keys, 64 at
// a time, in shared memory; scores become weights in registers and go straight into the product with V. No score is ever
// stored, and the next tile of K and V is on its way while one is multiplied.
// T. Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", 2023.
//
// A row is a query head of a token, and the heads that share a KV head are neighbours: they share its tiles, and short
// prompts fill a block sooner. A row meets its keys in the same tiles whatever rows surround it, so its bits don't depend
// on them. A key past a row's position is masked; one that no row of the block may see is not read at all, whatever is there.
#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/attention/cuda/problem.cuh"
#include "rafter/kernels/attention/cuda/steps.h"
#include "rafter/kernels/cuda/async_copy.cuh"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/fast_exp2.cuh"
#include "rafter/kernels/cuda/mma.cuh"
#include "rafter/kernels/cuda/reduce.cuh"

namespace rafter::attention {

namespace {

constexpr int kWarps = 4, kThreads = kWarps * 32;
constexpr int kRows = kWarps * 16;  // of queries, in a block
constexpr int kKeys = 64;           // in a tile

template <int kDim>
struct FlashShape {
  static constexpr int kRowBytes = kDim * 2;
  static constexpr int kChunks = kDim / 8;          // of 16 bytes, in a row
  static constexpr int kPass = kThreads / kChunks;  // rows that the threads copy at once
  static constexpr int kTileBytes = kKeys * kRowBytes;
  static constexpr int kSharedBytes = 4 * kTileBytes;  // two stages of K and V; the queries pass through the second
};

// Row `index` of a KV head's queries.
struct QueryRow {
  int64_t token;
  int head;
  bool inside;
};

__device__ inline QueryRow query_row(const Problem& p, int kv_head, int64_t index) {
  const int group = p.group();
  return {index / group, kv_head * group + static_cast<int>(index % group), index < p.tokens * group};
}

template <int kDim>
__device__ inline void fetch_queries(const Problem& p, int kv_head, int64_t first, unsigned char* tile) {
  using Flash = FlashShape<kDim>;
  const int chunk = static_cast<int>(threadIdx.x) % Flash::kChunks;
  for (int row = static_cast<int>(threadIdx.x) / Flash::kChunks; row < kRows; row += Flash::kPass) {
    const QueryRow from = query_row(p, kv_head, first + row);
    const unsigned char* source = p.q.row<unsigned char>(from.inside ? from.token : 0);
    cuda::copy_16_async(tile + cuda::swizzled<Flash::kRowBytes>(row, chunk), source + (from.head * kDim + chunk * 8) * 2,
                        from.inside);
  }
}

// Keys first.. of K and V, as far as `last`; zeros beyond it.
template <int kDim>
__device__ inline void fetch_keys(const Problem& p, int kv_head, int first, int last, unsigned char* stage) {
  using Flash = FlashShape<kDim>;
  const int chunk = static_cast<int>(threadIdx.x) % Flash::kChunks;
#pragma unroll
  for (int i = 0; i < kKeys / Flash::kPass; ++i) {
    const int row = static_cast<int>(threadIdx.x) / Flash::kChunks + i * Flash::kPass, key = first + row;
    const bool inside = key <= last;
    const int64_t from = inside ? cuda::cache_row(p.table.pages, p.kv_heads, key, kv_head) : 0;
    unsigned char* to = stage + cuda::swizzled<Flash::kRowBytes>(row, chunk);
    cuda::copy_16_async(to, p.k_cache.row<unsigned char>(from) + chunk * 16, inside);
    cuda::copy_16_async(to + Flash::kTileBytes, p.v_cache.row<unsigned char>(from) + chunk * 16, inside);
  }
  cuda::commit_copies();
}

// The smallest and the largest position of the block's rows.
struct Span {
  int low, high;
};

__device__ inline Span block_span(int a, int b) {
  __shared__ int lows[kWarps], highs[kWarps];
  const int low = cuda::warp_fold(min(a, b), [](int x, int y) { return min(x, y); });
  const int high = cuda::warp_fold(max(a, b), [](int x, int y) { return max(x, y); });
  if (threadIdx.x % 32 == 0) lows[threadIdx.x / 32] = low, highs[threadIdx.x / 32] = high;
  __syncthreads();
  Span span{lows[0], highs[0]};
#pragma unroll
  for (int i = 1; i < kWarps; ++i) span = {min(span.low, lows[i]), max(span.high, highs[i])};
  return span;
}

// What a warp knows of its 16 rows. Lane 4g + t holds parts of rows g and g + 8.
template <typename T, int kDim>
struct WarpRows {
  uint32_t query[kDim / 16][4];
  float out[kDim / 8][4] = {};
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {};  // the total of this lane's columns alone
  int position[2];

  __device__ void load_queries(const unsigned char* tile, int first_row) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      cuda::load_matrices(query[i], tile + cuda::swizzled<kDim * 2>(first_row + lane % 16, i * 2 + lane / 16));
    }
  }

  __device__ void score(const unsigned char* keys, float (&scores)[kKeys / 8][4]) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        uint32_t b[4];
        cuda::load_matrices(b, keys + cuda::swizzled<kDim * 2>(n * 16 + lane % 8 + lane / 16 * 8, i * 2 + lane / 8 % 2));
        const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
        cuda::mma<T>(scores[n * 2], query[i], low);
        cuda::mma<T>(scores[n * 2 + 1], query[i], high);
      }
    }
  }

  __device__ void mask(int first_key, float (&scores)[kKeys / 8][4]) const {
    const int column = first_key + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (column + n * 8 + i % 2 > position[i / 2]) scores[n][i] = -INFINITY;
      }
    }
  }

  // Scores to weights, in place; `scale` is positive and includes log2(e).
  __device__ void weigh(float scale, float (&scores)[kKeys / 8][4]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float new_top = top[r];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) new_top = fmaxf(new_top, fmaxf(scores[n][r * 2], scores[n][r * 2 + 1]));
      new_top = fmaxf(new_top, __shfl_xor_sync(cuda::kFullMask, new_top, 1));
      new_top = fmaxf(new_top, __shfl_xor_sync(cuda::kFullMask, new_top, 2));
      const float base = new_top == -INFINITY ? 0.0f : new_top * scale;
      // Exactly 1 where the top stays: a tile that lies past this row, read for its neighbours' sake, must not change a bit.
      const float rescale = top[r] == new_top ? 1.0f : cuda::fast_exp2((top[r] - new_top) * scale);
      top[r] = new_top;
      total[r] *= rescale;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n) out[n][r * 2] *= rescale, out[n][r * 2 + 1] *= rescale;
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int i = r * 2; i < r * 2 + 2; ++i) {
          scores[n][i] = cuda::fast_exp2(fmaf(scores[n][i], scale, -base));
          total[r] += scores[n][i];
        }
      }
    }
  }

  // A tile's weights are laid out as an accumulator; two of its columns of 8 are one operand of 16 keys.
  __device__ void add_values(const unsigned char* values, const float (&weights)[kKeys / 8][4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      const auto &low = weights[k * 2], &high = weights[k * 2 + 1];
      const uint32_t a[4] = {cuda::pack_pair<T>(low[0], low[1]), cuda::pack_pair<T>(low[2], low[3]),
                             cuda::pack_pair<T>(high[0], high[1]), cuda::pack_pair<T>(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < kDim / 16; ++n) {
        uint32_t b[4];
        cuda::load_matrices_transposed(b, values + cuda::swizzled<kDim * 2>(k * 16 + lane % 16, n * 2 + lane / 16));
        const uint32_t first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
        cuda::mma<T>(out[n * 2], a, first);
        cuda::mma<T>(out[n * 2 + 1], a, second);
      }
    }
  }

  __device__ void store(const Problem& p, const QueryRow& to, int r) const {
    float sum = total[r];
    sum += __shfl_xor_sync(cuda::kFullMask, sum, 1);
    sum += __shfl_xor_sync(cuda::kFullMask, sum, 2);
    if (!to.inside) return;
    const float inverse = position[r] < 0 ? 0.0f : 1.0f / sum;
    auto* row = p.out.row<T>(to.token) + to.head * kDim + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      *reinterpret_cast<uint32_t*>(row + n * 8) = cuda::pack_pair<T>(out[n][r * 2] * inverse, out[n][r * 2 + 1] * inverse);
    }
  }
};

template <typename T, int kDim>
__global__ void __launch_bounds__(kThreads, 2) flash(Problem p, float scale) {
  using Flash = FlashShape<kDim>;
  extern __shared__ __align__(128) unsigned char shared[];
  const int kv_head = static_cast<int>(blockIdx.y), warp = static_cast<int>(threadIdx.x) / 32;
  // The last rows have the most keys: they go first.
  const int64_t first_row = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int64_t own_row = first_row + warp * 16 + threadIdx.x % 32 / 4;
  const QueryRow row[2] = {query_row(p, kv_head, own_row), query_row(p, kv_head, own_row + 8)};
  WarpRows<T, kDim> rows;
#pragma unroll
  for (int r = 0; r < 2; ++r) rows.position[r] = row[r].inside ? p.positions[row[r].token] : -1;
  const Span span = block_span(rows.position[0], rows.position[1]);
  const int tiles = span.high < 0 ? 0 : span.high / kKeys + 1;

  unsigned char* second = shared + 2 * Flash::kTileBytes;
  fetch_queries<kDim>(p, kv_head, first_row, second);
  fetch_keys<kDim>(p, kv_head, 0, span.high, shared);
  cuda::wait_copies<0>();
  __syncthreads();
  rows.load_queries(second, warp * 16);
  for (int tile = 0; tile < tiles; ++tile) {
    cuda::wait_copies<0>();
    __syncthreads();  // the tile is there for all, and all are done with what the other stage holds
    const unsigned char* stage = shared + tile % 2 * 2 * Flash::kTileBytes;
    if (tile + 1 < tiles) {
      fetch_keys<kDim>(p, kv_head, (tile + 1) * kKeys, span.high, shared + (tile + 1) % 2 * 2 * Flash::kTileBytes);
    }
    float scores[kKeys / 8][4] = {};
    rows.score(stage, scores);
    if (tile * kKeys + kKeys - 1 > span.low) rows.mask(tile * kKeys, scores);
    rows.weigh(scale, scores);
    rows.add_values(stage + Flash::kTileBytes, scores);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) rows.store(p, row[r], r);
}

template <typename T, int kDim>
void launch_as(const Problem& p, Stream& stream) {
  constexpr int kBytes = FlashShape<kDim>::kSharedBytes;
  constexpr double kLog2e = 1.4426950408889634;
  cuda::allow_shared(flash<T, kDim>, kBytes);
  cuda::launch(stream,
               {.grid = dim3(cuda::blocks_for(p.tokens * p.group(), kRows), static_cast<unsigned>(p.kv_heads)),
                .block = kThreads,
                .shared_bytes = kBytes},
               flash<T, kDim>, p, p.scale * kLog2e);
}

void launch(const OpView& op, Stream& stream) {
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  const bool narrow = p.head_dim == 64;
  if (p.q.dtype == DType::f16) {
    narrow ? launch_as<cuda::f16, 64>(p, stream) : launch_as<cuda::f16, 128>(p, stream);
  } else {
    narrow ? launch_as<cuda::bf16, 64>(p, stream) : launch_as<cuda::bf16, 128>(p, stream);
  }
}

bool supports(const OpView& op) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  const DType dtype = op.inputs[q].dtype;
  if (dtype != DType::f16 && dtype != DType::bf16) return false;
  if (op.inputs[k_cache].dtype != dtype || op.inputs[v_cache].dtype != dtype || op.outputs[out].dtype != dtype) return false;
  if ((attrs.head_dim != 64 && attrs.head_dim != 128) || attrs.scale <= 0) return false;
  return cuda::rows_aligned(op.inputs[q]) && cuda::rows_aligned(op.inputs[k_cache]) && cuda::rows_aligned(op.inputs[v_cache]) &&
         cuda::rows_aligned(op.outputs[out]);
}

}  // namespace

void add_03_flash(Registry& registry) {
  registry.add({.op = OpKind::attention_prefill,
                .device = DeviceKind::cuda,
                .name = "03_flash",
                .step = 3,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::attention
