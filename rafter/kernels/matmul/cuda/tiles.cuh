// What the tiled steps share: which rows of which weight a tile of columns of z holds, and how a finished tile of z
// becomes y.
//
// Each weight has column tiles of its own, so a tile never spans two. With swiglu, the columns of a tile are rows of
// gate and up in turn, eight and eight: both halves of a value of y are in one tile, and in one thread's reach.
#pragma once

#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/quad.cuh"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/silu.cuh"
#include "rafter/ops/matmul.h"

namespace rafter::matmul {

inline constexpr int kMaxWeights = 3;

struct Tiles {
  cuda::Rows x, y, residual;  // the residual's data may be null, and so may the bias
  const float* bias;
  cuda::Rows weights[kMaxWeights];
  int weight_rows[kMaxWeights];
  int column[kMaxWeights];          // of z, where the weight's first row goes
  int first_tile[kMaxWeights + 1];  // the weight's first column tile; past the last weight, the number of tiles
  int rows, k;
  bool swiglu;
};

// One tile of columns: rows first, first + 1, ... of one weight, or of gate and up.
struct ColumnTile {
  int weight, first;
};

// Of the weights for which `chosen` holds, with tiles `tile_columns` wide.
template <typename Chosen>
Tiles make_tiles(const OpView& op, int tile_columns, Chosen chosen) {
  Tiles tiles{};
  tiles.x = cuda::rows(op.inputs[x]);
  tiles.y = cuda::rows(op.outputs[y]);
  tiles.residual = cuda::rows(op.inputs[residual]);
  tiles.bias = op.inputs[bias].as<const float>();
  tiles.rows = static_cast<int>(op.inputs[x].shape[0]);
  tiles.k = static_cast<int>(op.inputs[x].shape[1]);
  tiles.swiglu = op.attrs<MatmulAttrs>().swiglu;
  const int width = tiles.swiglu ? tile_columns / 2 : tile_columns;
  int column = 0, tile = 0;
  for (int i = 0; i < kMaxWeights; ++i) {
    tiles.first_tile[i] = tile;
    if (i >= weight_count(op)) continue;
    const Tensor& w = op.inputs[static_cast<size_t>(weights + i)];
    tiles.weights[i] = cuda::rows(w);
    tiles.weight_rows[i] = static_cast<int>(w.shape[0]);
    tiles.column[i] = column;
    column += tiles.weight_rows[i];
    // Gate's tiles hold up's rows too.
    if (chosen(w.dtype) && !(tiles.swiglu && i > 0)) tile += static_cast<int>(cuda::ceil_div(w.shape[0], width));
  }
  tiles.first_tile[kMaxWeights] = tile;
  return tiles;
}

inline unsigned tile_count(const Tiles& tiles, int tile_rows) {
  return static_cast<unsigned>(cuda::ceil_div(tiles.rows, tile_rows) * tiles.first_tile[kMaxWeights]);
}

struct TileAt {
  int row_tile, column_tile;
};

// Tiles in an order that keeps what neighbours share in L2: columns of eight tiles each, all columns, then the next eight.
__device__ inline TileAt tile_at(int index, int row_tiles, int column_tiles) {
  constexpr int kGroup = 8;
  const int group = index / (kGroup * column_tiles), within = index % (kGroup * column_tiles);
  const int height = min(kGroup, row_tiles - group * kGroup);
  return {group * kGroup + within % height, within / height};
}

__device__ inline ColumnTile column_tile(const Tiles& tiles, int tile, int tile_columns) {
  int weight = 0;
  while (tile >= tiles.first_tile[weight + 1]) ++weight;
  return {weight, (tile - tiles.first_tile[weight]) * (tiles.swiglu ? tile_columns / 2 : tile_columns)};
}

// Where column `column` of a tile comes from.
struct WeightRow {
  int weight, row;
};

__device__ inline WeightRow weight_row(const Tiles& tiles, const ColumnTile& at, int column) {
  if (!tiles.swiglu) return {at.weight, at.first + column};
  return {column / 8 % 2, at.first + column / 16 * 8 + column % 8};
}

// Padding of a row of the finished tile in shared memory, in floats: rows of a fragment fall into different banks.
inline constexpr int kTilePadding = 8;

// The block's finished tile of z, in shared memory, to y: bias, swiglu, residual. A barrier must lie before.
template <int kTileRows, int kTileColumns, int kThreads>
__device__ inline void write_tile(const Tiles& tiles, const float* tile, int first_row, const ColumnTile& at) {
  const int width = tiles.swiglu ? kTileColumns / 2 : kTileColumns;
  const int quads = width / 4;
  for (int i = static_cast<int>(threadIdx.x); i < kTileRows * quads; i += kThreads) {
    const int row = i / quads, n = at.first + i % quads * 4, in_tile = i % quads * 4;
    const int t = first_row + row, count = min(4, tiles.weight_rows[at.weight] - n);
    if (t >= tiles.rows || count <= 0) continue;
    const int column = tiles.column[at.weight] + n;
    const float* from = tile + row * (kTileColumns + kTilePadding) + (tiles.swiglu ? in_tile / 8 * 16 + in_tile % 8 : in_tile);
    float value[4], bias[4] = {}, other[4] = {};
    cuda::load_floats(from, value);
    if (tiles.bias != nullptr) cuda::load_quad(tiles.bias, DType::f32, column, count, bias);
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] += bias[j];
    if (tiles.swiglu) {
      if (tiles.bias != nullptr) cuda::load_quad(tiles.bias, DType::f32, tiles.column[1] + n, count, bias);
#pragma unroll
      for (int j = 0; j < 4; ++j) value[j] = cuda::silu(value[j]) * (from[8 + j] + bias[j]);
    }
    if (tiles.residual.data != nullptr) cuda::load_quad(tiles.residual.row(t), tiles.residual.dtype, column, count, other);
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] += other[j];
    cuda::store_quad(tiles.y.row(t), tiles.y.dtype, column, count, value);
  }
}

}  // namespace rafter::matmul
