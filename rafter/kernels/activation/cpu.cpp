// swiglu on the CPU: the naive step, one number at a time, and the list of all steps.
#include <cmath>

#include "rafter/base/threads.h"
#include "rafter/kernels/activation/cpu_vector.h"
#include "rafter/kernels/activation/register.h"
#include "rafter/kernels/host_values.h"
#include "rafter/ops/swiglu.h"

namespace rafter {

namespace {

void launch_naive(const OpView& op, Stream&) {
  const Tensor &in = op.inputs[swiglu::gate_up], &y = op.outputs[swiglu::y];
  const int64_t width = y.shape.last();
  cpu_threads().for_range(y.shape.rows(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t i = 0; i < width; ++i) {
        const float gate = read_value(in.dtype, in.row(t), i), up = read_value(in.dtype, in.row(t), width + i);
        write_value(y.dtype, y.row(t), i, gate / (1.0f + std::exp(-gate)) * up);
      }
    }
  });
}

}  // namespace

void register_activation_cpu(Registry& registry) {
  registry.add({.op = OpKind::swiglu,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch_naive});
  registry.add(swiglu_cpu_vector());
}

}  // namespace rafter
