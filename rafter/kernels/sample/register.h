// Adds every kernel of argmax and advance to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_sample_cpu(Registry& registry);
void register_sample_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
