// The parts of the vectorised CPU matmul and what passes between them.
//
//   cpu_prepare.cpp   rows of x: normed, and quantised for weights in block formats
//   cpu_blocks.cpp    16 weight rows of a block format times prepared rows
//   cpu_plain.cpp     16 weight rows of f32, f16 or bf16 times prepared rows
//   cpu_finish.cpp    bias, gate, residual, and the store to y
//   cpu_lanes.cpp     the op: who does which rows, and where the scratch lies
//
// The first four are compiled for every Highway target; each hands out a table of functions for the machine it runs on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rafter/device/tensor.h"

namespace rafter::matmul_cpu {

inline constexpr int64_t kRows = 16;   // weight rows that are multiplied together
inline constexpr int64_t kGroup = 32;  // activations that share a scale
inline constexpr int64_t kPad = 16;    // prepared float rows end in zeros up to a multiple of this

struct GroupStats {
  float scale;      // of the quantised values; NaN where the group holds a NaN or an infinity
  float sum;        // of the quantised values
  int32_t half[2];  // the same, of the first and of the last 16
};

// T prepared rows of x. Where all weights are of block formats there are no `values`; where none is, nothing else.
struct Prepared {
  int64_t k = 0, k_padded = 0;
  float* values = nullptr;      // [T, k_padded]
  int8_t* q = nullptr;          // [T, 2 K] bytes, laid out as the machine likes (word_dot-inl.h)
  GroupStats* stats = nullptr;  // [T, K / 32]

  Prepared from(int64_t t) const {
    return {k, k_padded, values ? values + t * k_padded : nullptr, q ? q + t * 2 * k : nullptr,
            stats ? stats + t * (k / kGroup) : nullptr};
  }
};

struct PrepareKernels {
  // One row of x, K values of `dtype`, to row 0 of `out`. `norm` may be null. `row` is scratch of k_padded floats, used
  // where out has no values.
  void (*prepare)(DType dtype, const void* x, const float* norm, double epsilon, float* row, const Prepared& out);
};

// Products go to a tile: z[t * kRows + r] for weight row r.
struct BlockKernels {
  // Panel: kRows rows unpacked for repeated use, in this many bytes.
  int64_t (*panel_bytes)(int64_t k);
  void (*unpack)(DType dtype, const void* rows, int64_t stride, int64_t k, void* panel);
  void (*multiply_panel)(DType dtype, const void* panel, const Prepared& x, int64_t tokens, float* z);
  // One row of x, with no panel. The results are those of multiply_panel to the bit. On its way it fetches as many bytes
  // from `ahead` into the cache; any address will do.
  void (*multiply_once)(DType dtype, const void* rows, int64_t stride, const void* ahead, const Prepared& x, float* z);
};

struct PlainKernels {
  void (*multiply)(DType dtype, const void* rows, int64_t stride, const Prepared& x, int64_t tokens, float* z);
};

// What becomes of a tile. Columns are relative to the tile: z[t * kRows + skip + c] belongs to y[t][c], c < columns.
struct Finish {
  int64_t tokens, columns, skip;
  const float* z;
  const float* z_up;            // the second factor of a gated unit, or null
  const float *bias, *bias_up;  // [columns], or null
  DType dtype;                  // of y and of the residual
  std::byte* y;                 // row 0, first column; rows are y_stride bytes apart
  int64_t y_stride;
  const std::byte* residual;  // null where absent
  int64_t residual_stride;
};

struct FinishKernels {
  void (*finish)(const Finish& work);
};

// Null members on a machine without vectors, for which 01_naive is there.
PrepareKernels prepare_kernels();
BlockKernels block_kernels();
PlainKernels plain_kernels();
FinishKernels finish_kernels();

}  // namespace rafter::matmul_cpu
