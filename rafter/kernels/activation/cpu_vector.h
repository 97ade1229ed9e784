// The second step of the CPU swiglu ladder.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

Kernel swiglu_cpu_vector();

}  // namespace rafter
