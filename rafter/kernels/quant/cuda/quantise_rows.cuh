// Rows of activations to int8 in groups of 32 (kernels/quant/groups.h has the rule), for kernels that multiply them with
// weights in block formats.
#pragma once

#include "rafter/kernels/cuda/rows.cuh"

namespace rafter {

class Stream;

namespace quant {

// In a kernel's workspace, aligned to 16 bytes.
struct QuantisedRows {
  int8_t* q;       // [rows, k]
  float2* scales;  // [rows, k / 32]: the group's scale, and the sum of its q

  static int64_t bytes(int64_t rows, int64_t k) { return rows * k + rows * (k / 32) * static_cast<int64_t>(sizeof(float2)); }
  static QuantisedRows at(void* workspace, int64_t rows, int64_t k) {
    auto* q = static_cast<int8_t*>(workspace);
    return {q, reinterpret_cast<float2*>(q + rows * k)};
  }
};

// k: a multiple of 32.
void quantise_rows(const cuda::Rows& x, int64_t rows, int64_t k, const QuantisedRows& out, Stream& stream);

}  // namespace quant
}  // namespace rafter
