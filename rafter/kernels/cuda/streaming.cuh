// Loads of data that a kernel reads once and nobody reads soon again, such as weights: past L1, and first to leave L2, so
// that activations and the KV cache stay there.
#pragma once

#include <cstdint>

namespace rafter::cuda {

// The L2 policy of such loads.
__device__ inline uint64_t evict_first_policy() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// 16 bytes, aligned to 16, that no running kernel writes.
__device__ inline uint4 load_streaming(const void* source, uint64_t policy) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(source), "l"(policy));
  return value;
}

// 16 bytes, aligned to 16, past L1, of memory that an earlier kernel may have written (after wait_for_previous()).
__device__ inline uint4 load_past_l1(const void* source) {
  uint4 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(source)
               : "memory");
  return value;
}

}  // namespace rafter::cuda
