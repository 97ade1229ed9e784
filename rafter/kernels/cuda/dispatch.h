// From a dtype known at run time to a type known at compile time, and from counts to grids.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "rafter/base/dtype.h"
#include "rafter/base/error.h"

namespace rafter::cuda {

// body(T()) with T float, __half or __nv_bfloat16.
template <typename Body>
void with_float_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::f32:
      body(float());
      return;
    case DType::f16:
      body(__half());
      return;
    case DType::bf16:
      body(__nv_bfloat16());
      return;
    default:
      throw runtime_failure({"dtype of a CUDA kernel's operand", std::string(name(dtype)), "f32, f16 or bf16"});
  }
}

inline bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

constexpr int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Blocks that give each of `items` its own thread (or warp), `per_block` to a block.
inline unsigned blocks_for(int64_t items, int64_t per_block) { return static_cast<unsigned>(ceil_div(items, per_block)); }

}  // namespace rafter::cuda
