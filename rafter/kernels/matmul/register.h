// Adds every kernel of matmul to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_matmul_cpu(Registry& registry);
void register_matmul_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
