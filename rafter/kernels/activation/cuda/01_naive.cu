// A thread for each value of y: any width and dtype.
#include "rafter/kernels/activation/cuda/steps.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/silu.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/ops/swiglu.h"

namespace rafter::swiglu {

namespace {

constexpr int kThreads = 256;

__global__ void naive(cuda::Rows gate_up, cuda::Rows y, int64_t rows, int64_t width) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= rows * width) return;
  const int64_t t = index / width, i = index % width;
  y.set(t, i, cuda::silu(gate_up.get(t, i)) * gate_up.get(t, width + i));
}

void launch(const OpView& op, Stream& stream) {
  const Tensor& to = op.outputs[y];
  if (to.shape.elements() == 0) return;
  cuda::launch_in_step<naive>(stream, cuda::blocks_for(to.shape.elements(), kThreads), kThreads, cuda::rows(op.inputs[gate_up]),
                              cuda::rows(to), to.shape[0], to.shape[1]);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::swiglu,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::swiglu
