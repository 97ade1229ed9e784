#include "rafter/ops/swiglu.h"

#include <cmath>

#include "rafter/ops/checks.h"

namespace rafter::swiglu {

void check(const OpView& op) {
  const Tensor &in = op.inputs[gate_up], &out = op.outputs[y];
  require(is_activation(in) && in.shape.rank() == 2 && in.shape[1] % 2 == 0, op, "gate_up [T, 2F]");
  require(is_activation(out) && is_matrix(out, in.shape[0], in.shape[1] / 2), op, "y [T, F]");
}

Cost cost(const OpView& op, const CostContext&) {
  const Tensor& out = op.outputs[y];
  return {.bytes_read = static_cast<double>(op.inputs[gate_up].bytes()),
          .bytes_written = static_cast<double>(out.bytes()),
          .work = work_on(MathUnit::fp32, 5.0 * static_cast<double>(out.shape.elements()))};
}

std::vector<Doubles> reference(const OpView& op) {
  const Doubles in = to_doubles(op.inputs[gate_up]);
  Doubles out(in.size() / 2);
  const auto width = static_cast<size_t>(op.outputs[y].shape[1]);
  for (size_t i = 0; i < out.size(); ++i) {
    const double gate = in[i / width * 2 * width + i % width], up = in[i / width * 2 * width + width + i % width];
    out[i] = gate / (1.0 + std::exp(-gate)) * up;
  }
  return {out};
}

}  // namespace rafter::swiglu
