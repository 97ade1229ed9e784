#include "rafter/ops/argmax.h"

#include <limits>

#include "rafter/ops/checks.h"

namespace rafter::argmax {

void check(const OpView& op) {
  const Tensor& in = op.inputs[x];
  require(is_activation(in) && in.shape.rank() == 2, op, "x [T, V]");
  require(is_vector(op.outputs[index], DType::i32, in.shape[0]), op, "index i32 [T]");
}

Cost cost(const OpView& op, const CostContext&) {
  const Tensor& in = op.inputs[x];
  return {.bytes_read = static_cast<double>(in.bytes()),
          .bytes_written = static_cast<double>(op.outputs[index].bytes()),
          .work = work_on(MathUnit::fp32, static_cast<double>(in.shape.elements()))};
}

std::vector<Doubles> reference(const OpView& op) {
  const Doubles in = to_doubles(op.inputs[x]);
  const auto rows = static_cast<size_t>(op.inputs[x].shape[0]), width = static_cast<size_t>(op.inputs[x].shape[1]);
  Doubles out(rows, 0.0);
  for (size_t t = 0; t < rows; ++t) {
    double best = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < width; ++i) {
      if (in[t * width + i] > best) {
        best = in[t * width + i];
        out[t] = static_cast<double>(i);
      }
    }
  }
  return {out};
}

}  // namespace rafter::argmax
