// Single values of activations (f32, f16, bf16) in host memory: what the scalar CPU kernels read and write.
#pragma once

#include <cstring>

#include "rafter/base/half.h"
#include "rafter/device/tensor.h"

namespace rafter {

inline float read_value(DType dtype, const void* row, int64_t i) {
  if (dtype == DType::f32) return static_cast<const float*>(row)[i];
  const uint16_t bits = static_cast<const uint16_t*>(row)[i];
  return dtype == DType::f16 ? f16_to_float(bits) : bf16_to_float(bits);
}

inline void write_value(DType dtype, void* row, int64_t i, float value) {
  if (dtype == DType::f32) {
    static_cast<float*>(row)[i] = value;
  } else {
    static_cast<uint16_t*>(row)[i] = dtype == DType::f16 ? float_to_f16(value) : float_to_bf16(value);
  }
}

}  // namespace rafter
