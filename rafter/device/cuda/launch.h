// Launching CUDA kernels: one checked call, with programmatic dependent launch where the kernel is written for it.
//
// A kernel launched with Dependent::early may start while the kernel before it in the stream still runs; it must execute
// wait_for_previous() before it reads anything that earlier kernels wrote or writes anything that they read.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "rafter/base/error.h"
#include "rafter/device/device.h"

namespace rafter::cuda {

// Throws a runtime Error that names the call and the CUDA error; an out-of-memory or missing-image error says what to do.
void check(cudaError_t status, const char* call);

enum class Dependent { after, early };

// Programmatic dependent launch can be switched off for the whole process (--no-pdl); early launches are then ordinary.
bool dependent_launch_enabled();
void enable_dependent_launch(bool on);

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;  // dynamic; above 48 KiB needs allow_shared() once
  Dependent dependent = Dependent::after;
};

template <typename... Params, typename... Args>
void launch(Stream& stream, const LaunchShape& shape, void (*kernel)(Params...), Args&&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream.native());
  cudaLaunchAttribute attribute{};
  if (shape.dependent == Dependent::early && dependent_launch_enabled()) {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(std::forward<Args>(args))...), "launching a kernel");
}

// Lets a kernel use up to `bytes` of dynamic shared memory on the current device.
template <typename... Params>
void allow_shared(void (*kernel)(Params...), size_t bytes) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "raising a kernel's shared memory");
}

#if defined(__CUDACC__)
// Until all work of the kernels before this one is done and visible. Returns at once after an ordinary launch.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream start its prologue, once every block of this one has called it or ended.
__device__ inline void allow_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

}  // namespace rafter::cuda
