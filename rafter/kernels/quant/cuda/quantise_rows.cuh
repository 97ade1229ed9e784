// Rows of activations as integers of two int8 limbs (quantise.cuh), for kernels that multiply them with weights in block
// formats.
#pragma once

#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/quant/cuda/quantise.cuh"

namespace rafter {

class Stream;

namespace quant {

// In a kernel's workspace, aligned to 16 bytes.
struct QuantisedRows {
  int8_t* limbs[kLimbs];  // each [rows, k]
  float2* scales;         // [rows, k / 32]: the group's scale, and the sum of its values, which a float holds exactly

  static int64_t bytes(int64_t rows, int64_t k) {
    return rows * k * kLimbs + rows * (k / kGroupSize) * static_cast<int64_t>(sizeof(float2));
  }
  static QuantisedRows at(void* workspace, int64_t rows, int64_t k) {
    auto* bytes = static_cast<int8_t*>(workspace);
    return {{bytes, bytes + rows * k}, reinterpret_cast<float2*>(bytes + rows * k * kLimbs)};
  }
};

// k: a multiple of 32.
void quantise_rows(const cuda::Rows& x, int64_t rows, int64_t k, const QuantisedRows& out, Stream& stream);

}  // namespace quant
}  // namespace rafter
