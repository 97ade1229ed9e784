#include "rafter/kernels/matmul/cuda/decode_args.cuh"

#include <algorithm>
#include <climits>

#include "rafter/kernels/matmul/cuda/decode.h"

namespace rafter::decode {

namespace {

bool aligned_16(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

Args make_args(const OpView& op, int64_t first, int64_t count) {
  const auto& attrs = op.attrs<MatmulAttrs>();
  Args a{};
  int rows = 0;
  for (int i = 0; i < 3; ++i) {
    if (i < matmul::weight_count(op)) {
      const Tensor& w = op.inputs[static_cast<size_t>(matmul::weights + i)];
      rows += static_cast<int>(w.shape[0]);
      a.weights.data[i] = w.as<unsigned char>();
      a.weights.stride[i] = w.row_stride;
    }
    a.weights.end[i] = rows;
  }
  a.x = cuda::rows(op.inputs[matmul::x]);
  a.x.data += first * a.x.stride;
  a.y = cuda::rows(op.outputs[matmul::y]);
  a.y.data += first * a.y.stride;
  if (const Tensor& residual = op.inputs[matmul::residual]; residual.present()) {
    a.residual = residual.row<unsigned char>(first);
    a.residual_stride = residual.row_stride;
  }
  if (op.inputs[matmul::bias].present()) a.bias = op.inputs[matmul::bias].as<float>();
  if (op.inputs[matmul::norm].present()) a.norm = op.inputs[matmul::norm].as<float>();
  a.epsilon = attrs.norm_epsilon;
  a.tokens = static_cast<int>(count);
  a.n = rows;
  a.k = static_cast<int>(op.inputs[matmul::x].shape.last());
  a.swiglu = attrs.swiglu;
  a.outputs = a.swiglu ? rows / 2 : rows;
  a.x_aligned = cuda::rows_aligned(op.inputs[matmul::x]) && aligned_16(a.norm);
  return a;
}

bool weights_aligned(const OpView& op) {
  for (int i = 0; i < matmul::weight_count(op); ++i) {
    if (!cuda::rows_aligned(op.inputs[static_cast<size_t>(matmul::weights + i)])) return false;
  }
  return true;
}

bool fits(const OpView& op, int64_t k_multiple) {
  const Shape& x = op.inputs[matmul::x].shape;
  const int64_t tokens = x.rows(), k = x.last();
  const DType dtype = op.inputs[matmul::weights].dtype;
  for (int i = 1; i < matmul::weight_count(op); ++i) {
    if (op.inputs[static_cast<size_t>(matmul::weights + i)].dtype != dtype) return false;
  }
  return tokens >= 1 && tokens <= kMaxTokens && k > 0 && k % k_multiple == 0 && k <= INT_MAX / 64 && matmul::total_n(op) > 0 &&
         matmul::total_n(op) <= INT_MAX / 64;
}

}  // namespace rafter::decode
