// rmsnorm: each row scaled to unit root mean square.
//   y[t, i] = x[t, i] / sqrt(mean_j x[t, j]^2 + epsilon) * weight[i]
// B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019.
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::rmsnorm {

enum Input { x, weight };  // f32, f16 or bf16 [T, H]; f32 [H]
enum Output { y };         // f32, f16 or bf16 [T, H]

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::rmsnorm
