// Adds every kernel of rope_kv to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_rope_cpu(Registry& registry);
void register_rope_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
