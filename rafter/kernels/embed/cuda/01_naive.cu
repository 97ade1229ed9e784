// A thread for each value of x, which decodes its weight alone: any table, block formats included.
#include "rafter/kernels/cuda/block_formats.cuh"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/embed/cuda/steps.h"
#include "rafter/ops/embed.h"

namespace rafter::embed {

namespace {

constexpr int kThreads = 256;

__global__ void naive(const int* tokens, cuda::Rows table, cuda::Rows x, int64_t rows, int64_t vocabulary, int64_t width) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * width) return;
  const int token = tokens[i / width];
  const bool padding = token < 0 || token >= vocabulary;
  x.set(i / width, i % width, padding ? 0.0f : cuda::weight_at(table.dtype, table.row(token), i % width));
}

void launch(const OpView& op, Stream& stream) {
  const Tensor &from = op.inputs[table], &to = op.outputs[x];
  if (to.shape.elements() == 0) return;
  cuda::launch_in_step<naive>(stream, cuda::blocks_for(to.shape.elements(), kThreads), kThreads,
                              op.inputs[tokens].as<const int>(), cuda::rows(from), cuda::rows(to), to.shape[0], from.shape[0],
                              to.shape[1]);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::embed,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::embed
