// argmax and advance on the CPU: the naive step, one number at a time, and the list of all steps.
#include <limits>

#include "rafter/base/threads.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/sample/cpu_vector.h"
#include "rafter/kernels/sample/register.h"
#include "rafter/ops/advance.h"
#include "rafter/ops/argmax.h"

namespace rafter {

namespace {

int32_t argmax_row(const Tensor& x, int64_t t) {
  float best = -std::numeric_limits<float>::infinity();
  int32_t index = 0;
  for (int64_t i = 0; i < x.shape.last(); ++i) {
    const float value = read_value(x.dtype, x.row(t), i);
    if (value > best) {  // false for NaN
      best = value;
      index = static_cast<int32_t>(i);
    }
  }
  return index;
}

void launch_argmax(const OpView& op, Stream&) {
  const Tensor& x = op.inputs[argmax::x];
  cpu_threads().for_range(x.shape[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) op.outputs[argmax::index].as<int32_t>()[t] = argmax_row(x, t);
  });
}

void launch_advance(const OpView& op, Stream&) {
  const auto* next = op.inputs[advance::next].as<int32_t>();
  auto* tokens = op.outputs[advance::tokens].as<int32_t>();
  auto* positions = op.outputs[advance::positions].as<int32_t>();
  for (int64_t t = 0; t < op.inputs[advance::next].shape.last(); ++t) {
    tokens[t] = next[t];
    if (positions[t] >= 0) ++positions[t];
  }
}

bool supports_all(const OpView&) { return true; }

}  // namespace

void register_sample_cpu(Registry& registry) {
  registry.add({.op = OpKind::argmax,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = supports_all,
                .launch = launch_argmax});
  registry.add({.op = OpKind::advance,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = supports_all,
                .launch = launch_advance});
  registry.add(argmax_cpu_vector());
}

}  // namespace rafter
