// Copies from global to shared memory that run while the threads compute (cp.async).
#pragma once

#include "rafter/kernels/cuda/ldmatrix.cuh"

namespace rafter::cuda {

// 16 bytes, both sides aligned to 16. Where not `valid`, nothing is read and zeros arrive.
__device__ inline void copy_16_async(void* shared_destination, const void* source, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared_destination)), "l"(source),
               "r"(bytes)
               : "memory");
}

// Closes the group of copies issued since the last commit.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until all but the newest kPending groups of this thread have arrived. Other threads' copies need a barrier on top.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace rafter::cuda
