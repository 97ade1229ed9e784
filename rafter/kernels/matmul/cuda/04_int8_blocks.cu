// Weights in block formats on the integer tensor cores. x is quantised first, into the workspace, by the rule that every
// device follows: 15 bits in two int8 limbs (quantise.cuh says why). Then a block computes a tile of z, slice after slice of
// K. Weights are unpacked to int8 on their way to shared memory, once for all rows of the tile; each group of 32 is one
// exact integer product of a warp for each limb, joined, then scaled in f32. Sums run in the order of K whatever the tile,
// so a row's bits don't depend on its neighbours.
#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/async_copy.cuh"
#include "rafter/kernels/cuda/block_groups.cuh"
#include "rafter/kernels/cuda/mma.cuh"
#include "rafter/kernels/matmul/cuda/steps.h"
#include "rafter/kernels/matmul/cuda/tiles.cuh"
#include "rafter/kernels/quant/cuda/quantise_rows.cuh"

namespace rafter::matmul {

namespace {

constexpr int kThreads = 128, kWarpRows = 2;  // 2 x 2 warps
constexpr int kColumns = 64;
constexpr int kGroup = 32, kGroups = 4;          // groups of a slice
constexpr int kSlice = kGroup * kGroups;         // of K, in one stage: rows of 128 bytes
constexpr int kPass = kThreads / 8;              // rows of x that the threads copy at once, 16 bytes each
constexpr int kUnpackPass = kThreads / kGroups;  // rows of the weights that they unpack at once, a group each

// One slice in shared memory.
template <int kRows>
struct Stage {
  unsigned char x[quant::kLimbs][kRows * kSlice];
  unsigned char w[kColumns * kSlice];
  float2 x_scales[kGroups][kRows];     // scale, sum of the values
  float2 w_scales[kGroups][kColumns];  // scale, minimum; of Q6_K: scale, the bits of the two multipliers as f16
};

template <int kRows>
__device__ inline void fetch_x(const Tiles& p, const quant::QuantisedRows& x, int first_row, int k, Stage<kRows>& stage) {
  const int thread = static_cast<int>(threadIdx.x), chunk = thread % 8;
#pragma unroll
  for (int i = 0; i < kRows / kPass; ++i) {
    const int row = thread / 8 + i * kPass, t = first_row + row;
#pragma unroll
    for (int limb = 0; limb < quant::kLimbs; ++limb) {
      cuda::copy_16_async(stage.x[limb] + cuda::swizzled<kSlice>(row, chunk),
                          x.limbs[limb] + static_cast<int64_t>(t) * p.k + k + chunk * 16, t < p.rows && k + chunk * 16 < p.k);
    }
  }
  cuda::commit_copies();
  const int group = thread % kGroups;
#pragma unroll
  for (int i = 0; i < kRows / kUnpackPass; ++i) {
    const int row = thread / kGroups + i * kUnpackPass, t = first_row + row;
    const bool inside = t < p.rows && k + group * kGroup < p.k;
    stage.x_scales[group][row] =
        inside ? x.scales[static_cast<int64_t>(t) * (p.k / kGroup) + k / kGroup + group] : float2{0, 0};
  }
}

__device__ inline float2 packed_scales(const cuda::WeightGroup& w, bool six) {
  if (!six) return {w.scale, w.minimum};
  const auto multiplier = [&](int half) { return static_cast<float>(w.multiplier[half]); };
  return {w.scale, __uint_as_float(cuda::pack_pair<cuda::f16>(multiplier(0), multiplier(1)))};
}

template <bool kSix, int kRows>
__device__ inline void fetch_w(const Tiles& p, const ColumnTile& at, int k, Stage<kRows>& stage) {
  const int group = static_cast<int>(threadIdx.x) % kGroups;
#pragma unroll 1
  for (int column = static_cast<int>(threadIdx.x) / kGroups; column < kColumns; column += kUnpackPass) {
    const WeightRow from = weight_row(p, at, column);
    const cuda::Rows& weights = p.weights[from.weight];
    cuda::WeightGroup w{};
    if (from.row < p.weight_rows[from.weight] && k + group * kGroup < p.k) {
      w = cuda::weight_group(weights.dtype, weights.row(from.row), k / kGroup + group);
    }
    stage.w_scales[group][column] = packed_scales(w, kSix);
    auto* low = reinterpret_cast<uint4*>(stage.w + cuda::swizzled<kSlice>(column, group * 2));
    auto* high = reinterpret_cast<uint4*>(stage.w + cuda::swizzled<kSlice>(column, group * 2 + 1));
    *low = {w.q[0], w.q[1], w.q[2], w.q[3]};
    *high = {w.q[4], w.q[5], w.q[6], w.q[7]};
  }
}

// The product of one group, 16 rows by 8 columns, with Q6_K's multipliers of this thread's two columns applied.
template <bool kSix>
__device__ inline void group_product(const uint32_t (&a)[quant::kLimbs][4], const uint32_t (&b)[2], const float (&second)[2],
                                     float (&dot)[4]) {
  if constexpr (kSix) {
    int first_half[quant::kLimbs][4] = {}, second_half[quant::kLimbs][4] = {};
#pragma unroll
    for (int limb = 0; limb < quant::kLimbs; ++limb) {
      cuda::mma_int8_half(first_half[limb], a[limb][0], a[limb][1], b[0]);
      cuda::mma_int8_half(second_half[limb], a[limb][2], a[limb][3], b[1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t multipliers = __float_as_uint(second[i % 2]);
      dot[i] = quant::join_halves(
          cuda::half_bits(static_cast<uint16_t>(multipliers)), quant::join(first_half[0][i], first_half[1][i]),
          cuda::half_bits(static_cast<uint16_t>(multipliers >> 16)), quant::join(second_half[0][i], second_half[1][i]));
    }
  } else {
    int limbs[quant::kLimbs][4] = {};
#pragma unroll
    for (int limb = 0; limb < quant::kLimbs; ++limb) cuda::mma_int8(limbs[limb], a[limb], b);
#pragma unroll
    for (int i = 0; i < 4; ++i) dot[i] = static_cast<float>(quant::join(limbs[0][i], limbs[1][i]));
  }
}

template <bool kSix, int kRows, int kTilesM, int kTilesN>
__device__ inline void multiply_stage(const Stage<kRows>& stage, int warp_row, int warp_column,
                                      float (&sum)[kTilesM][kTilesN][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int group = 0; group < kGroups; ++group) {
    uint32_t b[kTilesN / 2][4];
    float4 scales[kTilesN];  // of this thread's two columns: scale, second, scale, second
#pragma unroll
    for (int n = 0; n < kTilesN / 2; ++n) {
      const int column = warp_column + n * 16 + lane % 8 + lane / 16 * 8;
      cuda::load_matrices(b[n], stage.w + cuda::swizzled<kSlice>(column, group * 2 + lane / 8 % 2));
    }
#pragma unroll
    for (int n = 0; n < kTilesN; ++n) {
      scales[n] = *reinterpret_cast<const float4*>(&stage.w_scales[group][warp_column + n * 8 + lane % 4 * 2]);
    }
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
      uint32_t a[quant::kLimbs][4];
#pragma unroll
      for (int limb = 0; limb < quant::kLimbs; ++limb) {
        cuda::load_matrices(a[limb],
                            stage.x[limb] + cuda::swizzled<kSlice>(warp_row + m * 16 + lane % 16, group * 2 + lane / 16));
      }
      const float2 row[2] = {stage.x_scales[group][warp_row + m * 16 + lane / 4],
                             stage.x_scales[group][warp_row + m * 16 + lane / 4 + 8]};
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) {
        const uint32_t column[2] = {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]};
        const float scale[2] = {scales[n].x, scales[n].z}, second[2] = {scales[n].y, scales[n].w};
        float dot[4];
        group_product<kSix>(a, column, second, dot);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float scaled = scale[i % 2] * dot[i];
          if constexpr (!kSix) scaled = fmaf(second[i % 2], row[i / 2].y, scaled);
          sum[m][n][i] = fmaf(row[i / 2].x, scaled, sum[m][n][i]);
        }
      }
    }
  }
}

template <int kTilesM, int kTilesN>
__device__ inline void keep_tile(float* tile, int warp_row, int warp_column, const float (&sum)[kTilesM][kTilesN][4]) {
  constexpr int kStride = kColumns + kTilePadding;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
    for (int n = 0; n < kTilesN; ++n) {
      float* at = tile + (warp_row + m * 16 + lane / 4) * kStride + warp_column + n * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(at) = {sum[m][n][0], sum[m][n][1]};
      *reinterpret_cast<float2*>(at + 8 * kStride) = {sum[m][n][2], sum[m][n][3]};
    }
  }
}

template <bool kSix, int kRows>
__global__ void __launch_bounds__(kThreads, 2) int8_blocks(Tiles p, quant::QuantisedRows x) {
  constexpr int kTilesM = kRows / kWarpRows / 16, kTilesN = kColumns / 2 / 8;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* stages = reinterpret_cast<Stage<kRows>*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % kWarpRows * (kTilesM * 16), warp_column = warp / kWarpRows * (kTilesN * 8);
  const TileAt tile = tile_at(static_cast<int>(blockIdx.x), (p.rows + kRows - 1) / kRows, p.first_tile[kMaxWeights]);
  const int first_row = tile.row_tile * kRows;
  const ColumnTile at = column_tile(p, tile.column_tile, kColumns);

  float sum[kTilesM][kTilesN][4] = {};
  const int slices = (p.k + kSlice - 1) / kSlice;
  for (int slice = 0; slice <= slices; ++slice) {
    // All are done with the slice before the last, whose stage is filled now, and the last one is there for all.
    cuda::wait_copies<0>();
    __syncthreads();
    if (slice < slices) {
      fetch_x(p, x, first_row, slice * kSlice, stages[slice % 2]);
      fetch_w<kSix>(p, at, slice * kSlice, stages[slice % 2]);
    }
    if (slice > 0) multiply_stage<kSix>(stages[(slice - 1) % 2], warp_row, warp_column, sum);
  }
  __syncthreads();
  auto* finished = reinterpret_cast<float*>(shared);
  keep_tile(finished, warp_row, warp_column, sum);
  __syncthreads();
  write_tile<kRows, kColumns, kThreads>(p, finished, first_row, at);
}

// Launches the tiles of the weights that are Q6_K, or of those that are not.
template <bool kSix, int kRows>
void launch_tiles(const OpView& op, const quant::QuantisedRows& x, Stream& stream) {
  const Tiles tiles = make_tiles(op, kColumns, [](DType dtype) { return (dtype == DType::q6_k) == kSix; });
  if (tiles.first_tile[kMaxWeights] == 0) return;
  constexpr size_t kBytes = 2 * sizeof(Stage<kRows>);
  static_assert(kBytes >= kRows * (kColumns + kTilePadding) * sizeof(float));
  const auto kernel = int8_blocks<kSix, kRows>;
  cuda::allow_shared(kernel, kBytes);
  cuda::launch(stream, {.grid = tile_count(tiles, kRows), .block = kThreads, .shared_bytes = kBytes}, kernel, tiles, x);
}

template <int kRows>
void launch_rows(const OpView& op, const quant::QuantisedRows& x, Stream& stream) {
  launch_tiles<false, kRows>(op, x, stream);
  launch_tiles<true, kRows>(op, x, stream);
}

// Large tiles unpack a weight for more rows; small ones keep more of the GPU at work where there are few.
constexpr int64_t kEnoughLargeTiles = 96;

void launch(const OpView& op, Stream& stream) {
  const Tensor& from = op.inputs[x];
  const int64_t rows = from.shape[0], k = from.shape[1];
  if (op.outputs[y].shape.elements() == 0) return;
  const auto quantised = quant::QuantisedRows::at(op.workspace, rows, k);
  quant::quantise_rows(cuda::rows(from), rows, k, quantised, stream);
  if (cuda::ceil_div(rows, 128) * cuda::ceil_div(total_n(op), kColumns) >= kEnoughLargeTiles) {
    launch_rows<128>(op, quantised, stream);
  } else {
    launch_rows<32>(op, quantised, stream);
  }
}

bool supports(const OpView& op) {
  if (op.inputs[norm].present()) return false;
  int six = 0;
  for (int i = 0; i < weight_count(op); ++i) {
    const DType dtype = op.inputs[static_cast<size_t>(weights + i)].dtype;
    if (!is_quantised(dtype)) return false;
    six += dtype == DType::q6_k ? 1 : 0;
  }
  return !op.attrs<MatmulAttrs>().swiglu || six != 1;  // a tile holds rows of gate and up, of one kind
}

int64_t workspace(const OpView& op) { return quant::QuantisedRows::bytes(op.inputs[x].shape[0], op.inputs[x].shape[1]); }

}  // namespace

void add_04_int8_blocks(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "04_int8_blocks",
                .step = 4,
                .supports = supports,
                .launch = launch,
                .workspace = workspace});
}

}  // namespace rafter::matmul
