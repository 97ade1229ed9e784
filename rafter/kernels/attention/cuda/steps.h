// The ladder of attention_prefill on CUDA, and the two steps that serve attention_decode too: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter::attention {

void add_01_naive(Registry& registry);
void add_02_warps(Registry& registry);
void add_03_flash(Registry& registry);

}  // namespace rafter::attention
