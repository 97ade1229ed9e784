// What kernels ask of the current GPU, once.
#pragma once

#include <cuda_runtime.h>

#include "rafter/device/cuda/launch.h"

namespace rafter::cuda {

int multiprocessors();
// Compute capability times ten: 90 on Hopper. 0 without a usable GPU.
int architecture();
// Bytes of shared memory that a block may ask for.
int shared_per_block();

// Whether this build holds the kernel compiled for at least this architecture: code for an older one also runs on newer
// GPUs, without the newer instructions.
template <typename... Params>
bool compiled_for(void (*kernel)(Params...), int at_least) {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)) != cudaSuccess) {
    cudaGetLastError();  // no code for this GPU at all, or no GPU
    return false;
  }
  return attributes.ptxVersion >= at_least;
}

// Asks for the largest share of an SM's memory as shared memory. Kernels of a step overlap (launch.h), and an SM can only
// change its split when it is empty, so all of them must ask for the same.
template <typename... Params>
void share_whole_sm(void (*kernel)(Params...)) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared),
        "choosing a kernel's shared memory split");
}

}  // namespace rafter::cuda
