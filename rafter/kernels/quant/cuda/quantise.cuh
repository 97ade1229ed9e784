// Activations as integers of 15 bits in groups of 32: the rule of kernels/quant/groups.h, bit for bit, so that the CPU and
// the GPU round alike. Also the arithmetic of limbs: a value v is 128 high + low, two int8, and so is a dot product, which
// stays exact in int32 (at most 32 x 128 x 16256 < 2^27).
//
// Why two limbs: the noise of rounding to 7 bits differs wherever the last bits of f32 do, and layer after layer amplifies
// it until texts part. 14 bits leave it below f32's own differences, for twice the integer products.
#pragma once

#include <cfloat>

#include "rafter/kernels/cuda/reduce.cuh"

namespace rafter::quant {

inline constexpr int kGroupSize = 32;
inline constexpr int kLimbs = 2;
inline constexpr int kLimb = 128;               // what a high limb counts
inline constexpr float kLargest = 127 * kLimb;  // of the values, in magnitude

struct GroupScale {
  float scale;    // NaN where the group holds a NaN or an infinity, so that the product shows it
  float inverse;  // 0 where the group counts as zeros: below FLT_MIN the inverse would be infinite
};

// What a value of x does to its group's maximum.
__device__ inline float magnitude(float x) { return isfinite(x) ? fabsf(x) : INFINITY; }

// From the largest magnitude of the group.
__device__ inline GroupScale group_scale(float top) {
  const float scale = isfinite(top) ? __fdiv_rn(top, kLargest) : NAN;
  return {scale, scale >= FLT_MIN ? __frcp_rn(scale) : 0.0f};
}

__device__ inline int quantised(float x, float inverse) { return inverse > 0 ? __float2int_rn(__fmul_rn(x, inverse)) : 0; }

// Limb 0, the high one, in [-127, 127]; limb 1, the low one, in [-64, 63].
__device__ inline int limb(int value, int which) {
  const int high = (value + kLimb / 2) >> 7;
  return which == 0 ? high : value - kLimb * high;
}

// A dot product from those of the limbs.
__device__ inline int join(int high, int low) { return kLimb * high + low; }

// A group's product with weights that have a multiplier for each half, by which int32 would overflow.
__device__ inline float join_halves(float multiplier_0, int dot_0, float multiplier_1, int dot_1) {
  return fmaf(multiplier_1, static_cast<float>(dot_1), __fmul_rn(multiplier_0, static_cast<float>(dot_0)));
}

// A value of a group that a warp holds.
struct LaneQuantised {
  int q;        // of this lane's value
  float scale;  // of the group
  int sum;      // of q over the group
};

__device__ inline LaneQuantised quantise_lane(float x) {
  const GroupScale group = group_scale(cuda::warp_max(magnitude(x)));
  const int q = quantised(x, group.inverse);
  return {q, group.scale, cuda::warp_sum(q)};
}

}  // namespace rafter::quant
