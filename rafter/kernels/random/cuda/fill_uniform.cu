// A thread for each value: philox needs no value before it.
#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/random/random.h"

namespace rafter {

namespace {

constexpr int kThreads = 256;

// Four neighbours come from one counter, so a thread takes four.
__global__ void fill(cuda::Rows out, int64_t elements, int64_t width, uint64_t seed, float low, float high) {
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  for (int64_t i = first; i < first + 4 && i < elements; ++i) {
    out.set(i / width, i % width, random_between(seed, static_cast<uint64_t>(i), low, high));
  }
}

}  // namespace

void fill_uniform_cuda(const Tensor& tensor, uint64_t seed, float low, float high, Stream& stream) {
  const int64_t elements = tensor.shape.elements();
  if (elements == 0) return;
  cuda::launch(stream, {.grid = cuda::blocks_for(elements, 4 * kThreads), .block = kThreads}, fill, cuda::rows(tensor),
               elements, tensor.shape.last(), seed, low, high);
}

}  // namespace rafter
