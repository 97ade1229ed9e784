// The ladders of argmax and advance on CUDA: one function a step.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

namespace argmax {
void add_01_naive(Registry& registry);
void add_02_split(Registry& registry);
}  // namespace argmax

namespace advance {
void add_01_naive(Registry& registry);
}  // namespace advance

}  // namespace rafter
