// A warp for each row, a value at a time, the row read twice: any width and dtype.
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/norm/cuda/steps.h"
#include "rafter/ops/rmsnorm.h"

namespace rafter::rmsnorm {

namespace {

constexpr int kWarps = 4;

__global__ void naive(cuda::Rows x, const float* weight, cuda::Rows y, int64_t rows, int64_t width, float epsilon) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int lane = threadIdx.x;
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (t >= rows) return;
  float squares = 0;
  for (int64_t i = lane; i < width; i += cuda::kWarp) squares += x.get(t, i) * x.get(t, i);
  const float inverse = 1.0f / sqrtf(cuda::warp_sum(squares) / static_cast<float>(width) + epsilon);
  for (int64_t i = lane; i < width; i += cuda::kWarp) y.set(t, i, x.get(t, i) * (inverse * weight[i]));
}

void launch(const OpView& op, Stream& stream) {
  const Tensor& from = op.inputs[x];
  if (from.shape.elements() == 0) return;
  cuda::launch_in_step<naive>(stream, cuda::blocks_for(from.shape[0], kWarps), dim3(cuda::kWarp, kWarps), cuda::rows(from),
                              op.inputs[weight].as<const float>(), cuda::rows(op.outputs[y]), from.shape[0], from.shape[1],
                              op.attrs<RmsNormAttrs>().epsilon);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::rmsnorm,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::rmsnorm
