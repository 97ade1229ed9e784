// Adds every kernel of rmsnorm to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_norm_cpu(Registry& registry);
void register_norm_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
