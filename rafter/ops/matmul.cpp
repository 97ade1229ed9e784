#include "rafter/ops/matmul.h"

#include <cmath>

#include "rafter/ops/checks.h"

namespace rafter::matmul {

int weight_count(const OpView& op) { return static_cast<int>(op.inputs.size()) - weights; }

int64_t total_n(const OpView& op) {
  int64_t n = 0;
  for (int i = 0; i < weight_count(op); ++i) n += op.inputs[static_cast<size_t>(weights + i)].shape[0];
  return n;
}

void check(const OpView& op) {
  const Tensor &in = op.inputs[x], &out = op.outputs[y];
  const bool gated = op.attrs<MatmulAttrs>().swiglu;
  require(is_activation(in) && in.shape.rank() == 2, op, "x [T, K]");
  for (int i = 0; i < weight_count(op); ++i) {
    const Tensor& w = op.inputs[static_cast<size_t>(weights + i)];
    require(w.shape.rank() == 2 && w.shape[1] == in.shape[1] && w.dtype != DType::i32, op, "weights [N, K] with x's K");
  }
  require(!gated || (weight_count(op) == 2 && op.inputs[weights].shape == op.inputs[weights + 1].shape), op,
          "two weights of one shape with swiglu");
  const int64_t n = total_n(op);
  require(is_activation(out) && is_matrix(out, in.shape[0], gated ? n / 2 : n), op, "y [T, N], or [T, N / 2] with swiglu");
  require(!op.inputs[bias].present() || is_vector(op.inputs[bias], DType::f32, n), op, "bias f32 [N]");
  require(!op.inputs[residual].present() || (op.inputs[residual].shape == out.shape && op.inputs[residual].dtype == out.dtype),
          op, "a residual of y's shape and dtype");
  require(!op.inputs[norm].present() || is_vector(op.inputs[norm], DType::f32, in.shape[1]), op, "norm f32 [K]");
}

Cost cost(const OpView& op, const CostContext&) {
  Cost total;
  for (const Tensor& input : op.inputs) {
    if (input.present()) total.bytes_read += static_cast<double>(input.bytes());
  }
  total.bytes_written = static_cast<double>(op.outputs[y].bytes());
  total.work = work_on(multiplies(op.inputs[weights].dtype),
                       2.0 * static_cast<double>(op.inputs[x].shape.elements()) * static_cast<double>(total_n(op)));
  return total;
}

namespace {

// Rows of x, normed where the op has a norm weight.
Doubles normed_input(const OpView& op) {
  Doubles in = to_doubles(op.inputs[x]);
  if (!op.inputs[norm].present()) return in;
  const Doubles scale = to_doubles(op.inputs[norm]);
  const size_t k = scale.size();
  for (size_t row = 0; row < in.size(); row += k) {
    double squares = 0;
    for (size_t i = 0; i < k; ++i) squares += in[row + i] * in[row + i];
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(k) + op.attrs<MatmulAttrs>().norm_epsilon);
    for (size_t i = 0; i < k; ++i) in[row + i] *= inverse * scale[i];
  }
  return in;
}

}  // namespace

std::vector<Doubles> reference(const OpView& op) {
  const Doubles in = normed_input(op);
  const auto rows = static_cast<size_t>(op.inputs[x].shape[0]), k = static_cast<size_t>(op.inputs[x].shape[1]);
  const auto n = static_cast<size_t>(total_n(op));
  Doubles z(rows * n, 0.0);
  size_t column = 0;
  for (int part = 0; part < weight_count(op); ++part) {
    const Doubles w = to_doubles(op.inputs[static_cast<size_t>(weights + part)]);
    for (size_t j = 0; k > 0 && j < w.size() / k; ++j, ++column) {
      for (size_t t = 0; t < rows; ++t) {
        double sum = 0;
        for (size_t i = 0; i < k; ++i) sum += in[t * k + i] * w[j * k + i];
        z[t * n + column] = sum;
      }
    }
  }
  if (op.inputs[bias].present()) {
    const Doubles b = to_doubles(op.inputs[bias]);
    for (size_t i = 0; i < z.size(); ++i) z[i] += b[i % n];
  }
  Doubles out = z;
  if (op.attrs<MatmulAttrs>().swiglu) {
    const size_t half = n / 2;
    out.resize(rows * half);
    for (size_t i = 0; i < out.size(); ++i) {
      const double gate = z[i / half * n + i % half], up = z[i / half * n + half + i % half];
      out[i] = gate / (1.0 + std::exp(-gate)) * up;
    }
  }
  if (op.inputs[residual].present()) {
    const Doubles r = to_doubles(op.inputs[residual]);
    for (size_t i = 0; i < out.size(); ++i) out[i] += r[i];
  }
  return {out};
}

}  // namespace rafter::matmul
