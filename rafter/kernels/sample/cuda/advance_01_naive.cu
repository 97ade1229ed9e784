// A thread for each sequence. There is nothing to gain beyond: a step has a handful.
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/sample/cuda/steps.h"
#include "rafter/ops/advance.h"

namespace rafter::advance {

namespace {

constexpr int kThreads = 128;

__global__ void naive(const int* next, int* tokens, int* positions, int64_t count) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= count) return;
  tokens[t] = next[t];
  if (positions[t] >= 0) ++positions[t];
}

void launch(const OpView& op, Stream& stream) {
  const int64_t count = op.inputs[next].shape[0];
  if (count == 0) return;
  cuda::launch_in_step<naive>(stream, cuda::blocks_for(count, kThreads), kThreads, op.inputs[next].as<const int>(),
                              op.outputs[tokens].as<int>(), op.outputs[positions].as<int>(), count);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::advance,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::advance
