// Questions that the ops' contracts ask of their operands.
#pragma once

#include "rafter/device/tensor.h"

namespace rafter {

inline bool is_activation(const Tensor& t) { return t.dtype == DType::f32 || t.dtype == DType::f16 || t.dtype == DType::bf16; }
inline bool is_matrix(const Tensor& t, int64_t rows, int64_t columns) { return t.shape == Shape{rows, columns}; }
inline bool is_vector(const Tensor& t, DType dtype, int64_t length) { return t.dtype == dtype && t.shape == Shape{length}; }

}  // namespace rafter
