// rmsnorm on the CPU: the naive step, one number at a time, and the list of all steps.
#include <cmath>

#include "rafter/base/threads.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/norm/cpu_vector.h"
#include "rafter/kernels/norm/register.h"
#include "rafter/ops/rmsnorm.h"

namespace rafter {

namespace {

void norm_row(const Tensor& x, const float* weight, double epsilon, const Tensor& y, int64_t t) {
  const int64_t width = x.shape.last();
  double squares = 0;
  for (int64_t i = 0; i < width; ++i) {
    const double value = read_value(x.dtype, x.row(t), i);
    squares += value * value;
  }
  const auto inverse = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(width) + epsilon));
  for (int64_t i = 0; i < width; ++i) {
    write_value(y.dtype, y.row(t), i, read_value(x.dtype, x.row(t), i) * inverse * weight[i]);
  }
}

void launch_naive(const OpView& op, Stream&) {
  const Tensor& x = op.inputs[rmsnorm::x];
  const auto* weight = op.inputs[rmsnorm::weight].as<float>();
  const double epsilon = op.attrs<RmsNormAttrs>().epsilon;
  cpu_threads().for_range(x.shape.rows(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) norm_row(x, weight, epsilon, op.outputs[rmsnorm::y], t);
  });
}

}  // namespace

void register_norm_cpu(Registry& registry) {
  registry.add({.op = OpKind::rmsnorm,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch_naive});
  registry.add(rmsnorm_cpu_vector());
}

}  // namespace rafter
