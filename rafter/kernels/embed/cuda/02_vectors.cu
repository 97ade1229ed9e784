// A thread for eight neighbouring values of a plain table's row, with loads and stores of 16 bytes.
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/cuda/vector.cuh"
#include "rafter/kernels/embed/cuda/steps.h"
#include "rafter/ops/embed.h"

namespace rafter::embed {

namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 8;

template <typename Table, typename X>
__global__ void vectors(const int* tokens, cuda::Rows table, cuda::Rows x, int64_t vocabulary, int chunks, int blocks_per_row) {
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t t = blockIdx.x / blocks_per_row;
  const int c = static_cast<int>(blockIdx.x % blocks_per_row) * kThreads + static_cast<int>(threadIdx.x);
  if (c >= chunks) return;
  const int token = tokens[t];
  float value[kChunk] = {};
  if (token >= 0 && token < vocabulary) cuda::load_floats(table.row<Table>(token) + c * kChunk, value);
  cuda::store_floats(x.row<X>(t) + c * kChunk, value);
}

void launch(const OpView& op, Stream& stream) {
  const Tensor &from = op.inputs[table], &to = op.outputs[x];
  if (to.shape.elements() == 0) return;
  const int chunks = static_cast<int>(to.shape[1] / kChunk);
  const int64_t blocks_per_row = cuda::ceil_div(chunks, kThreads);
  cuda::with_float_type(from.dtype, [&]<typename Table>(Table) {
    cuda::with_float_type(to.dtype, [&]<typename X>(X) {
      cuda::launch_in_step<vectors<Table, X>>(stream, static_cast<unsigned>(to.shape[0] * blocks_per_row), kThreads,
                                              op.inputs[tokens].as<const int>(), cuda::rows(from), cuda::rows(to),
                                              from.shape[0], chunks, blocks_per_row);
    });
  });
}

bool supports(const OpView& op) {
  const Tensor &from = op.inputs[table], &to = op.outputs[x];
  return cuda::is_float(from.dtype) && to.shape[1] % kChunk == 0 && to.shape[1] < (1 << 30) && cuda::rows_aligned(from) &&
         cuda::rows_aligned(to);
}

}  // namespace

void add_02_vectors(Registry& registry) {
  registry.add({.op = OpKind::embed,
                .device = DeviceKind::cuda,
                .name = "02_vectors",
                .step = 2,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::embed
