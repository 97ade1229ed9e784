// A block for each row, which it reads once, 16 bytes at a time, and keeps in registers between the sum and the scaling:
// half the traffic of the naive step, and enough loads in flight for a single row. The weight is fetched before the
// kernel waits for the one before it. How threads share a row depends on its width alone, and with it the row's bits.
#include <algorithm>

#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/cuda/vector.cuh"
#include "rafter/kernels/norm/cuda/steps.h"
#include "rafter/ops/rmsnorm.h"

namespace rafter::rmsnorm {

namespace {

constexpr int kChunk = 8;  // values that a thread takes at once
constexpr int kKept = 2;   // chunks that a thread keeps in registers; wider rows are read again

template <typename X, typename Y>
__global__ void __launch_bounds__(1024)
    one_block_a_row(cuda::Rows x, const float* weight, cuda::Rows y, int chunks, float epsilon) {
  __shared__ float scratch[cuda::kWarp];
  cuda::allow_next();
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  float scale[kKept][kChunk], kept[kKept][kChunk];
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    if (thread + i * threads < chunks) cuda::load_floats(weight + (thread + i * threads) * kChunk, scale[i]);
  }
  cuda::wait_for_previous();
  const X* from = x.row<X>(blockIdx.x);
  Y* to = y.row<Y>(blockIdx.x);
  float squares = 0;
  const auto add = [&](const float(&chunk)[kChunk]) {
#pragma unroll
    for (int j = 0; j < kChunk; ++j) squares = fmaf(chunk[j], chunk[j], squares);
  };
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    if (thread + i * threads >= chunks) continue;
    cuda::load_floats(from + (thread + i * threads) * kChunk, kept[i]);
    add(kept[i]);
  }
  for (int c = thread + kKept * threads; c < chunks; c += threads) {
    float chunk[kChunk];
    cuda::load_floats(from + c * kChunk, chunk);
    add(chunk);
  }
  const float inverse = 1.0f / sqrtf(cuda::block_sum(squares, scratch) / static_cast<float>(chunks * kChunk) + epsilon);
  const auto put = [&](int c, float(&chunk)[kChunk], const float(&factor)[kChunk]) {
#pragma unroll
    for (int j = 0; j < kChunk; ++j) chunk[j] *= inverse * factor[j];
    cuda::store_floats(to + c * kChunk, chunk);
  };
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    if (thread + i * threads < chunks) put(thread + i * threads, kept[i], scale[i]);
  }
  for (int c = thread + kKept * threads; c < chunks; c += threads) {
    float chunk[kChunk], factor[kChunk];
    cuda::load_floats(from + c * kChunk, chunk);
    cuda::load_floats(weight + c * kChunk, factor);
    put(c, chunk, factor);
  }
}

void launch(const OpView& op, Stream& stream) {
  const Tensor &from = op.inputs[x], &to = op.outputs[y];
  if (from.shape.elements() == 0) return;
  const int chunks = static_cast<int>(from.shape[1] / kChunk);
  const auto threads = static_cast<unsigned>(std::min<int64_t>(1024, cuda::ceil_div(chunks, cuda::kWarp) * cuda::kWarp));
  cuda::with_float_type(from.dtype, [&]<typename X>(X) {
    cuda::with_float_type(to.dtype, [&]<typename Y>(Y) {
      cuda::launch_in_step<one_block_a_row<X, Y>>(stream, static_cast<unsigned>(from.shape[0]), threads, cuda::rows(from),
                                                  op.inputs[weight].as<const float>(), cuda::rows(to), chunks,
                                                  op.attrs<RmsNormAttrs>().epsilon);
    });
  });
}

bool supports(const OpView& op) {
  return op.inputs[x].shape[1] % kChunk == 0 && op.inputs[x].shape[1] < (1 << 30) && cuda::rows_aligned(op.inputs[x]) &&
         cuda::rows_aligned(op.inputs[weight]) && cuda::rows_aligned(op.outputs[y]);
}

}  // namespace

void add_02_rows(Registry& registry) {
  registry.add({.op = OpKind::rmsnorm,
                .device = DeviceKind::cuda,
                .name = "02_rows",
                .step = 2,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::rmsnorm
