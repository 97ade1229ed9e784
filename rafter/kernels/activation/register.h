// Adds every kernel of swiglu to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_activation_cpu(Registry& registry);
void register_activation_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
