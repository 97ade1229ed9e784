// What a kernel's name says: a short form for a chart, and the dtype it works in.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "rafter/measure/profiles/kernel_record.h"

namespace rafter {

// Without return type, namespaces, template arguments and parameters:
//   void at::native::(anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)  ->  softmax_warp_forward
// A wrapper is named by what it wraps, and a generic loop with what it applies:
//   void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_tn_align8>(Params)
//     ->  cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_tn_align8
//   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>(int, ...)
//     ->  vectorized_elementwise_kernel<CUDAFunctor_add>
// cuBLAS's own names lose what follows the tile, Triton's the signature that its older versions append.
std::string short_kernel_name(std::string_view name);

// "bf16", "f16", "f32", "f64", "tf32", "fp8_e4m3", "fp8_e5m2" or "int8" where the name tells one; else empty. A name with
// float beside a narrower type is of the narrower: float is then what it sums in.
std::string dtype_in_kernel_name(std::string_view name);

// Of a kernel that moves elements whatever their type is, PyTorch's "OpaqueType<2u>"; unknown where the name tells none.
Quantity opaque_element_bytes(std::string_view name);

// Control characters, which some profilers leave in names, as blanks.
std::string clean_kernel_name(std::string_view name);

// Names kernels in all three ways. A profile has many launches of few names: each is looked at once.
class KernelNames {
 public:
  void set(KernelRecord& kernel, std::string_view name);

 private:
  struct Known {
    std::string full, brief, dtype;
  };
  std::unordered_map<std::string, Known> known_;
};

}  // namespace rafter
