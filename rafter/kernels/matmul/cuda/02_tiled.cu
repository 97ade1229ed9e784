// Tiles in shared memory and registers: a block computes a tile of z from slices of x and the weights, a thread 8 x 8 (or
// 4 x 4) values of it, so that a value fetched from shared memory is used eight times and one from L2 128 times. Sums are
// f32, in the order of K, so a row's bits don't depend on its neighbours. Any plain dtypes and alignment.
#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/matmul/cuda/steps.h"
#include "rafter/kernels/matmul/cuda/tiles.cuh"

namespace rafter::matmul {

namespace {

constexpr int kThreads = 256;
constexpr int kSlice = 16;                      // of K, in one stage
constexpr int kPass = kThreads / (kSlice / 4);  // rows that the threads fetch at once, four values each

// One side of a stage, transposed: value k of row r is at [k][r].
template <int kRows>
struct Side {
  float at[kSlice][kRows + 4];
};

template <int kRows, int kColumns>
struct Stage {
  Side<kRows> x;
  Side<kColumns> w;
};

// What one thread fetches of a side: four values of every kPass-th row.
template <int kRows>
struct Fetched {
  float value[kRows / kPass][4];

  // `source(row)` gives the row's address, or null past the end.
  template <typename Source>
  __device__ void load(DType dtype, int k, int limit, Source source) {
    const int row = static_cast<int>(threadIdx.x) / 4, from = k + static_cast<int>(threadIdx.x) % 4 * 4;
#pragma unroll
    for (int i = 0; i < kRows / kPass; ++i) {
      const void* data = source(row + i * kPass);
      cuda::load_quad(data, dtype, from, data == nullptr ? 0 : limit - from, value[i]);
    }
  }

  __device__ void store(Side<kRows>& side) const {
    const int row = static_cast<int>(threadIdx.x) / 4, from = static_cast<int>(threadIdx.x) % 4 * 4;
#pragma unroll
    for (int i = 0; i < kRows / kPass; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) side.at[from + j][row + i * kPass] = value[i][j];
    }
  }
};

// A thread's values of a side at one k: four neighbours of every 64.
template <int kRows>
__device__ inline void read_side(const float (&row)[kRows + 4], int first, float (&out)[kRows / 16]) {
#pragma unroll
  for (int i = 0; i < kRows / 64; ++i) {
    const float4 four = *reinterpret_cast<const float4*>(&row[i * 64 + first]);
    out[i * 4] = four.x, out[i * 4 + 1] = four.y, out[i * 4 + 2] = four.z, out[i * 4 + 3] = four.w;
  }
}

template <int kRows, int kColumns>
__device__ inline void multiply_stage(const Stage<kRows, kColumns>& stage, float (&sum)[kRows / 16][kColumns / 16]) {
  const int first_row = static_cast<int>(threadIdx.x) / 16 * 4, first_column = static_cast<int>(threadIdx.x) % 16 * 4;
#pragma unroll
  for (int k = 0; k < kSlice; ++k) {
    float a[kRows / 16], b[kColumns / 16];
    read_side<kRows>(stage.x.at[k], first_row, a);
    read_side<kColumns>(stage.w.at[k], first_column, b);
#pragma unroll
    for (int i = 0; i < kRows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns / 16; ++j) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
  }
}

template <int kRows, int kColumns>
__device__ inline void keep_tile(float* tile, const float (&sum)[kRows / 16][kColumns / 16]) {
  const int first_row = static_cast<int>(threadIdx.x) / 16 * 4, first_column = static_cast<int>(threadIdx.x) % 16 * 4;
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns / 16; j += 4) {
      float* at = tile + (i / 4 * 64 + first_row + i % 4) * (kColumns + kTilePadding) + j / 4 * 64 + first_column;
      *reinterpret_cast<float4*>(at) = {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
    }
  }
}

template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads, 2) tiled(Tiles p) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto* stages = reinterpret_cast<Stage<kRows, kColumns>*>(shared);
  const TileAt tile = tile_at(static_cast<int>(blockIdx.x), (p.rows + kRows - 1) / kRows, p.first_tile[kMaxWeights]);
  const int first_row = tile.row_tile * kRows;
  const ColumnTile at = column_tile(p, tile.column_tile, kColumns);
  const DType w_dtype = p.weights[at.weight].dtype;
  const auto x_row = [&](int row) -> const void* { return first_row + row < p.rows ? p.x.row(first_row + row) : nullptr; };
  const auto w_row = [&](int column) -> const void* {
    const WeightRow from = weight_row(p, at, column);
    return from.row < p.weight_rows[from.weight] ? p.weights[from.weight].row(from.row) : nullptr;
  };

  Fetched<kRows> x;
  Fetched<kColumns> w;
  float sum[kRows / 16][kColumns / 16] = {};
  const int slices = (p.k + kSlice - 1) / kSlice;
  for (int slice = 0; slice <= slices; ++slice) {
    if (slice < slices) {
      x.load(p.x.dtype, slice * kSlice, p.k, x_row);
      w.load(w_dtype, slice * kSlice, p.k, w_row);
    }
    if (slice > 0) multiply_stage(stages[(slice - 1) % 2], sum);
    if (slice < slices) {
      x.store(stages[slice % 2].x);
      w.store(stages[slice % 2].w);
    }
    __syncthreads();
  }
  auto* finished = reinterpret_cast<float*>(shared);
  keep_tile<kRows, kColumns>(finished, sum);
  __syncthreads();
  write_tile<kRows, kColumns, kThreads>(p, finished, first_row, at);
}

template <int kRows, int kColumns>
void launch_tiles(const OpView& op, Stream& stream) {
  const Tiles tiles = make_tiles(op, kColumns, [](DType) { return true; });
  constexpr size_t kStageBytes = 2 * sizeof(Stage<kRows, kColumns>), kTileBytes = kRows * (kColumns + kTilePadding) * 4;
  constexpr size_t kBytes = kStageBytes > kTileBytes ? kStageBytes : kTileBytes;
  cuda::allow_shared(tiled<kRows, kColumns>, kBytes);
  cuda::launch(stream, {.grid = tile_count(tiles, kRows), .block = kThreads, .shared_bytes = kBytes}, tiled<kRows, kColumns>,
               tiles);
}

// Large tiles do more per byte; small ones keep more of the GPU at work where there are few.
constexpr int64_t kEnoughLargeTiles = 96;

void launch(const OpView& op, Stream& stream) {
  if (op.outputs[y].shape.elements() == 0) return;
  const int64_t large = cuda::ceil_div(op.inputs[x].shape[0], 128) * cuda::ceil_div(total_n(op), 128);
  if (large >= kEnoughLargeTiles) {
    launch_tiles<128, 128>(op, stream);
  } else {
    launch_tiles<64, 64>(op, stream);
  }
}

bool supports(const OpView& op) {
  if (op.inputs[norm].present()) return false;
  for (int i = 0; i < weight_count(op); ++i) {
    if (!cuda::is_float(op.inputs[static_cast<size_t>(weights + i)].dtype)) return false;
  }
  return true;
}

}  // namespace

void add_02_tiled(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "02_tiled",
                .step = 2,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::matmul
