// 16-bit activations and weights on the tensor cores: a block computes a tile of z, its warps a part of it each, from
// slices of x and the weights that arrive in shared memory a few steps ahead of their use (cp.async). Every byte fetched
// from L2 is used for 64 or 128 products instead of one, which moves the bound from memory to arithmetic.
// Every value is summed over K in the same order whatever the tile, so a row's bits don't depend on its neighbours.
#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/async_copy.cuh"
#include "rafter/kernels/cuda/mma.cuh"
#include "rafter/kernels/matmul/cuda/steps.h"
#include "rafter/kernels/matmul/cuda/tiles.cuh"

namespace rafter::matmul {

namespace {

constexpr int kSlice = 64;  // of K, in one stage: rows of 128 bytes
constexpr int kRowBytes = 128;
constexpr int kWarpRows = 2, kWarpColumns = 2;  // of a tile's warps
constexpr int kThreads = kWarpRows * kWarpColumns * 32;
constexpr int kPass = kThreads / 8;  // rows that the threads copy at once, 16 bytes each

template <int kRows, int kColumns, int kStages>
struct StageShape {
  static constexpr int kStageBytes = (kRows + kColumns) * kRowBytes;
  static constexpr int kTileBytes = kRows * (kColumns + kTilePadding) * 4;
  static constexpr int kSharedBytes = kStages * kStageBytes > kTileBytes ? kStages* kStageBytes : kTileBytes;
};

// Rows that one thread copies: every kPass-th from `data` on, `step` bytes apart, of which `valid` exist.
struct RowRun {
  const unsigned char* data;
  int64_t step;
  int valid;
};

__device__ inline int passes(int from, int limit, int step) { return from < limit ? (limit - from + step - 1) / step : 0; }

__device__ inline RowRun activation_run(const Tiles& p, int row) {
  return {p.x.row<unsigned char>(row), p.x.stride * kPass, passes(row, p.rows, kPass)};
}

// A tile's columns alternate between gate and up every eight, so kPass columns on are kPass / 2 rows on in either.
__device__ inline RowRun weight_run(const Tiles& p, const ColumnTile& at, int column) {
  static_assert(kPass % 16 == 0);
  const WeightRow from = weight_row(p, at, column);
  const int step = p.swiglu ? kPass / 2 : kPass;
  const cuda::Rows& w = p.weights[from.weight];
  return {w.row<unsigned char>(from.row), w.stride * step, passes(from.row, p.weight_rows[from.weight], step)};
}

template <int kRows>
__device__ inline void copy_slice(unsigned char* stage, const RowRun& run, int k, int limit) {
  const int chunk = static_cast<int>(threadIdx.x) % 8, row = static_cast<int>(threadIdx.x) / 8;
  const bool inside = k + chunk * 8 < limit;
#pragma unroll
  for (int i = 0; i < kRows / kPass; ++i) {
    cuda::copy_16_async(stage + cuda::swizzled<kRowBytes>(row + i * kPass, chunk),
                        run.data + i * run.step + (k + chunk * 8) * 2, inside && i < run.valid);
  }
}

// One slice: each warp multiplies its rows by its columns.
template <typename T, int kTilesM, int kTilesN>
__device__ inline void multiply_slice(const unsigned char* a_stage, const unsigned char* b_stage, int warp_row, int warp_column,
                                      float (&sum)[kTilesM][kTilesN][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 0; step < kSlice / 16; ++step) {
    uint32_t a[kTilesM][4], b[kTilesN / 2][4];
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
      cuda::load_matrices(a[m], a_stage + cuda::swizzled<kRowBytes>(warp_row + m * 16 + lane % 16, step * 2 + lane / 16));
    }
#pragma unroll
    for (int n = 0; n < kTilesN / 2; ++n) {
      const int column = warp_column + n * 16 + lane % 8 + lane / 16 * 8;
      cuda::load_matrices(b[n], b_stage + cuda::swizzled<kRowBytes>(column, step * 2 + lane / 8 % 2));
    }
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) {
        const uint32_t column[2] = {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]};
        cuda::mma<T>(sum[m][n], a[m], column);
      }
    }
  }
}

template <int kColumns, int kTilesM, int kTilesN>
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

template <typename T, int kRows, int kColumns, int kStages>
__global__ void __launch_bounds__(kThreads, 2) tensor_core(Tiles p) {
  using Stages = StageShape<kRows, kColumns, kStages>;
  constexpr int kTilesM = kRows / kWarpRows / 16, kTilesN = kColumns / kWarpColumns / 8;
  extern __shared__ __align__(128) unsigned char shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const int warp_row = warp % kWarpRows * (kTilesM * 16), warp_column = warp / kWarpRows * (kTilesN * 8);
  const TileAt tile = tile_at(static_cast<int>(blockIdx.x), (p.rows + kRows - 1) / kRows, p.first_tile[kMaxWeights]);
  const int first_row = tile.row_tile * kRows;
  const ColumnTile at = column_tile(p, tile.column_tile, kColumns);
  const RowRun a = activation_run(p, first_row + thread / 8), b = weight_run(p, at, thread / 8);

  const int slices = (p.k + kSlice - 1) / kSlice;
  const auto fetch = [&](int slice) {
    unsigned char* stage = shared + slice % kStages * Stages::kStageBytes;
    if (slice < slices) {
      copy_slice<kRows>(stage, a, slice * kSlice, p.k);
      copy_slice<kColumns>(stage + kRows * kRowBytes, b, slice * kSlice, p.k);
    }
    cuda::commit_copies();
  };
  float sum[kTilesM][kTilesN][4] = {};
  for (int slice = 0; slice < kStages - 1; ++slice) fetch(slice);
  for (int slice = 0; slice < slices; ++slice) {
    cuda::wait_copies<kStages - 2>();
    __syncthreads();  // the slice is there for all, and all are done with the one before, whose stage is filled next
    fetch(slice + kStages - 1);
    const unsigned char* stage = shared + slice % kStages * Stages::kStageBytes;
    multiply_slice<T>(stage, stage + kRows * kRowBytes, warp_row, warp_column, sum);
  }
  cuda::wait_copies<0>();
  __syncthreads();
  auto* finished = reinterpret_cast<float*>(shared);
  keep_tile<kColumns>(finished, warp_row, warp_column, sum);
  __syncthreads();
  write_tile<kRows, kColumns, kThreads>(p, finished, first_row, at);
}

template <typename T, int kRows, int kColumns, int kStages>
void launch_tiles(const OpView& op, Stream& stream) {
  const Tiles tiles = make_tiles(op, kColumns, [](DType) { return true; });
  constexpr int kBytes = StageShape<kRows, kColumns, kStages>::kSharedBytes;
  const auto kernel = tensor_core<T, kRows, kColumns, kStages>;
  cuda::allow_shared(kernel, kBytes);
  cuda::launch(stream, {.grid = tile_count(tiles, kRows), .block = kThreads, .shared_bytes = kBytes}, kernel, tiles);
}

// Large tiles do more per byte; small ones keep more of the GPU at work where there are few.
constexpr int64_t kEnoughLargeTiles = 96;

template <typename T>
void launch_as(const OpView& op, Stream& stream) {
  const int64_t large = cuda::ceil_div(op.inputs[x].shape[0], 128) * cuda::ceil_div(total_n(op), 128);
  if (large >= kEnoughLargeTiles) {
    launch_tiles<T, 128, 128, 3>(op, stream);
  } else {
    launch_tiles<T, 64, 64, 4>(op, stream);
  }
}

void launch(const OpView& op, Stream& stream) {
  if (op.outputs[y].shape.elements() == 0) return;
  if (op.inputs[x].dtype == DType::f16) {
    launch_as<cuda::f16>(op, stream);
  } else {
    launch_as<cuda::bf16>(op, stream);
  }
}

bool supports(const OpView& op) {
  const Tensor& from = op.inputs[x];
  const bool half = from.dtype == DType::f16 || from.dtype == DType::bf16;
  if (!half || op.inputs[norm].present() || from.shape[1] % 8 != 0 || !cuda::rows_aligned(from)) return false;
  for (int i = 0; i < weight_count(op); ++i) {
    const Tensor& w = op.inputs[static_cast<size_t>(weights + i)];
    if (w.dtype != from.dtype || !cuda::rows_aligned(w)) return false;
  }
  return true;
}

}  // namespace

void add_03_tensor_core(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "03_tensor_core",
                .step = 3,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::matmul
