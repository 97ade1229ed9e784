// Sums and maxima over a warp or a block, the same bits in every thread and on every run.
#pragma once

#include <cuda_runtime.h>

namespace rafter::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kFullMask = 0xffffffffu;

// The value folded over all lanes by butterfly; every lane gets the result.
template <typename T, typename Fold>
__device__ inline T warp_fold(T value, Fold fold) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value = fold(value, __shfl_xor_sync(kFullMask, value, offset));
  return value;
}

template <typename T>
__device__ inline T warp_sum(T value) {
  return warp_fold(value, [](T a, T b) { return a + b; });
}

__device__ inline float warp_max(float value) {
  return warp_fold(value, [](float a, float b) { return fmaxf(a, b); });
}

// Over a block of whole warps, up to 1024 threads; every thread must call it. `nothing` changes no value it is folded
// with. A block that calls it twice with the same scratch needs a __syncthreads() between.
template <typename T, typename Fold>
__device__ inline T block_fold(T value, T (&scratch)[kWarp], T nothing, Fold fold) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = warp_fold(value, fold);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return warp_fold(lane < warps ? scratch[lane] : nothing, fold);
}

template <typename T>
__device__ inline T block_sum(T value, T (&scratch)[kWarp]) {
  return block_fold(value, scratch, T{0}, [](T a, T b) { return a + b; });
}

}  // namespace rafter::cuda
