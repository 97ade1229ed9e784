// What launching a probe takes beyond cuda::launch: how an SM divides its memory, and clusters of blocks.
#pragma once

#include <cstdint>

#include "rafter/device/cuda/launch.h"

namespace rafter::cuda {

// Asks for the largest L1 cache that the kernel's shared memory leaves.
template <typename... Params>
void prefer_l1(void (*kernel)(Params...)) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxL1),
        "asking for a large L1 cache");
}

struct ClusterConfig {
  ClusterConfig(int blocks, int cluster, int threads, size_t shared_bytes) {
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = shared_bytes;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(cluster);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterConfig(const ClusterConfig&) = delete;
  ClusterConfig& operator=(const ClusterConfig&) = delete;
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
};

// How many clusters of `cluster` blocks run at once; 0 where the GPU has no clusters.
template <typename... Params>
int resident_clusters(void (*kernel)(Params...), int cluster, int threads, size_t shared_bytes) {
  const ClusterConfig shape(cluster, cluster, threads, shared_bytes);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &shape.config) == cudaSuccess)
    return clusters;
  cudaGetLastError();  // an older GPU: no error of this process
  return 0;
}

template <typename... Params, typename... Args>
void launch_clusters(Stream& stream, int blocks, int cluster, int threads, size_t shared_bytes, void (*kernel)(Params...),
                     Args&&... args) {
  ClusterConfig shape(blocks, cluster, threads, shared_bytes);
  shape.config.stream = static_cast<cudaStream_t>(stream.native());
  check(cudaLaunchKernelEx(&shape.config, kernel, static_cast<Params>(std::forward<Args>(args))...), "launching clusters");
}

#if defined(__CUDACC__)
__device__ inline uint32_t shared_address(const void* in_shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(in_shared));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define RAFTER_HAS_CLUSTERS 1
// The address, for every block of the cluster, of what lies at `address` in block `rank`'s shared memory.
__device__ inline uint32_t shared_address_in(uint32_t address, uint32_t rank) {
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}
__device__ inline uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// All threads of all blocks of the cluster; what they wrote to shared memory before is seen after.
__device__ inline void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
#else
#define RAFTER_HAS_CLUSTERS 0
#endif
#endif

}  // namespace rafter::cuda
