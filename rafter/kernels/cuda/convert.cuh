// Numbers between memory and registers: every kernel computes in float, whatever the tensors hold.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "rafter/base/dtype.h"

namespace rafter::cuda {

using f16 = __half;
using bf16 = __nv_bfloat16;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(f16 value) { return __half2float(value); }
__device__ inline float to_float(bf16 value) { return __bfloat162float(value); }

// Rounds to nearest even.
template <typename T>
__device__ inline T from_float(float value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else if constexpr (std::is_same_v<T, f16>) {
    return __float2half_rn(value);
  } else {
    return __float2bfloat16_rn(value);
  }
}

// Element i of an array of f32, f16 or bf16, told apart at run time: the branch is the same for all threads, which is
// cheap beside a load, and spares an instantiation per dtype.
__device__ inline float load_float(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::f16:
      return to_float(static_cast<const f16*>(data)[i]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

__device__ inline void store_float(void* data, DType dtype, int64_t i, float value) {
  switch (dtype) {
    case DType::f16:
      static_cast<f16*>(data)[i] = from_float<f16>(value);
      return;
    case DType::bf16:
      static_cast<bf16*>(data)[i] = from_float<bf16>(value);
      return;
    default:
      static_cast<float*>(data)[i] = value;
  }
}

}  // namespace rafter::cuda
