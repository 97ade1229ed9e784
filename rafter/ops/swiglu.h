// swiglu: the gated activation of Llama-like feed-forward layers.
//   y[t, i] = silu(g[t, i]) * g[t, F + i],  silu(a) = a / (1 + exp(-a))
// N. Shazeer, "GLU Variants Improve Transformer", 2020.
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::swiglu {

enum Input { gate_up };  // f32, f16 or bf16 [T, 2F]: gate, then up
enum Output { y };       // f32, f16 or bf16 [T, F]

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::swiglu
