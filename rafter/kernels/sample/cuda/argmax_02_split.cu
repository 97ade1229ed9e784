// The row in pieces, a block for each, so that one row of a vocabulary keeps the whole GPU reading; then a block that
// picks the largest of the pieces' largest.
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/quad.cuh"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/rows.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/sample/cuda/argmax_key.cuh"
#include "rafter/kernels/sample/cuda/steps.h"
#include "rafter/ops/argmax.h"

namespace rafter::argmax {

namespace {

constexpr int kThreads = 256;
constexpr int kPiece = 4 * kThreads;

__global__ void best_of_pieces(cuda::Rows x, Key* keys, int64_t width, int pieces) {
  __shared__ Key scratch[cuda::kWarp];
  cuda::allow_next();
  cuda::wait_for_previous();
  const int64_t row = blockIdx.x / pieces, first = static_cast<int64_t>(blockIdx.x % pieces) * kPiece + threadIdx.x * 4;
  const auto count = static_cast<int>(min(width - first, int64_t{4}));
  float value[4];
  cuda::load_quad(x.row(row), x.dtype, first, count, value);
  Key best = 0;
  for (int i = 0; i < 4; ++i) {
    if (i < count) best = larger(best, key_of(value[i], first + i));
  }
  best = cuda::block_fold(best, scratch, Key{0}, larger);
  if (threadIdx.x == 0) keys[blockIdx.x] = best;
}

__global__ void best_of_keys(const Key* keys, int* index, int pieces) {
  __shared__ Key scratch[cuda::kWarp];
  cuda::allow_next();
  cuda::wait_for_previous();
  Key best = 0;
  for (int i = static_cast<int>(threadIdx.x); i < pieces; i += kThreads) {
    best = larger(best, keys[static_cast<int64_t>(blockIdx.x) * pieces + i]);
  }
  best = cuda::block_fold(best, scratch, Key{0}, larger);
  if (threadIdx.x == 0) index[blockIdx.x] = index_of(best);
}

int64_t pieces_of(const OpView& op) { return cuda::ceil_div(op.inputs[x].shape[1], kPiece); }

void launch(const OpView& op, Stream& stream) {
  const Tensor& from = op.inputs[x];
  const int64_t rows = from.shape[0], pieces = pieces_of(op);
  if (rows == 0) return;
  auto* keys = static_cast<Key*>(op.workspace);
  cuda::launch_in_step<best_of_pieces>(stream, static_cast<unsigned>(rows * pieces), kThreads, cuda::rows(from), keys,
                                       from.shape[1], pieces);
  cuda::launch_in_step<best_of_keys>(stream, static_cast<unsigned>(rows), kThreads, keys, op.outputs[index].as<int>(), pieces);
}

}  // namespace

void add_02_split(Registry& registry) {
  registry.add(
      {.op = OpKind::argmax,
       .device = DeviceKind::cuda,
       .name = "02_split",
       .step = 2,
       .supports = [](const OpView& op) { return pieces_of(op) > 1; },
       .launch = launch,
       .workspace =
           [](const OpView& op) { return op.inputs[x].shape[0] * pieces_of(op) * static_cast<int64_t>(sizeof(Key)); }});
}

}  // namespace rafter::argmax
