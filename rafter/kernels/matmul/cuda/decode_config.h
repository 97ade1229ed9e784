// How the decode matmuls divide their work: a choice per shape, apart from the kernels, that a sweep can override.
#pragma once

#include <cstdint>
#include <functional>

namespace rafter::decode {

// Of 10_decode_rows. A group of `group_warps` warps splits K between them and takes `rows` rows of the weights at a time,
// `unroll` chunks of each in flight per lane; a block holds `warps` warps.
struct RowsConfig {
  int rows = 4, unroll = 1;  // one of kRowsShapes
  int warps = 8, group_warps = 8;
  int blocks_per_sm = 4;  // of the grid, where the work is enough
};

// Of 11_decode_ring. One block per SM (or more) of `warps` math warps behind a ring that fills what x and the barriers
// leave of `block_bytes` of shared memory. Half of an SM's would let the next kernel's blocks in beside it, yet in a chained
// step on an H200 the deep ring wins: 1225 us against 1377 us at 110 KiB on the 1.5B model, 4008 against 4151 on the 8B.
struct RingConfig {
  int rows = 4;  // of a tile: one of kRingRows
  int warps = 8;
  int blocks_per_sm = 1;
  int block_bytes = 210 * 1024;
};

// Of 12_decode_mma. As RowsConfig; a group takes 8 rows at a time.
struct MmaConfig {
  int unroll = 4;  // steps of 32 along K in flight: one of kMmaUnrolls
  int warps = 8, group_warps = 8;
  int blocks_per_sm = 2;
};

struct RowsShape {
  int rows, unroll;
};
// Instantiated for one token; more tokens use the first of them with at least 2 rows.
inline constexpr RowsShape kRowsShapes[] = {{4, 1}, {4, 2}, {2, 2}, {2, 4}, {8, 1}};
inline constexpr int kRingRows[] = {2, 4, 8};
inline constexpr int kMmaUnrolls[] = {1, 2, 4};

struct Problem {
  int tokens;
  int64_t n, k;  // rows of all weights
  bool swiglu;
  int multiprocessors;
};

RowsConfig rows_config(const Problem& problem);
RingConfig ring_config(const Problem& problem);
MmaConfig mma_config(const Problem& problem);

// For sweeps: asked before the functions above choose by shape, where set.
struct Overrides {
  std::function<RowsConfig(const Problem&)> rows;
  std::function<RingConfig(const Problem&)> ring;
  std::function<MmaConfig(const Problem&)> mma;
};
Overrides& overrides();
// The choice by shape, for an override to vary.
RingConfig ring_choice(const Problem& problem);

}  // namespace rafter::decode
