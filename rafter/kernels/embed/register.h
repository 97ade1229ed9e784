// Adds every kernel of embed to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_embed_cpu(Registry& registry);
void register_embed_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
