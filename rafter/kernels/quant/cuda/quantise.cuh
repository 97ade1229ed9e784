// Activations to int8 in groups of 32, a value to each lane of a warp: the rule of kernels/quant/groups.h, bit for bit,
// so that the CPU and the GPU round alike.
#pragma once

#include <cfloat>

#include "rafter/kernels/cuda/reduce.cuh"

namespace rafter::quant {

inline constexpr int kGroupSize = 32;

struct LaneQuantised {
  int q;        // of this lane's value
  float scale;  // of the group; NaN where the group holds a NaN or an infinity, so that the product shows it
  int sum;      // of q over the group
};

__device__ inline LaneQuantised quantise_lane(float value) {
  const bool broken = __any_sync(cuda::kFullMask, !isfinite(value)) != 0;
  const float scale = broken ? NAN : __fdiv_rn(cuda::warp_max(fabsf(value)), 127.0f);
  // Below FLT_MIN the inverse would be infinite; such a group counts as zeros.
  const float inverse = scale >= FLT_MIN ? __frcp_rn(scale) : 0.0f;
  const int q = inverse > 0 ? __float2int_rn(__fmul_rn(value, inverse)) : 0;
  return {q, scale, cuda::warp_sum(q)};
}

}  // namespace rafter::quant
