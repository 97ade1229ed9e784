// The ladder of rope_kv on CUDA: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter::rope_kv {

void add_01_naive(Registry& registry);
void add_02_quads(Registry& registry);

}  // namespace rafter::rope_kv
