// Every op in double precision, on the host: the truth that kernels are tested against. Clear and slow.
#pragma once

#include <vector>

#include "rafter/ops/op.h"

namespace rafter {

using Doubles = std::vector<double>;

// All values of a host tensor, block formats decoded; NaN stays NaN.
Doubles to_doubles(const Tensor& tensor);

// One vector per output. In-out operands (KV caches, tokens) start from what the output tensors hold.
// The operands must lie in host memory.
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter
