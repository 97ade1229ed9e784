// A warp for each value of y, a weight at a time: any dtypes, shapes, prologue and epilogue.
#include "rafter/kernels/cuda/block_formats.cuh"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/silu.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/matmul/cuda/steps.h"
#include "rafter/kernels/quant/cuda/quantise.cuh"
#include "rafter/ops/matmul.h"

namespace rafter::matmul {

namespace {

constexpr int kWarps = 8;
constexpr int kMaxWeights = 3;

struct Problem {
  cuda::Rows x, y, residual;  // the residual's data may be null, as may the next two
  const float *bias, *norm;
  cuda::Rows weights[kMaxWeights];
  int64_t weight_rows[kMaxWeights];
  int64_t rows, k, width;  // width: of y
  bool swiglu;
  float epsilon;
};

// 1 / rms of row t of x.
__device__ float inverse_rms(const Problem& p, int64_t t) {
  float squares = 0;
  for (int64_t i = threadIdx.x; i < p.k; i += cuda::kWarp) squares += p.x.get(t, i) * p.x.get(t, i);
  return 1.0f / sqrtf(cuda::warp_sum(squares) / static_cast<float>(p.k) + p.epsilon);
}

__device__ float activation(const Problem& p, int64_t t, int64_t i, float inverse) {
  const float value = p.x.get(t, i);
  return p.norm != nullptr ? value * (inverse * p.norm[i]) : value;
}

__device__ float dot_plain(const Problem& p, int64_t t, float inverse, DType dtype, const void* weights) {
  float sum = 0;
  for (int64_t i = threadIdx.x; i < p.k; i += cuda::kWarp) {
    sum = fmaf(activation(p, t, i, inverse), cuda::load_float(weights, dtype, i), sum);
  }
  return cuda::warp_sum(sum);
}

// Group by group, each half of 16 with its own scale, which only Q6_K needs.
__device__ float dot_blocks(const Problem& p, int64_t t, float inverse, DType dtype, const void* weights) {
  float sum = 0;
  for (int64_t i = threadIdx.x; i < p.k; i += quant::kGroupSize) {
    const quant::LaneQuantised x = quant::quantise_lane(activation(p, t, i, inverse));
    const cuda::BlockElement w = cuda::block_element(dtype, weights, i);
    int dot = w.q * x.q;
    for (int offset = 8; offset > 0; offset /= 2) dot += __shfl_xor_sync(cuda::kFullMask, dot, offset);
    const float half = w.scale * static_cast<float>(dot);
    const float whole = half + __shfl_xor_sync(cuda::kFullMask, half, 16);
    sum += x.scale * (whole + w.minimum * static_cast<float>(x.sum));
  }
  return sum;
}

// z[t, column].
__device__ float product(const Problem& p, int64_t t, int64_t column, float inverse) {
  int64_t row = column;
  int i = 0;
  while (row >= p.weight_rows[i]) row -= p.weight_rows[i++];
  const cuda::Rows& w = p.weights[i];
  const float dot = cuda::is_block_format(w.dtype) ? dot_blocks(p, t, inverse, w.dtype, w.row(row))
                                                   : dot_plain(p, t, inverse, w.dtype, w.row(row));
  return p.bias != nullptr ? dot + p.bias[column] : dot;
}

__global__ void naive(Problem p) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (index >= p.rows * p.width) return;
  const int64_t t = index / p.width, i = index % p.width;
  const float inverse = p.norm != nullptr ? inverse_rms(p, t) : 1.0f;
  float value = product(p, t, i, inverse);
  if (p.swiglu) value = cuda::silu(value) * product(p, t, p.width + i, inverse);
  if (threadIdx.x != 0) return;
  if (p.residual.data != nullptr) value += p.residual.get(t, i);
  p.y.set(t, i, value);
}

void launch(const OpView& op, Stream& stream) {
  const auto& attrs = op.attrs<MatmulAttrs>();
  const Tensor &from = op.inputs[x], &to = op.outputs[y];
  if (to.shape.elements() == 0) return;
  Problem p{.x = cuda::rows(from),
            .y = cuda::rows(to),
            .residual = cuda::rows(op.inputs[residual]),
            .bias = op.inputs[bias].as<const float>(),
            .norm = op.inputs[norm].as<const float>(),
            .weights = {},
            .weight_rows = {},
            .rows = from.shape[0],
            .k = from.shape[1],
            .width = to.shape[1],
            .swiglu = attrs.swiglu,
            .epsilon = static_cast<float>(attrs.norm_epsilon)};
  for (int i = 0; i < weight_count(op); ++i) {
    const Tensor& w = op.inputs[static_cast<size_t>(weights + i)];
    p.weights[i] = cuda::rows(w);
    p.weight_rows[i] = w.shape[0];
  }
  cuda::launch_in_step<naive>(stream, cuda::blocks_for(p.rows * p.width, kWarps), dim3(cuda::kWarp, kWarps), p);
}

}  // namespace

void add_01_naive(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter::matmul
