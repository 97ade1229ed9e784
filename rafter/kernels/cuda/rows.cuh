// A kernel's view of a tensor: rows of some dtype, some bytes apart.
#pragma once

#include "rafter/device/tensor.h"
#include "rafter/kernels/cuda/convert.cuh"

namespace rafter::cuda {

struct Rows {
  unsigned char* data;
  int64_t stride;  // bytes
  DType dtype;

  template <typename T = void>
  __device__ T* row(int64_t index) const {
    return reinterpret_cast<T*>(data + index * stride);
  }
  __device__ float get(int64_t index, int64_t i) const { return load_float(row(index), dtype, i); }
  __device__ void set(int64_t index, int64_t i, float value) const { store_float(row(index), dtype, i, value); }
};

inline Rows rows(const Tensor& tensor) { return {tensor.as<unsigned char>(), tensor.row_stride, tensor.dtype}; }

// Whether every row starts at a multiple of 16 bytes. While kernels are chosen, data is null, and buffers are aligned.
inline bool rows_aligned(const Tensor& tensor) {
  return tensor.row_stride % 16 == 0 && reinterpret_cast<uintptr_t>(tensor.data) % 16 == 0;
}

}  // namespace rafter::cuda
