// Four neighbouring values of a row whose dtype is known at run time: in one access where the address allows it.
#pragma once

#include "rafter/kernels/cuda/vector.cuh"

namespace rafter::cuda {

template <typename T>
__device__ inline bool quad_aligned(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % (4 * sizeof(T)) == 0;
}

template <typename T>
__device__ inline void load_quad(const T* source, int count, float (&out)[4]) {
  if (count >= 4 && quad_aligned(source)) return load_floats(source, out);
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = i < count ? to_float(source[i]) : 0.0f;
}

// Values i..i+3 of a row, of which `count` exist; the rest become zeros.
__device__ inline void load_quad(const void* row, DType dtype, int64_t i, int count, float (&out)[4]) {
  switch (dtype) {
    case DType::f16:
      return load_quad(static_cast<const f16*>(row) + i, count, out);
    case DType::bf16:
      return load_quad(static_cast<const bf16*>(row) + i, count, out);
    default:
      return load_quad(static_cast<const float*>(row) + i, count, out);
  }
}

template <typename T>
__device__ inline void store_quad(T* destination, int count, const float (&in)[4]) {
  if (count >= 4 && quad_aligned(destination)) return store_floats(destination, in);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i < count) destination[i] = from_float<T>(in[i]);
  }
}

// The other way: the first `count` of four values.
__device__ inline void store_quad(void* row, DType dtype, int64_t i, int count, const float (&in)[4]) {
  switch (dtype) {
    case DType::f16:
      return store_quad(static_cast<f16*>(row) + i, count, in);
    case DType::bf16:
      return store_quad(static_cast<bf16*>(row) + i, count, in);
    default:
      return store_quad(static_cast<float*>(row) + i, count, in);
  }
}

}  // namespace rafter::cuda
