#include "rafter/kernels/cuda/device_limits.h"

namespace rafter::cuda {

namespace {

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
    cudaGetLastError();  // no driver or no device: not an error here, and not to be found by a later check
    return 0;
  }
  return value;
}

}  // namespace

int multiprocessors() {
  static const int count = attribute(cudaDevAttrMultiProcessorCount);
  return count;
}

int architecture() {
  static const int version = attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor);
  return version;
}

int shared_per_block() {
  static const int bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return bytes;
}

}  // namespace rafter::cuda
