// The ladder of rmsnorm on CUDA: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter::rmsnorm {

void add_01_naive(Registry& registry);
void add_02_rows(Registry& registry);

}  // namespace rafter::rmsnorm
