// A thread for eight neighbouring values of y, with loads and stores of 16 bytes: two reads and a write, at the rate of
// memory.
#include "rafter/kernels/activation/cuda/steps.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/silu.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/cuda/vector.cuh"
#include "rafter/ops/swiglu.h"

namespace rafter::swiglu {

namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 8;

template <typename In, typename Out>
__global__ void vectors(cuda::Rows gate_up, cuda::Rows y, int chunks, int blocks_per_row) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t t = blockIdx.x / blocks_per_row;
  const int c = static_cast<int>(blockIdx.x % blocks_per_row) * kThreads + static_cast<int>(threadIdx.x);
  if (c >= chunks) return;
  const In* from = gate_up.row<In>(t);
  float gate[kChunk], up[kChunk];
  cuda::load_floats(from + c * kChunk, gate);
  cuda::load_floats(from + (chunks + c) * kChunk, up);
#pragma unroll
  for (int j = 0; j < kChunk; ++j) gate[j] = cuda::silu(gate[j]) * up[j];
  cuda::store_floats(y.row<Out>(t) + c * kChunk, gate);
}

void launch(const OpView& op, Stream& stream) {
  const Tensor &from = op.inputs[gate_up], &to = op.outputs[y];
  if (to.shape.elements() == 0) return;
  const int chunks = static_cast<int>(to.shape[1] / kChunk);
  const int64_t blocks_per_row = cuda::ceil_div(chunks, kThreads);
  cuda::with_float_type(from.dtype, [&]<typename In>(In) {
    cuda::with_float_type(to.dtype, [&]<typename Out>(Out) {
      cuda::launch_in_step<vectors<In, Out>>(stream, static_cast<unsigned>(to.shape[0] * blocks_per_row), kThreads,
                                             cuda::rows(from), cuda::rows(to), chunks, blocks_per_row);
    });
  });
}

bool supports(const OpView& op) {
  return op.outputs[y].shape[1] % kChunk == 0 && op.outputs[y].shape[1] < (1 << 29) && cuda::rows_aligned(op.inputs[gate_up]) &&
         cuda::rows_aligned(op.outputs[y]);
}

}  // namespace

void add_02_vectors(Registry& registry) {
  registry.add({.op = OpKind::swiglu,
                .device = DeviceKind::cuda,
                .name = "02_vectors",
                .step = 2,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::swiglu
