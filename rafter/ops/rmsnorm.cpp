#include "rafter/ops/rmsnorm.h"

#include <cmath>

#include "rafter/ops/checks.h"

namespace rafter::rmsnorm {

void check(const OpView& op) {
  const Tensor &in = op.inputs[x], &out = op.outputs[y];
  require(is_activation(in) && in.shape.rank() == 2, op, "x [T, H]");
  require(is_vector(op.inputs[weight], DType::f32, in.shape.last()), op, "weight f32 [H]");
  require(is_activation(out) && out.shape == in.shape, op, "y [T, H]");
}

Cost cost(const OpView& op, const CostContext&) {
  const Tensor &in = op.inputs[x], &out = op.outputs[y];
  return {.bytes_read = static_cast<double>(in.bytes() + op.inputs[weight].bytes()),
          .bytes_written = static_cast<double>(out.bytes()),
          .work = work_on(MathUnit::fp32, 4.0 * static_cast<double>(in.shape.elements()))};
}

std::vector<Doubles> reference(const OpView& op) {
  const Doubles in = to_doubles(op.inputs[x]), scale = to_doubles(op.inputs[weight]);
  const size_t width = scale.size();
  Doubles out(in.size());
  for (size_t row = 0; row + width <= in.size() && width > 0; row += width) {
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += in[row + i] * in[row + i];
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(width) + op.attrs<RmsNormAttrs>().epsilon);
    for (size_t i = 0; i < width; ++i) out[row + i] = in[row + i] * inverse * scale[i];
  }
  return {out};
}

}  // namespace rafter::rmsnorm
