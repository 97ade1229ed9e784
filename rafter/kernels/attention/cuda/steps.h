// The ladder of attention_prefill on CUDA, and the two steps that serve attention_decode too: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter::attention {

void add_01_naive(Registry& registry);

}  // namespace rafter::attention
