// matmul: activations times the transpose of one or more weights stacked along N, with what commonly surrounds it.
//   n = rmsnorm(x, norm)                    where the norm weight is present, else x
//   z = n [w0; w1; ...]^T + bias            w [N_i, K], N = sum of N_i
//   y = z                                   or silu(z_gate) * z_up with attrs.swiglu (two weights of equal N: gate, up)
//   y += residual                           where present
// Weights may be any dtype. A block format is multiplied in place: kernels quantise x to 15 bits in groups of 32 along K
// (kernels/quant/groups.h says how and why), so that the CPU and the GPU round alike.
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::matmul {

// x: f32, f16 or bf16 [T, K]. bias: f32 [N], optional. residual: as y, optional, may be the same memory as y.
// norm: f32 [K], optional. Then one to three weights [N_i, K] of one device, dtypes may differ.
enum Input { x, bias, residual, norm, weights };
enum Output { y };  // f32, f16 or bf16 [T, N], or [T, N / 2] with attrs.swiglu

int weight_count(const OpView& op);
int64_t total_n(const OpView& op);  // rows of all weights

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::matmul
