// Adds every kernel of attention to a registry.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_attention_cpu(Registry& registry);
void register_attention_cuda(Registry& registry);  // defined where the build has CUDA

}  // namespace rafter
