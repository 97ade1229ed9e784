// Hopper's bulk copies from global to shared memory, and the barriers in shared memory that they complete on.
//
// A copy runs by itself: one thread starts it, and the bytes count down the barrier's expectation. Nothing here is of use
// below sm_90, where the functions are empty so that kernels compile for every architecture.
#pragma once

#include <cstdint>

#include "rafter/kernels/cuda/ldmatrix.cuh"

namespace rafter::cuda {

// An mbarrier. It completes a phase when `arrivals` have come and every expected byte has landed, and starts the next.
struct Barrier {
  uint64_t word;

  __device__ void init(uint32_t arrivals) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(this)), "r"(arrivals) : "memory");
#endif
  }

  __device__ void arrive() {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(this)) : "memory");
#endif
  }

  __device__ void arrive_expecting(uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(this)), "r"(bytes) : "memory");
#endif
  }

  // Until the phase of this parity is complete; phases count from 0, and parity 1 before the first is complete already.
  __device__ void wait(uint32_t parity) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(shared_address(this)),
        "r"(parity)
        : "memory");
#endif
  }
};

// After init(), before any copy may complete on the barrier.
__device__ inline void publish_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// `bytes` bytes, a multiple of 16, both sides aligned to 16, under an L2 policy.
__device__ inline void copy_bulk(void* shared_destination, const void* source, uint32_t bytes, Barrier& barrier,
                                 uint64_t policy) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
          shared_address(shared_destination)),
      "l"(source), "r"(bytes), "r"(shared_address(&barrier)), "l"(policy)
      : "memory");
#endif
}

}  // namespace rafter::cuda
