// The ladder of swiglu on CUDA: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter::swiglu {

void add_01_naive(Registry& registry);
void add_02_vectors(Registry& registry);

}  // namespace rafter::swiglu
