// matmul on the CPU: the naive step, one number at a time, and the list of all steps.
#include <cmath>

#include "rafter/base/threads.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/matmul/cpu_lanes.h"
#include "rafter/kernels/matmul/register.h"
#include "rafter/kernels/quant/groups.h"
#include "rafter/ops/matmul.h"

namespace rafter {

namespace {

// One row of x, ready to be multiplied: normed floats, and their quantised twin for weights in block formats.
struct Prepared {
  float* values;              // [K]
  quant::GroupScale* scales;  // [K / 32]
  int16_t* q;                 // [K]

  Prepared(void* workspace, int64_t k)
      : values(static_cast<float*>(workspace)),
        scales(reinterpret_cast<quant::GroupScale*>(values + k)),
        q(reinterpret_cast<int16_t*>(scales + k / quant::kGroup)) {}
  static int64_t bytes(int64_t k) {
    return k * 4 + k / quant::kGroup * static_cast<int64_t>(sizeof(quant::GroupScale)) + 2 * k;
  }
};

bool any_quantised(const OpView& op) {
  for (int i = 0; i < matmul::weight_count(op); ++i) {
    if (is_quantised(op.inputs[static_cast<size_t>(matmul::weights + i)].dtype)) return true;
  }
  return false;
}

void prepare(const OpView& op, int64_t t, const Prepared& row) {
  const Tensor &x = op.inputs[matmul::x], &norm = op.inputs[matmul::norm];
  const int64_t k = x.shape[1];
  double squares = 0;
  for (int64_t i = 0; i < k; ++i) {
    row.values[i] = read_value(x.dtype, x.row(t), i);
    squares += static_cast<double>(row.values[i]) * static_cast<double>(row.values[i]);
  }
  if (norm.present()) {
    const double mean = squares / static_cast<double>(k);
    const auto inverse = static_cast<float>(1.0 / std::sqrt(mean + op.attrs<MatmulAttrs>().norm_epsilon));
    for (int64_t i = 0; i < k; ++i) row.values[i] *= inverse * norm.as<float>()[i];
  }
  if (!any_quantised(op)) return;
  for (int64_t g = 0; g < k / quant::kGroup; ++g) {
    row.scales[g] = quant::quantise_group(row.values + g * quant::kGroup, row.q + g * quant::kGroup);
  }
}

float dot_quantised(const Prepared& x, DType dtype, const std::byte* weights, int64_t k) {
  float sum = 0;
  for (int64_t g = 0; g < k / quant::kGroup; ++g) {
    const quant::WeightGroup w = quant::read_group(dtype, weights, g);
    int dot[2] = {};
    for (int i = 0; i < quant::kGroup; ++i) dot[i / 16] += w.q[i] * x.q[g * quant::kGroup + i];
    const float scaled = static_cast<float>(w.multiplier[0]) * static_cast<float>(dot[0]) +
                         static_cast<float>(w.multiplier[1]) * static_cast<float>(dot[1]);
    sum += x.scales[g].scale * (w.scale * scaled + w.minimum * static_cast<float>(x.scales[g].sum));
  }
  return sum;
}

float dot_plain(const Prepared& x, DType dtype, const std::byte* weights, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    float w;
    decode_row(dtype, weights + row_bytes(dtype, i), 1, &w);
    sum += static_cast<double>(x.values[i]) * static_cast<double>(w);
  }
  return static_cast<float>(sum);
}

// z[column] of one row of x.
float product(const OpView& op, const Prepared& x, int64_t column) {
  const float bias = op.inputs[matmul::bias].present() ? op.inputs[matmul::bias].as<float>()[column] : 0.0f;
  for (size_t i = matmul::weights;; ++i) {
    const Tensor& w = op.inputs[i];
    if (column >= w.shape[0]) {
      column -= w.shape[0];
      continue;
    }
    const auto dot = is_quantised(w.dtype) ? dot_quantised : dot_plain;
    return dot(x, w.dtype, w.row(column), w.shape[1]) + bias;
  }
}

void launch_naive(const OpView& op, Stream&) {
  const Tensor &x = op.inputs[matmul::x], &y = op.outputs[matmul::y], &residual = op.inputs[matmul::residual];
  const bool gated = op.attrs<MatmulAttrs>().swiglu;
  const Prepared row(op.workspace, x.shape[1]);
  const int64_t width = y.shape[1];
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    prepare(op, t, row);
    cpu_threads().for_range(width, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float value = product(op, row, i);
        if (gated) value = value / (1.0f + std::exp(-value)) * product(op, row, width + i);
        if (residual.present()) value += read_value(residual.dtype, residual.row(t), i);
        write_value(y.dtype, y.row(t), i, value);
      }
    });
  }
}

}  // namespace

void register_matmul_cpu(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch_naive,
                .workspace = [](const OpView& op) { return Prepared::bytes(op.inputs[matmul::x].shape[1]); }});
  registry.add(matmul_cpu_lanes());
}

}  // namespace rafter
