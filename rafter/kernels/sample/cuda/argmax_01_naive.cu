// A block for each row: any width and dtype.
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/sample/cuda/argmax_key.cuh"
#include "rafter/kernels/sample/cuda/steps.h"
#include "rafter/ops/argmax.h"

namespace rafter::argmax {

namespace {

constexpr int kThreads = 256;

__global__ void naive(cuda::Rows x, int* index, int64_t width) {
  __shared__ Key scratch[cuda::kWarp];
  cuda::allow_next();
  cuda::wait_for_previous();
  Key best = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) best = larger(best, key_of(x.get(blockIdx.x, i), i));
  best = cuda::block_fold(best, scratch, Key{0}, larger);
  if (threadIdx.x == 0) index[blockIdx.x] = index_of(best);
}

void launch(const OpView& op, Stream& stream) {
  const Tensor& from = op.inputs[x];
  if (from.shape[0] == 0) return;
  cuda::launch_in_step<naive>(stream, static_cast<unsigned>(from.shape[0]), kThreads, cuda::rows(from),
                              op.outputs[index].as<int>(), from.shape[1]);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::argmax,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::argmax
