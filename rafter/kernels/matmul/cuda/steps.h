// The ladder of matmul on CUDA for many rows of x, and the naive step that serves any: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter::matmul {

void add_01_naive(Registry& registry);
void add_02_tiled(Registry& registry);
void add_03_tensor_core(Registry& registry);
void add_04_int8_blocks(Registry& registry);

}  // namespace rafter::matmul
